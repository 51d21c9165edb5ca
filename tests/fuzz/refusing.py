"""Refuses memory to the compiled code of this thread, in builds that `refusing.h` was compiled into.

    with refusing(3) as refusal:          # the third request from now on fails; refusing(3, 2): and the fourth
        work()
    refusal.came                          # whether it came to that

With the ordinary extensions nothing is refused, and nothing comes.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Final

from kwire import _codec, _values

_LIBRARIES: Final = [
    library
    for library in (ctypes.PyDLL(module.__file__) for module in (_codec, _values))
    if hasattr(library, "kw_refuse")
]
for _each in _LIBRARIES:
    _each.kw_refuse.argtypes, _each.kw_refuse.restype = [ctypes.c_long, ctypes.c_long], None


class Refusal:
    """`came`: whether a request for memory was refused; known behind the block."""

    came = False

    def stop(self) -> None:
        for library in _LIBRARIES:
            self.came |= bool(library.kw_refuse_no_more())


@contextlib.contextmanager
def refusing(number: int, count: int = 1) -> Iterator[Refusal]:
    """Request `number` of each extension within the block fails, with the `count - 1` ones behind it."""
    refusal = Refusal()
    for library in _LIBRARIES:
        library.kw_refuse(number, count)
    try:
        yield refusal
    finally:
        refusal.stop()


def can_refuse() -> bool:
    """Whether the extensions are built for it."""
    return bool(_LIBRARIES)
