"""The files of columns that the shell reads and writes, and what that needs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import PurePath
from typing import Final

from kwire.errors import ConfigError

_BY_SUFFIX = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
TABLE_FORMATS: Final = ("parquet", "arrow")
SUFFIXES: Final = tuple(_BY_SUFFIX)


def table_format(path: str) -> str | None:
    """One of TABLE_FORMATS, by the name of the file."""
    return _BY_SUFFIX.get(PurePath(path).suffix.lower())


def check_pyarrow() -> None:
    """Raises ConfigError without pyarrow."""
    if find_spec("pyarrow") is None:
        raise ConfigError("Parquet and Arrow files need pyarrow: pip install 'kwire[arrow]'")
