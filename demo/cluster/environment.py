"""The Python environment that is shipped to executors, as PySpark's page on Python package management tells: a virtual
environment with kwire and pyarrow, in an archive that Spark unpacks beside each executor.

    spark-submit --archives environment.tar.gz#environment ...      with PYSPARK_PYTHON=./environment/bin/python

Of a cluster of one's own one makes it by `pip install "kwire[spark]"` in a new virtual environment, and venv-pack. Here
the packages are taken from the environment that runs this, so that no package index is asked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import kwire

NAME: Final = "environment"
_PACKAGES: Final = ("pyarrow", "python-snappy", "cramjam")
# What only compilers and pyarrow's own tests need: a tenth of its size.
_LEFT_OUT: Final = ("pyarrow/tests/", "pyarrow/include/", "__pycache__/")


def make_environment(folder: Path) -> Path:
    """Makes `folder/environment`, the virtual environment, and the archive of it, which is returned."""
    place = folder / NAME
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=60)
    packages = next(place.glob("lib/python*/site-packages"))
    source = Path(kwire.__file__).parent
    shutil.copytree(source, packages / "kwire", ignore=shutil.ignore_patterns("__pycache__", "_pxi", "*.c"))
    for registration in source.parent.glob("pyspark_kwire*.py"):
        shutil.copy(registration, packages)
    for name in _PACKAGES:
        _copy_distribution(name, packages)
    archive = folder / f"{NAME}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(place, arcname=".")
    return archive


def _copy_distribution(name: str, packages: Path) -> None:
    found = distribution(name)
    for file in found.files or ():
        if ".." in file.parts or any(part in file.as_posix() for part in _LEFT_OUT):
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(Path(str(found.locate_file(file))), target)


def _link(source: Path, target: Path) -> None:
    """A second name where the file system allows it, else a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)
