"""`kwire`: the entry point of the shell. Finds the command, runs it, turns errors into one line and an exit code.

Exit codes: 0 done, 1 an error (told on stderr), 2 wrong usage, 130 ended by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from kwire import __version__
from kwire.cli import broker, consume, copy, decode, produce, topics
from kwire.errors import KafkaError

_COMMANDS = (broker, topics, produce, consume, copy, decode)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; `arguments` are the program's own when None."""
    parser = argparse.ArgumentParser(
        prog="kwire",
        description="Apache Kafka from the shell, without Java.",
        epilog="'kwire COMMAND --help' explains a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"kwire {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        code: int = options.run(options)
    except KafkaError as error:
        print(f"kwire {options.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has gone (`kwire consume ... | head`): what is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
