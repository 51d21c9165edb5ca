"""Builds the one extension, `kwire._codec`; everything else about the package is said in pyproject.toml."""

import os
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

_PXI = sorted(glob("src/kwire/_pxi/*"))
_OPTIMISE = [] if "-O" in os.environ.get("CFLAGS", "") else ["-O2"]

codec = Extension(
    "kwire._codec",
    sources=["src/kwire/_codec.pyx"],
    depends=_PXI,
    include_dirs=["src/kwire/_pxi"],
    extra_compile_args=[*_OPTIMISE, "-g0", "-fvisibility=hidden", "-Wno-unused-function"],
    extra_link_args=["-Wl,-s"] if os.uname().sysname == "Linux" else [],
)

setup(
    ext_modules=cythonize(
        [codec],
        include_path=["src/kwire/_pxi"],
        compiler_directives={"language_level": "3"},
    ),
)
