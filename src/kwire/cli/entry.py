"""Where the program `kwire` begins, and how it ends when its user or the reader of its output has gone.

Ctrl-C ends it with 130 at any moment, also while the rest is imported, so this imports next to nothing. A reader that
has gone (`kwire consume ... | head`) ends it with 1, without a word.
"""

from __future__ import annotations

import os
import sys


def run() -> int:
    """Runs the command of the program's arguments, and returns the exit code."""
    try:
        from kwire.cli.main import main

        try:
            return main()
        finally:
            _flush()
    except BrokenPipeError:
        _drop_output()
        return 1
    except KeyboardInterrupt:
        if _is_stuck():
            _drop_output()
        return 130


def _flush() -> None:
    """A reader that has gone is told here, not at exit."""
    if sys.stdout is not None and isinstance(sys.exception(), (SystemExit, type(None))):
        sys.stdout.flush()


def _is_stuck() -> bool:
    """Whether nobody reads standard output, so that a flush at exit would wait for ever."""
    from select import select

    return sys.stdout is not None and not select((), (sys.stdout,), (), 0)[1]


def _drop_output() -> None:
    """What is still buffered must not fail, or wait, at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
