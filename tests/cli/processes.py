"""The command in a process of its own, with pipes, without a terminal, or on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SOURCE = os.pathsep.join(sys.path)


def started(*arguments: str, stdin: int = subprocess.DEVNULL, apart: bool = False) -> subprocess.Popen[bytes]:
    """`kwire ARGUMENTS`, running; its output goes into pipes. `apart`: it has no terminal but these."""
    command = [sys.executable, "-m", "kwire", *arguments]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=apart,
        preexec_fn=_heed_ctrl_c,  # noqa: PLW1509 - it takes no lock
    )


def _heed_ctrl_c() -> None:
    """A shell has what it runs in the background ignore Ctrl-C, and what that starts would inherit it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def at_terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The command with a terminal as its standard input, and where its user types."""
    ours, theirs = pty.openpty()
    try:
        with started(*arguments, stdin=theirs, apart=True) as process:
            yield process, ours
    finally:
        os.close(ours)
        os.close(theirs)


def answered(answer: str, *arguments: str) -> tuple[int, str]:
    """The exit code of the command at a terminal whose user types the answer, and what it wrote to standard error."""
    with at_terminal(*arguments) as (process, keyboard):
        os.write(keyboard, f"{answer}\n".encode())
        _, errors = process.communicate(timeout=60)
    return process.returncode, errors.decode()
