"""`kwire help`: the help of commands and verbs by their names, and what the error codes of brokers mean."""

from __future__ import annotations

import argparse

from kwire.cli.usage import Commands, with_nearest
from kwire.errors import BrokerError, ConfigError

_ERRORS = "errors"
_EPILOG = """\
examples:
  kwire help                                       all commands
  kwire help topics create                         the help of a verb
  kwire help errors                                the error codes of brokers
  kwire help errors NOT_ENOUGH_REPLICAS            what one means, and what to do; its number does, too
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "help",
        help="explain commands, and the errors of brokers",
        description="Explains a command or a verb, or the error codes that brokers answer with.",
        epilog=_EPILOG,
    )
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="with its VERB, or: errors [NAME|CODE]")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the help; argparse ends the program after that of a command."""
    if options.words[:1] == [_ERRORS]:
        print(*(explained(text) for text in options.words[1:]) if options.words[1:] else (listed(),), sep="\n\n")
        return 0
    from kwire.cli.main import main

    return main([*options.words, "--help"])


def listed() -> str:
    """All error codes: what each means, and whether the same request may succeed later."""
    from kwire.cli.rendering import table

    rows = [(error.code, error.name, "yes" if error.retriable else "no", error.text) for error in _errors()]
    return table(("code", "name", "passes", "meaning"), rows)


def explained(text: str) -> str:
    """One error, by its code or by a name, in the words of a manual. ConfigError for one that is not known."""
    from kwire.cli.error_advice import ADVICE

    by_name = {name: error for error in _errors() for name in (error.name, error.__name__.upper(), str(error.code))}
    wanted = text.upper().replace("-", "_")
    if wanted not in by_name:
        near = with_nearest(wanted, by_name)
        raise ConfigError(f"no broker answers with an error {near}; 'kwire help errors' lists all")
    error = by_name[wanted]
    lines = [f"{error.name} ({error.code}): {error.text}", *_repetition(error.retriable, error.stale_metadata)]
    if error.name in ADVICE:
        lines.append(ADVICE[error.name])
    return "\n  ".join(lines)


def _errors() -> list[type[BrokerError]]:
    from kwire.errors.broker import by_code
    from kwire.schema import error_codes

    codes = [code for name, code in vars(error_codes).items() if name.isupper()]
    return [by_code(code) for code in codes if code]


def _repetition(retriable: bool, stale_metadata: bool) -> list[str]:
    """What the clients do about it by themselves."""
    if stale_metadata:
        return ["It may pass: the client asks for new metadata and tries again, until its time is over (--timeout)."]
    if retriable:
        return ["It may pass: the client tries again, until its time is over (--timeout)."]
    return ["It does not pass by itself: the same request would fail again."]
