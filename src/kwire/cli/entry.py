"""Where the program `kwire` begins, and how it ends when its user or the reader of its output has gone.

Ctrl-C ends it with 130 at any moment, also while the rest is imported, so this imports next to nothing. A reader that
has gone (`kwire consume ... | head`) ends it with 1, without a word, and a disk that is full with a line. Standard
streams that were closed before it began (`>&-`) are empty, or go nowhere.
"""

from __future__ import annotations

import errno
import os
import sys

_CANNOT_BE_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def run() -> int:
    """Runs the command of the program's arguments, and returns the exit code."""
    _open_what_is_closed()
    try:
        from kwire.cli.main import main

        try:
            return main()
        finally:
            _flush()
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as error:
        if error.errno not in _CANNOT_BE_WRITTEN:
            raise
        print(f"kwire: the output cannot be written: {error.strerror}", file=sys.stderr)
        _drop_output()
        return 1
    except KeyboardInterrupt:
        if _is_stuck():
            _drop_output()
        return 130


def _open_what_is_closed() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # which gets the free descriptor


def _flush() -> None:
    """A reader that has gone is told here, not at exit."""
    if isinstance(sys.exception(), (SystemExit, type(None))):
        sys.stdout.flush()


def _is_stuck() -> bool:
    """Whether nobody reads standard output, so that a flush at exit would wait for ever."""
    from select import select

    return not select((), (sys.stdout,), (), 0)[1]


def _drop_output() -> None:
    """What is still buffered must not fail, or wait, at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
