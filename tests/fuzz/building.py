"""Builds what a run needs into build/fuzz/: the engine, and kwire with extensions that clang has instrumented.

    asan       AddressSanitizer and UndefinedBehaviorSanitizer, and blocks of exact size (KWIRE_EXACT_BLOCKS)
    plain      neither, and so with the allocator tricks of tricks.h: what ships, at its speed
    coverage   gcc's counts of lines, by which `coverage` says what the corpora reach

For compiled targets (`compiled.py`) both extensions without messages and client are one, together with the targets:
`fuzz_compiled`. So the targets call what no other module can, and only what they can reach is counted: libFuzzer clears
and reads all counters there are for each input.

What is built already is left alone; setup.py knows by itself what has changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD: Final = ROOT / "build" / "fuzz"
KINDS: Final = ("asan", "plain")
_SANITIZERS: Final = {"asan": "address,undefined", "plain": ""}
_NOT: Final = ["-fno-sanitize=alignment", "-fno-sanitize-recover=undefined"]
# What follows records in _codec.pyx, and what the decoders follow in _values.pyx.
_MESSAGES: Final = "# codec: messages\n"
_VALUES: Final = "# values\n"
_COUNTED: Final = "src:*\nfun:__pyx_f_*\nfun:kw_*\n"  # not what Python calls
_REFUSING: Final = Path(__file__).with_name("refusing.h")


def _flags(kind: str, fuzzer: str) -> list[str]:
    sanitizers = _SANITIZERS[kind]
    return [f"-fsanitize={fuzzer}", *([f"-fsanitize={sanitizers}", *_NOT] if sanitizers else [])]


def library(kind: str) -> Path:
    return BUILD / kind / "lib"


def engine(kind: str) -> Path:
    return BUILD / kind / "engine"


def compiled(kind: str) -> Path:
    """The folder of `fuzz_compiled`."""
    return BUILD / kind / "compiled"


def build(kind: str, *, extensions: bool = True, targets: bool = True) -> None:
    """The extensions with the package around them, the compiled targets, and the engine that they run in."""
    if extensions:
        _build_extensions(kind, "clang", " ".join(_compiling(kind)))
    if targets:
        _build_compiled(kind)
    _build_engine(kind)


def _compiling(kind: str) -> list[str]:
    return ["-O1" if kind == "asan" else "-O2", *_flags(kind, "fuzzer-no-link")]


def _build_engine(kind: str) -> None:
    source = Path(__file__).with_name("engine.c")
    made = engine(kind)
    if made.exists() and made.stat().st_mtime > source.stat().st_mtime:
        return
    of = sysconfig.get_config_var
    python = [f"-L{of('LIBDIR')}", f"-L{of('LIBPL')}", f"-Wl,-rpath,{of('LIBDIR')}", f"-lpython{of('LDVERSION')}"]
    system = [*of("LIBS").split(), *of("SYSLIBS").split()]
    runtime = Path(_output("clang", "-print-runtime-dir")) / "libclang_rt.fuzzer_no_main-x86_64.a"
    if not runtime.exists():
        (runtime,) = Path(_output("clang", "-print-resource-dir")).rglob(f"*fuzzer_no_main-{os.uname().machine}.a")
    subprocess.run(
        ["clang", "-O2", "-g", *_flags(kind, "fuzzer-no-link"), "-fno-sanitize-coverage=inline-8bit-counters,pc-table",
         f"-I{sysconfig.get_path('include')}", str(source), str(runtime), "-o", str(made), "-rdynamic",
         *python, *system, "-lstdc++", "-lpthread"],
        check=True,
    )  # fmt: skip


def _build_compiled(kind: str) -> None:
    package, here = ROOT / "src" / "kwire", Path(__file__).parent
    rooms = [package / "_pxi" / room for room in ("codec", "values")]
    folder = compiled(kind)
    made = folder / f"fuzz_compiled{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = [*package.glob("*.p[xy][dx]"), *(path for room in rooms for path in room.iterdir()), *here.glob("_pxi/*")]
    if made.exists() and made.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return
    folder.mkdir(parents=True, exist_ok=True)
    codec, _, _ = (package / "_codec.pyx").read_text().partition(_MESSAGES)
    _, _, values = (package / "_values.pyx").read_text().partition(_VALUES)
    (folder / "fuzz_compiled.pyx").write_text(f'{codec}{values}\ninclude "table.pxi"\n')
    (folder / "fuzz_compiled.pxd").write_text((package / "_codec.pxd").read_text())
    (folder / "counted").write_text(_COUNTED)
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", "-I", str(package / "_pxi"), "-I", str(here / "_pxi"),
         str(folder / "fuzz_compiled.pyx")],
        check=True,
    )  # fmt: skip
    exact = ["-DKWIRE_EXACT_BLOCKS", "-DCYTHON_USE_FREELISTS=0"] if kind == "asan" else []
    subprocess.run(
        ["clang", *_compiling(kind), f"-fsanitize-coverage-allowlist={folder / 'counted'}", "-g1", *exact,
         "-fno-omit-frame-pointer", "-fvisibility=hidden", "-fwrapv", "-fPIC", "-shared", "-Wno-unused-function",
         *(f"-I{path}" for path in (sysconfig.get_path("include"), *rooms, here / "_pxi")),
         str(folder / "fuzz_compiled.c"), "-o", str(made)],
        check=True,
    )  # fmt: skip


def build_for_coverage() -> None:
    _build_extensions("coverage", "gcc", "-O0 --coverage", KWIRE_LINES="1")


def _build_extensions(kind: str, compiler: str, flags: str, **environment: str) -> None:
    exact = {"KWIRE_EXACT_BLOCKS": "1"} if kind == "asan" else {}
    link = {"LDFLAGS": "--coverage"} if kind == "coverage" else {}
    made = [path.stat().st_mtime for path in library(kind).glob("kwire/*.so")]
    force = ["--force"] if made and min(made) < _REFUSING.stat().st_mtime else []  # setup.py does not know that file
    folders = ["--build-base", str(BUILD / kind), "--build-lib", str(library(kind))]
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build", *force, *folders],
        cwd=ROOT,
        env=os.environ
        | {"CC": compiler, "LDSHARED": f"{compiler} -shared", "CFLAGS": f"{flags} -include {_REFUSING}"}
        | exact
        | link
        | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}tests.fuzz: the extensions could not be built ({kind})")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
