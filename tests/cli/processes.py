"""The command in a process of its own, with pipes, without a terminal, or on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
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


def on_screen(
    command: list[str], *, columns: int = 80, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """The exit code of the command on a terminal of its own, and all that it wrote there, with control sequences."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**plain, "PYTHONPATH": SOURCE, "TERM": "xterm", **(environment or {})},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        written = b""
        while data := _read(ours):
            written += data
        os.close(ours)
    return process.returncode, written.decode()


def _read(terminal: int) -> bytes:
    """What a process writes to its terminal next; nothing once it has ended, which Linux tells by an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""
