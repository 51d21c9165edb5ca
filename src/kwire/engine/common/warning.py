"""Warnings about arguments and settings that are valid but probably not intended.

Layer 3, no I/O of its own: they go through Python's `warnings`, which prints each once for a line of the user's code.
"""

from __future__ import annotations

import sys


def warn_caller(text: str) -> None:
    """A UserWarning at the line outside kwire that called into it."""
    import warnings

    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "kwire":
        frame = frame.f_back
        level += 1
    warnings.warn(text, UserWarning, stacklevel=level)
