"""Writes docs/shell-commands.md: each command and verb of the shell, from the parsers that print its --help."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from scripts.sources import ROOT

from kwire.cli.main import all_commands
from kwire.cli.output import FORMS
from kwire.cli.usage import Parser

PAGE = ROOT / "docs" / "shell-commands.md"
CONNECTIONS = "brokers and settings"
HEAD = """\
# The commands of the shell

Generated from the commands themselves by `make docs`: what `kwire COMMAND --help` prints. [shell.md](shell.md) says how
they are used together, and what their output is.

"""


def wanted() -> dict[Path, str]:
    """The page."""
    commands = all_commands()
    parts = [HEAD, *_options_of_all(commands["topics"].verbs["list"])]
    for name, parser in commands.items():
        parts.append(f"## kwire {name}\n\n{parser.description}\n\n")
        for verb, each in parser.verbs.items():
            parts += [f"### kwire {name} {verb}\n\n{each.description}\n\n", *_details(each, f"{name} {verb}")]
        if not parser.verbs:
            parts += _details(parser, name)
    return {PAGE: "".join(parts).rstrip() + "\n"}


def _options_of_all(parser: Parser) -> Iterator[str]:
    yield "## Options of all commands that talk to brokers\n\n"
    yield _table(parser, [action for action in _actions(parser) if _is_of_all(parser, action)])


def _details(parser: Parser, name: str) -> Iterator[str]:
    """Its own arguments, what it has of those of all commands, and its examples."""
    own = [action for action in _actions(parser) if not _is_of_all(parser, action)]
    words = [_value(action) or action.dest for action in own if not action.option_strings]
    yield f"`{' '.join(('kwire', name, *words, '[OPTIONS]'))}`\n\n"
    if own:
        yield _table(parser, own)
    examples = (parser.epilog or "").partition("\nbrokers with TLS")[0].partition("\nTLS and logins")[0].strip()
    if examples:
        yield f"```text\n{examples}\n```\n\n"


def _actions(parser: Parser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def _is_of_all(parser: Parser, action: argparse.Action) -> bool:
    """Whether most commands have it."""
    groups = [group for group in parser._action_groups if action in group._group_actions]
    has_forms = action.dest == "output" and (action.choices == FORMS or action.const in FORMS)
    return groups[0].title == CONNECTIONS or has_forms or "--help" in action.option_strings


def _table(parser: Parser, actions: list[argparse.Action]) -> str:
    rows = "".join(f"| {_spelled(action)} | {_said(parser, action)} |\n" for action in actions)
    return f"| argument | what it is |\n|---|---|\n{rows}\n"


def _spelled(action: argparse.Action) -> str:
    spellings = ", ".join(action.option_strings) or _value(action) or action.dest
    value = f" {_value(action)}" if action.option_strings and _value(action) else ""
    return f"`{spellings}{value}`".replace("|", "\\|")


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    name = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
    text = " ".join(name) if isinstance(name, tuple) else name
    return {"*": f"[{text} ...]", "?": f"[{text}]", "+": f"{text} ..."}.get(str(action.nargs), text)


def _said(parser: Parser, action: argparse.Action) -> str:
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return " ".join(text.split()).replace("|", "\\|")
