"""Usage errors: arguments of a command that cannot work. They show the command's usage and exit with 2.

What only a broker or a file can tell (a topic that exists, a partition that does not) is an error like any other, 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

    @property
    def verbs(self) -> Mapping[str, Parser]:
        """The parsers of the verbs of a noun, by their names; none of another command."""
        found: dict[str, Parser] = {}
        for each in () if self._subparsers is None else self._subparsers._group_actions:
            found |= dict(each.choices or {})
        return found

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


def width_of(text: str, actions: Mapping[str, argparse.Action]) -> int:
    """How many arguments the option, perhaps shortened, takes up; 0 for an unknown one: its value may be a password."""
    name, equals, _ = text.partition("=")
    meant = [text] if text in actions else [each for each in actions if name[:2] == "--" and each.startswith(name)]
    if not meant:
        return int(text[:2] in actions)
    return 1 if equals else 1 + any(actions[option].nargs is None for option in meant)


def options_first(given: Sequence[str], actions: Mapping[str, argparse.Action]) -> list[str]:
    """The arguments with these options in front of all others: argparse takes no more of a list of names after one. An
    unknown option, and what follows it, stays where it is, and so does one without its value."""
    options: list[str] = []
    names: list[str] = []
    at = 0
    while at < len(given) and given[at] != "--":
        is_name = given[at] == "-" or not given[at].startswith("-")
        size = 1 if is_name else width_of(given[at], actions)
        if not size or at + size > len(given):
            break
        (names if is_name else options).extend(given[at : at + size])
        at += size
    return [*options, *names, *given[at:]]


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
    return _above_nothing(text, "a number of seconds above 0", 2_000_000)


def per_second(text: str) -> float:
    """So many of something in each second, as an argparse type."""
    return _above_nothing(text, "a number above 0", sys.maxsize)


def _above_nothing(text: str, what: str, most: int) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= most:
        raise argparse.ArgumentTypeError(f"{what} is needed, not {text!r}")
    return found


def positive(text: str) -> int:
    """A whole number from 1, as an argparse type."""
    from kwire.engine.common.numbers import whole_number  # not for what reads no number

    found = whole_number(text)
    if not found:
        raise argparse.ArgumentTypeError(f"a whole number from 1 is needed, not {text!r}")
    return found


def natural(text: str) -> int:
    """A whole number from 0, as an argparse type."""
    from kwire.engine.common.numbers import whole_number

    found = whole_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"a whole number from 0 is needed, not {text!r}")
    return found


def integer(text: str) -> int:
    """A whole number with or without a sign, as an argparse type."""
    from kwire.engine.common.numbers import signed_number

    found = signed_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"a whole number is needed, not {text!r}")
    return found
