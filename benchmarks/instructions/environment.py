"""What decides how many instructions a loop takes besides kwire's code: interpreter, compilers, pyarrow, valgrind."""

from __future__ import annotations

import platform
import re
import sysconfig
from importlib.metadata import version
from pathlib import Path

from benchmarks.instructions import callgrind
from kwire import _codec

_COMPILED_BY = re.compile(rb"(?:GCC: \([^)]*\) |clang version )([0-9.]+)")


def environment() -> dict[str, str]:
    """This process's environment. In equal ones the counts are equal, within the tolerance."""
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return {
        "machine": platform.machine(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "interpreter built by": platform.python_compiler(),
        "interpreter optimised": "yes" if "--enable-optimizations" in options else "no",
        "extension built by": _compiler_of(Path(_codec.__file__).read_bytes()),
        "pyarrow": version("pyarrow").partition(".")[0],
        "valgrind": callgrind.version(),
    }


def _compiler_of(shared_object: bytes) -> str:
    """The version that the compiler left in the file, or "unknown"."""
    found = {match.decode() for match in _COMPILED_BY.findall(shared_object)}
    return ", ".join(sorted(found)) or "unknown"
