"""`kwire completion`: the script that makes a shell complete `kwire`, and the answer when it does.

The script runs `kwire` with the line typed so far in its environment. `argcomplete` takes the parsers of the commands
for what may come next; what they cannot say is in `completing.py`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kwire.cli.usage import Commands
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.cli.usage import Parser

SHELLS = ("bash", "zsh", "fish")
_EPILOG = """\
examples:
  eval "$(kwire completion bash)"                  in ~/.bashrc
  eval "$(kwire completion zsh)"                   in ~/.zshrc, after compinit
  kwire completion fish > ~/.config/fish/completions/kwire.fish

TAB then completes commands, verbs, options and their values, and topics, groups and brokers of the cluster that -b,
--config, --profile or the environment name. A cluster that does not answer within a second offers nothing.
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "completion",
        help="print the script that makes a shell complete commands, topics and groups",
        description="Prints the script that makes a shell complete commands, options, topics and groups.",
        epilog=_EPILOG,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the script."""
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError as error:
        raise ConfigError('completion needs argcomplete: pip install "kwire[shell]"') from error
    print(shellcode(["kwire"], use_defaults=False, shell=options.shell))
    return 0


def answer(parsers_for: Callable[[Sequence[str]], Parser]) -> None:
    """Prints what may come next in the line that is in the environment, and ends the program.

    `parsers_for` makes the program's parser, with the commands that the first words may be about.
    """
    try:
        from argcomplete.finders import CompletionFinder
        from argcomplete.lexers import split_line
    except ImportError:
        sys.exit(1)
    from kwire.cli.completing import offered

    class Finder(CompletionFinder):
        """Verbs of a noun may come until there is one, though its first is taken for granted."""

        def collect_completions(
            self, active_parsers: list[argparse.ArgumentParser], parsed_args: argparse.Namespace, cword_prefix: str
        ) -> list[str]:
            noun: Any = next((each for each in active_parsers if getattr(each, "lacks_verb", False)), None)
            if noun is None or cword_prefix.startswith("-"):
                return super().collect_completions(active_parsers, parsed_args, cword_prefix)
            base: Any = self
            found: list[str] = base._get_subparser_completions(noun._subparsers._group_actions[0], cword_prefix)
            return found

    files_and_names: Any = offered
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    words = split_line(line)[3]
    Finder()(parsers_for(words[1:]), always_complete_options=False, default_completer=files_and_names)
