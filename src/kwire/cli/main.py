"""The shell. Finds the command, runs it, turns errors into one line and an exit code; `entry.py` does the rest.

Only the command that is asked for is imported.

Exit codes: 0 done, 1 an error (one line on stderr, or one for each item that failed), 2 wrong usage (with the command's
usage), 3 done for some items and not for others, 130 ended by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

from kwire import __version__
from kwire.cli.terminal import print_error
from kwire.cli.usage import Parser, UsageError, width_of, with_nearest
from kwire.errors import KafkaError

_COMMANDS = (
    "broker", "topics", "groups", "configs", "cluster", "transactions", "acls", "users", "quotas",
    "tokens", "shares", "registry", "partitions", "producers", "produce", "consume", "copy", "decode", "dump",
    "ping", "bench", "migrate_check", "completion", "config", "help",
)  # fmt: skip
_FILES = {**{file.replace("_", "-"): file for file in _COMMANDS}, "lag": "groups", "brokers": "cluster"}
_RELATIVE = re.compile(r"-\d")
_COMPLETING = "_ARGCOMPLETE"
_TOPIC_OPTIONS = frozenset(("-t", "--topic"))
_PLACES = ("--from", "-o", "--to")
_EPILOG = """\
'kwire COMMAND --help' explains a command, with examples; 'kwire help errors' the errors of brokers.

exit codes:
  0    done
  1    an error, in a line on standard error
  2    wrong usage
  3    done for some items and not for others, each of which has a line on standard error
  130  ended by Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; `arguments` are the program's own when None."""
    given = sys.argv[1:] if arguments is None else arguments
    if arguments is None and _COMPLETING in os.environ:
        from kwire.cli.completion import answer

        answer(lambda words: _parsers(_wanted(words))[0])
    parser, commands = _parsers(_wanted(given))
    if given and given[0] not in _FILES:
        _check_own_option(parser, given[0])
    options, unknown = parser.parse_known_args(_joined(given))
    command: Parser = getattr(options, "parser", None) or commands[options.command]
    if unknown:
        named = _named(unknown)
        told = f"unrecognized arguments: {' '.join(command.with_nearest(named))}"
        return _wrong_usage(command, f"{told}{_topic_hint(command, named)}")
    try:
        with _logged(options):
            code: int = options.run(options)
    except UsageError as error:
        return _wrong_usage(command, str(error))
    except KafkaError as error:
        from kwire.cli.output import tell

        tell(options, error.failures or {None: error})
        return 1
    return code


def _check_own_option(parser: Parser, text: str) -> None:
    """Ends the program where the first argument is neither a command nor an option of the program itself."""
    if not text.startswith("-"):
        parser.error(f"unknown command {with_nearest(text, _FILES)}; there are {', '.join(_FILES)}")
    if text == "--" or not width_of(text, parser._option_string_actions):
        parser.error("the command comes first and its options after it, as in: kwire topics -b HOST:PORT")


def _logged(options: argparse.Namespace) -> AbstractContextManager[None]:
    if not getattr(options, "verbose", 0):
        return nullcontext()
    from kwire.cli.logs import logged

    return logged(options.verbose)


def _wrong_usage(command: argparse.ArgumentParser, text: str) -> int:
    command.print_usage(sys.stderr)
    print_error(f"{command.prog}: error: {text}")
    return 2


def _named(unknown: Sequence[str]) -> list[str]:
    """The options that no command has without their values, which may be passwords; arguments if there is none."""
    return [text.partition("=")[0] for text in unknown if text.startswith("-")] or list(unknown)


def _topic_hint(command: Parser, unknown: Sequence[str]) -> str:
    """For those who name a topic as kcat and Kafka's own scripts have it named."""
    takes_topic = any(str(each.metavar).startswith("TOPIC") for each in command._get_positional_actions())
    return "; a topic is named without an option" if takes_topic and not _TOPIC_OPTIONS.isdisjoint(unknown) else ""


def _wanted(given: Sequence[str]) -> Sequence[str]:
    """The files of the commands that the arguments may be about."""
    first = given[0] if given else ""
    if first in _FILES:
        return (_FILES[first],)
    return _COMMANDS if first in ("", "-h", "--help") else ()


def all_commands() -> dict[str, Parser]:
    """The parser of every command, by its name."""
    return _parsers(_COMMANDS)[1]


def _parsers(files: Sequence[str]) -> tuple[Parser, dict[str, Parser]]:
    """The parser of the program, and that of each command in these files."""
    parser = Parser(
        prog="kwire",
        description="Apache Kafka from the shell, without Java.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"kwire {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for file in files:
        import_module(f"kwire.cli.{file}").add_parser(commands)
    return parser, commands.choices


def _joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--from -1h` as `--from=-1h`, `--to` alike: argparse takes -1h for an option."""
    joined: list[str] = []
    for text in arguments:
        if joined and joined[-1] in _PLACES and _RELATIVE.match(text):
            joined[-1] += f"={text}"
        else:
            joined.append(text)
    return joined
