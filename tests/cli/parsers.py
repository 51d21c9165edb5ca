"""The commands and verbs that there are, found from the parsers, so that no test forgets a new one."""

from __future__ import annotations

from kwire.cli.main import all_commands
from kwire.cli.usage import Parser


def every_command() -> dict[str, Parser]:
    """The parser of `topics list`, `consume` and so on."""
    found = {}
    for name, parser in all_commands().items():
        found.update({f"{name} {verb}": each for verb, each in parser.verbs.items()} or {name: parser})
    return found
