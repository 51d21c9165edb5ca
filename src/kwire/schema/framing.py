"""The size field that stands before every frame of every generation.

size   int32   bytes that follow it
"""

from __future__ import annotations

from kwire import errors
from kwire._typing import Any

__all__ = ["checked_size"]

_SIZE_FIELD = 4


def checked_size(frame: Any) -> int:
    """Where the header of a whole frame begins. FrameError when its size field is not the size of the frame."""
    view = memoryview(frame).cast("B")
    stated = int.from_bytes(view[:_SIZE_FIELD], "big", signed=True)
    if len(view) < _SIZE_FIELD or stated != len(view) - _SIZE_FIELD:
        raise errors.FrameError(
            f"a frame of {len(view)} bytes states a size of {stated}, not counting itself: it is cut off, has no size "
            "field, or is more than one frame"
        )
    return _SIZE_FIELD
