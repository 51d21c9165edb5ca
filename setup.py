"""Builds the extensions, `kwire._codec` and `kwire._values`; everything else about the package is in pyproject.toml."""

import os
import sys
from glob import glob

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scripts.cython_mends import mend
from scripts.packages import DatedSdist, bill_of_materials, index_page, listed_wheel

_PXI = "src/kwire/_pxi"
# A seventh smaller, the code itself unchanged: nothing is padded to boundaries, and no tables for C++ to unwind by.
_SMALL = [
    "-fno-asynchronous-unwind-tables",
    "-falign-functions=1",
    "-falign-jumps=1",
    "-falign-labels=1",
    "-falign-loops=1",
]
_LINUX = sys.platform == "linux"
# Copies of known size are checked.
_OPTIMISE = [] if "-O" in os.environ.get("CFLAGS", "") else ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]
# Arrays of bytes on the stack are guarded: not an instruction more in a hot loop of `_codec`, but 2 % where `_values`
# decodes Protobuf. Guards of all arrays (-fstack-protector-strong) are 2 % where `_codec` encodes, too.
_GUARDED = {"_codec": ["-fstack-protector"]} if _LINUX else {}
# Code alone can be executed, and the table of the functions that it calls is read-only once it is loaded: some 2 kB.
_HARDENED = ["-Wl,-z,separate-code", "-Wl,-z,relro", "-Wl,-z,now"]
# For sanitizers and fuzzers, which CFLAGS and LDFLAGS turn on: memory of exact size, and names for their reports.
_EXACT = ["-DKWIRE_EXACT_BLOCKS", "-DCYTHON_USE_FREELISTS=0"] if os.environ.get("KWIRE_EXACT_BLOCKS") == "1" else []
_NAMED = bool(_EXACT) or os.environ.get("KWIRE_SYMBOLS") == "1"
_DEBUGGED = [*_EXACT, "-g1", "-fno-omit-frame-pointer"]
_SHIPPED = ["-g0", *(_SMALL if _LINUX else [])]
# For coverage and reports: the C code, in a folder of its own, says which lines of our sources it stands for.
_LINES = {"emit_linenums": True, "build_dir": "build/lines"} if os.environ.get("KWIRE_LINES") == "1" else {}
# KWIRE_PLAIN=1: without the allocator tricks of tricks.h.
_MACROS = [(name, "1") for name in ("KWIRE_PLAIN",) if os.environ.get(name) == "1"]


def extension(name: str, *rooms: str) -> Extension:
    """The extension of `name`.pyx, of which the files lie in these rooms of `_pxi/`."""
    return Extension(
        f"kwire.{name}",
        sources=[f"src/kwire/{name}.pyx"],
        depends=[*glob("src/kwire/*.pxd"), *(path for room in rooms for path in sorted(glob(f"{_PXI}/{room}/*")))],
        define_macros=_MACROS,
        include_dirs=[f"{_PXI}/{room}" for room in rooms],
        extra_compile_args=[
            *_OPTIMISE,
            *_GUARDED.get(name, []),
            "-fvisibility=hidden",
            "-fwrapv",
            "-Wno-unused-function",
            *(_DEBUGGED if _NAMED else _SHIPPED),
        ],
        extra_link_args=["-Wl,-s", *_HARDENED] if _LINUX and not _NAMED else [],
    )


mend()
setup(
    long_description=index_page(),
    long_description_content_type="text/markdown",
    cmdclass={
        "sdist": DatedSdist,
        "bdist_wheel": listed_wheel(lambda version: bill_of_materials(version, Cython.__version__)),
    },
    ext_modules=cythonize(
        [extension("_codec", "codec", "client"), extension("_values", "codec", "values")],
        include_path=[_PXI],
        compiler_directives={"language_level": "3"},
        **_LINES,
    ),
)
