"""Usage errors: arguments of a command that cannot work. `main` shows the command's usage and exits with 2.

What only a broker or a file can tell (a topic that exists, a partition that does not) is an error like any other, 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kwire.errors import ConfigError


class UsageError(ConfigError):
    """Arguments that cannot work, whatever the brokers or files say."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turns a ConfigError of the block, which only reads arguments, into a UsageError."""
    try:
        yield
    except ConfigError as error:
        raise UsageError(str(error)) from error


def seconds(text: str) -> float:
    """A time to wait, as an argparse type."""
    found = float(text)
    if not 0 < found <= 2_000_000:
        raise ValueError
    return found


def positive(text: str) -> int:
    """A whole number from 1, as an argparse type."""
    found = int(text)
    if found < 1:
        raise ValueError
    return found
