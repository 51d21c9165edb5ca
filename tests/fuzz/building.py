"""Builds what a run needs into build/fuzz/: the engine, and kwire with extensions that clang has instrumented.

    asan       AddressSanitizer and UndefinedBehaviorSanitizer, and blocks of exact size (KWIRE_EXACT_BLOCKS)
    plain      neither, and so with the allocator tricks of tricks.h: what ships, at its speed
    coverage   gcc's counts of lines, by which `coverage` says what the corpora reach

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
_REFUSING: Final = Path(__file__).with_name("refusing.h")


def _flags(kind: str, fuzzer: str) -> list[str]:
    sanitizers = _SANITIZERS[kind]
    return [f"-fsanitize={fuzzer}", *([f"-fsanitize={sanitizers}", *_NOT] if sanitizers else [])]


def library(kind: str) -> Path:
    return BUILD / kind / "lib"


def engine(kind: str) -> Path:
    return BUILD / kind / "engine"


def build(kind: str) -> None:
    """The extensions, with the package around them, and the engine that they run in."""
    _build_extensions(kind, "clang", " ".join(["-O1" if kind == "asan" else "-O2", *_flags(kind, "fuzzer-no-link")]))
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
