"""Nouns and their verbs: `kwire NOUN [VERB] [NAME ...]`, with the options that all verbs have.

The verb is the noun's first (`list`, mostly) unless another is named. Options may precede it:
`kwire topics -b broker:9092 describe orders`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from kwire.cli.connecting import SECURE_EXAMPLE, add_connection_options, opened, waiting
from kwire.cli.output import add_output_options
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import Commands, Parser, UsageError, width_of, with_nearest
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.admin import Admin

_SECURE_HINT = "\nTLS and logins: --config FILE, as 'kwire {noun} --help' shows\n"
_YES = ("y", "yes")


class Verb(NamedTuple):
    """What one can do with a noun. `says` is a sentence, `examples` are lines for the end of the help."""

    name: str
    says: str
    run: Callable[[argparse.Namespace], int]
    examples: str
    add_arguments: Callable[[Parser], None] = lambda parser: None
    destroys: bool = False
    connects: bool = True
    has_rows: bool = True


class Elsewhere(NamedTuple):
    """What a noun has in place of the options that say where brokers are, and of the example with a login."""

    add_options: Callable[[Parser], None]
    example: str


def add_noun(
    commands: Commands,
    name: str,
    says: str,
    verbs: Sequence[Verb],
    elsewhere: Elsewhere | None = None,
    *,
    instead: str = "",
) -> None:
    """Adds the noun with its verbs, which talk to brokers unless `elsewhere`; `instead` is for who means
    another."""
    where = elsewhere or Elsewhere(
        lambda parser: add_connection_options(parser, explained=False),
        SECURE_EXAMPLE.format(command=f"{name} -b broker:9093"),
    )
    examples = "".join(f"{verb.examples}\n" for verb in verbs)
    noun = commands.add_parser(
        name,
        help=f"{says[0].lower()}{says[1:].rstrip('.')}",
        description=f"{says} 'kwire {name} VERB --help' explains a verb.",
        epilog=f"examples:\n{examples}{where.example if any(verb.connects for verb in verbs) else ''}",
    )
    under = noun.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in verbs:
        _add_verb(under, name, verb, where.add_options)
    noun.arranged = lambda given: _verb_first(noun, under.choices, given, instead)


def _add_verb(under: Commands, noun: str, verb: Verb, add_options: Callable[[Parser], None]) -> None:
    parser = under.add_parser(
        verb.name,
        help=f"{verb.says[0].lower()}{verb.says[1:].rstrip('.')}",
        description=verb.says,
        epilog=f"examples:\n{verb.examples}\n{_SECURE_HINT.format(noun=noun) if verb.connects else ''}",
    )
    verb.add_arguments(parser)
    if verb.destroys:
        parser.add_argument("--yes", action="store_true", help="do not ask first; needed where there is no terminal")
    if verb.has_rows:
        add_output_options(parser)
    if verb.connects:
        add_options(parser)
    parser.set_defaults(run=verb.run, parser=parser)


def _verb_first(noun: Parser, verbs: dict[str, Parser], given: list[str], hint: str) -> list[str]:
    """The arguments with the verb in front; an unknown one is a usage error, with the hint."""
    if given[:1] in (["-h"], ["--help"]):
        return given
    actions = {option: action for parser in verbs.values() for option, action in parser._option_string_actions.items()}
    at = 0
    while at < len(given) and given[at].startswith("-") and (width := width_of(given[at], actions)):
        at += width
    if at >= len(given) or given[at].startswith("-"):
        noun.lacks_verb = at <= len(given)
        return [*list(verbs)[:1], *given]
    name = given[at]
    if name not in verbs:
        names = takewhile(lambda text: not text.startswith("-"), given[at:])
        near = with_nearest(repr(name), map(repr, verbs))
        if "describe" in verbs and "?" not in near:
            hint = f"; to see it: {noun.prog} describe {' '.join(names)}"
        noun.error(f"{near} is not one of {', '.join(verbs)}{hint}")
    return [name, *given[:at], *given[at + 1 :]]


@contextmanager
def administering(options: argparse.Namespace) -> Iterator[Admin]:
    """An Admin made of the options, whose warnings are lines on standard error."""
    from kwire.admin import Admin

    with trouble_on_stderr(options.command), opened(Admin, options, **waiting(options)) as admin:
        yield admin


def consent(options: argparse.Namespace, deed: str) -> None:
    """Asks on the terminal before the deed, unless --yes was given.

    UsageError where nobody can be asked, KafkaError where the answer is no.
    """
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"to {deed} without a terminal to ask on, give --yes")
    print(f"{deed[0].upper()}{deed[1:]}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in _YES:
        raise KafkaError("nothing was done")


def listed(names: Sequence[object]) -> str:
    """'a', 'b' and 'c'."""
    *first, last = (repr(name) for name in names)
    return f"{', '.join(first)} and {last}" if first else last
