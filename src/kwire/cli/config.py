"""`kwire config`: the user's own file of profiles. Lists and shows them, and opens the file in an editor."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path

from kwire.cli.nouns import Verb, add_noun
from kwire.cli.output import show
from kwire.cli.profiles import VARIABLE, profiles_path, read_profiles
from kwire.cli.settings import is_secret
from kwire.cli.usage import Commands, Parser
from kwire.errors import ConfigError

_HIDDEN = "(hidden)"
_TEMPLATE = """\
# Profiles of kwire: kwire topics --profile local
# The settings are those of 'kwire ... -X'. Keep passwords to yourself: this file has mode 600.

# default-profile = "local"

[local]
bootstrap.servers = "localhost:9092"

# [production]
# bootstrap.servers = "broker1:9093,broker2:9093"
# security.protocol = "SASL_SSL"
# sasl.mechanism = "SCRAM-SHA-512"
# sasl.username = "alice"
# sasl.password = "..."
"""


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    says = "Lists, shows and edits the profiles that --profile takes."
    add_noun(commands, "config", says, _VERBS, instead="; configs of topics, brokers and groups: kwire configs")


def _add_name(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="PROFILE", help="default: the one used without --profile")


def _list(options: argparse.Namespace) -> int:
    found = read_profiles()
    rows = [
        (
            name,
            name == _used(found.default),
            settings.get("bootstrap.servers"),
            settings.get("security.protocol"),
            settings.get("sasl.username"),
        )
        for name, settings in found.settings.items()
    ]
    show(("profile", "used", "brokers", "security", "user"), rows, options.output)
    return 0


def _used(default: str | None) -> str | None:
    return os.environ.get(VARIABLE) or default


def _show(options: argparse.Namespace) -> int:
    found = read_profiles()
    name = options.name or _used(found.default)
    if name is None:
        raise ConfigError(f"name a profile: neither default-profile in {found.path} nor {VARIABLE} names one")
    rows = [(name, setting, _HIDDEN if is_secret(setting) else value) for setting, value in found.named(name).items()]
    show(("profile", "setting", "value"), rows, options.output)
    return 0


def _path(options: argparse.Namespace) -> int:
    print(profiles_path())
    return 0


def _edit(options: argparse.Namespace) -> int:
    """Opens the file, which is made where it is not there, and says what is wrong with it afterwards."""
    path = profiles_path()
    if not path.exists():
        _make(path)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        ended = subprocess.run([*shlex.split(editor), str(path)], check=False)
    except OSError as error:
        raise ConfigError(f"{editor}: {error.strerror}; the variable EDITOR names another editor") from error
    read_profiles()
    return 1 if ended.returncode else 0


def _make(path: Path) -> None:
    """A file with an example, that only its owner can read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_TEMPLATE)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


_VERBS = (
    Verb(
        "list",
        "Lists the profiles: their brokers, and who logs in.",
        _list,
        "  kwire config                                     all profiles",
        connects=False,
    ),
    Verb(
        "show",
        "Shows the settings of a profile, without its secrets.",
        _show,
        "  kwire config show production",
        _add_name,
        connects=False,
    ),
    Verb(
        "path",
        "Prints where the file of profiles is.",
        _path,
        '  chmod 600 "$(kwire config path)"',
        connects=False,
        has_rows=False,
    ),
    Verb(
        "edit",
        "Opens the file of profiles in $EDITOR, and makes one with an example where there is none.",
        _edit,
        "  kwire config edit",
        connects=False,
        has_rows=False,
    ),
)
