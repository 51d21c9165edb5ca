"""Usage errors: arguments of a command that cannot work. They show the command's usage and exit with 2.

What only a broker or a file can tell (a topic that exists, a partition that does not) is an error like any other, 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias

from kwire.cli.terminal import print_error
from kwire.errors import ConfigError

_SIMILAR = 0.7


class UsageError(ConfigError):
    """Arguments that cannot work, whatever the brokers or files say."""


class Parser(argparse.ArgumentParser):
    """A parser of arguments whose errors name the option that an unknown one may have been meant for."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **more})
        self.arranged: Callable[[list[str]], list[str]] = list
        """What puts the arguments into the order that the parser takes them in."""
        self.lacks_verb = False
        """Whether a verb that was not given was taken for granted."""
        self._given: list[str] = []

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        self._given = self.arranged(list(args or ()))
        return super().parse_known_args(self._given, namespace)

    def error(self, message: str) -> NoReturn:
        """Shows the usage and ends the program; a missing argument may be there, under a wrong name."""
        hints = [text for text in self.with_nearest(_options_in(self._given)) if " (did you mean" in text]
        self.print_usage(sys.stderr)
        print_error(f"{self.prog}: error: {'; '.join((message, *hints))}")
        self.exit(2)

    def with_nearest(self, unknown: Iterable[str]) -> list[str]:
        """The options, each with the one of this command that it may have been meant for."""
        known = list(self._option_string_actions)
        return [
            with_nearest(text, [name for name in known if name.startswith("--")])
            if text.startswith("--") and not any(name.startswith(text) for name in known)
            else text
            for text in unknown
        ]


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def _options_in(arguments: Iterable[str]) -> list[str]:
    """The long options, without their values, which may be passwords."""
    return [text.partition("=")[0] for text in arguments if text.startswith("--") and text != "--"]


def with_nearest(text: str, known: Iterable[str]) -> str:
    """The text, with the name that it may have been meant for, if there is one."""
    from difflib import get_close_matches

    near = get_close_matches(text, list(known), n=1, cutoff=_SIMILAR)
    return f"{text} (did you mean {near[0]}?)" if near else text


def none_of(text: str, known: Iterable[str], shown: str) -> argparse.ArgumentTypeError:
    """The error for a text that is none of these. It has no text that is like none: that may be the password of an odd
    option."""
    return argparse.ArgumentTypeError(f"one of {shown} is needed{with_nearest(text, known).removeprefix(text)}")


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
