"""How large the packages are: their files, deflated as in a wheel, and the compiled code among them. Runs nothing."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from benchmarks.compare.measure import ROOT, WorkFailedError
from benchmarks.compare.work import KWIRE

_COMPILED = (".so", ".dylib", ".pyd")
_NOT_IN_A_WHEEL = {".pyc", ".pyx", ".pxi", ".h", ".c"}


def sizes(contender: str) -> dict[str, float]:
    """`wheel_mb` and `compiled_mb`, of the installed distribution of that name; kwire's of this tree."""
    files = [path for path in _files(contender) if path.is_file() and path.suffix not in _NOT_IN_A_WHEEL]
    if not files:
        raise WorkFailedError(f"{contender} has no files: is it installed from a wheel?")
    deflated = sum(len(zlib.compress(path.read_bytes(), 6)) for path in files)
    compiled = sum(path.stat().st_size for path in files if _is_compiled(path))
    return {"wheel_mb": deflated / 1e6, "compiled_mb": compiled / 1e6}


def _files(contender: str) -> Iterator[Path]:
    if contender == KWIRE:
        yield from ROOT.joinpath("src").rglob("*")
        return
    try:
        found = distribution(contender)
    except PackageNotFoundError as missing:
        raise WorkFailedError(f"{contender} is not installed") from missing
    for path in found.files or ():
        yield Path(str(found.locate_file(path)))


def _is_compiled(path: Path) -> bool:
    return path.suffix in _COMPILED or ".so." in path.name
