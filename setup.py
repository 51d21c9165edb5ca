"""Builds the one extension, `kwire._codec`; everything else about the package is said in pyproject.toml."""

import os
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

_PXI = sorted(glob("src/kwire/_pxi/*/*"))
_OPTIMISE = [] if "-O" in os.environ.get("CFLAGS", "") else ["-O2"]
# A seventh smaller, the code itself unchanged: nothing is padded to boundaries, and no tables for C++ to unwind by.
_SMALL = [
    "-fno-asynchronous-unwind-tables",
    "-falign-functions=1",
    "-falign-jumps=1",
    "-falign-labels=1",
    "-falign-loops=1",
]
_LINUX = os.uname().sysname == "Linux"

codec = Extension(
    "kwire._codec",
    sources=["src/kwire/_codec.pyx"],
    depends=_PXI,
    include_dirs=["src/kwire/_pxi/codec", "src/kwire/_pxi/client"],
    extra_compile_args=[*_OPTIMISE, "-g0", "-fvisibility=hidden", "-Wno-unused-function", *(_SMALL if _LINUX else [])],
    extra_link_args=["-Wl,-s", "-Wl,-z,noseparate-code"] if _LINUX else [],
)

setup(
    ext_modules=cythonize(
        [codec],
        include_path=["src/kwire/_pxi"],
        compiler_directives={"language_level": "3"},
    ),
)
