"""The settings of a command's clients: what -X and --config give, for each client those it uses.

-X goes over --config, which goes over the environment and the defaults. One file serves all commands and Java's tools:
of it a client takes its own settings, and those of other clients are passed over. What no client has is an error, as it
is for -X. Values are never shown here, since they may be passwords.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from kwire.cli.properties import Property, read_properties
from kwire.cli.usage import UsageError
from kwire.errors import ConfigError
from kwire.errors.wording import Problem, spelled

if TYPE_CHECKING:
    from kwire.engine.settings.kinds import Setting

_SECRET = re.compile(r"password|secret|token|jaas|\bkey$|key[._]pem", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]*")


def name_value_pairs(option: str, texts: list[str]) -> dict[str, str]:
    """{"a": "1"} from ["a=1"]. UsageError for a text without `=`, of which only the beginning is shown."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            start = _NAME.match(text)
            shown = "" if start is None else start[0]
            raise UsageError(f"{option} {shown!r}: write NAME=VALUE")
        found[name] = value
    return found


class Given:
    """The settings that a command was given, as one client is to have them.

    `values`, by name; `login`, by keyword, goes over the sasl.jaas.config of a file and what it stands for.
    """

    def __init__(self, options: argparse.Namespace, client: str, *, shared: bool = False) -> None:
        """`shared`: the command has other clients besides, which judge the settings that this one has not."""
        stated = name_value_pairs("-X", options.settings)
        if shared:
            stated = {name: value for name, value in stated.items() if _is_for(name, client)}
        else:
            _check_owners(stated, client)
        keywords = {keyword_of(name) for name in stated}
        self._file = options.config
        self._from_file = {
            name: found
            for name, found in ({} if self._file is None else _file(self._file, tell=not shared)).items()
            if keyword_of(name) not in keywords and _is_for(name, client)
        }
        login = {name for name in stated if keyword_of(name).startswith("sasl_")}
        self.login = {keyword_of(name): stated.pop(name) for name in login}
        self.values = {**{name: found.value for name, found in self._from_file.items()}, **stated}

    @property
    def has_servers(self) -> bool:
        """Whether the settings name the brokers."""
        return any(keyword_of(name) == "bootstrap_servers" for name in self.values)

    def overruled(self, by: Mapping[str, Any]) -> list[str]:
        """The settings that these keywords make smaller, as NAME=VALUE."""
        found = []
        for name, value in self.values.items():
            rule = by.get(keyword_of(name))
            if isinstance(rule, int) and value.isdecimal() and int(value) > rule:
                found.append(f"{name}={value}")
        return found

    @contextmanager
    def errors_placed(self) -> Iterator[None]:
        """Adds file and line to what a ConfigError of the block says of settings from the file."""
        try:
            yield
        except ConfigError as error:
            raise UsageError(error.told(self._placed)) from error

    def _placed(self, problem: Problem) -> str:
        for name, found in self._from_file.items():
            if problem.setting is not None and keyword_of(name) == keyword_of(problem.setting):
                return f"{self._file}, line {found.line}: {in_dots(problem.text)}"
        return in_dots(problem.text)


def _file(path: str, *, tell: bool) -> Mapping[str, Property]:
    """The properties of the file; says on stderr, if `tell`, when it holds secrets and all users may read it."""
    if "=" in path and not os.path.exists(path):
        raise UsageError("--config names a file of NAME=VALUE lines; a single setting is given by -X NAME=VALUE")
    found = read_properties(path)
    is_open = tell and os.stat(path).st_mode & stat.S_IROTH
    if is_open and any(_SECRET.search(name) and each.value for name, each in found.items()):
        print(f"kwire: {path} holds secrets and is readable by all users: chmod 600 {path}", file=sys.stderr)
    return found


def _check_owners(names: Iterable[str], client: str) -> None:
    """UsageError for settings that only other clients have."""
    from kwire.engine.settings.clients import owners_of

    owners = {name: owners_of(name.removeprefix("kafka.")) for name in names}
    wrong = [f"{name!r} is a setting of {' and '.join(of)}" for name, of in owners.items() if of and client not in of]
    if wrong:
        raise UsageError("\n".join(f"{text}, not of {client}" for text in wrong))


def _is_for(name: str, client: str) -> bool:
    """Whether the client has the setting, or no other client has."""
    from kwire.engine.settings.clients import owners_of
    from kwire.engine.settings.foreign import is_of_serdes

    plain = name.removeprefix("kafka.")
    owners = owners_of(plain)
    return not is_of_serdes(plain) and (not owners or client in owners)


def in_dots(text: str) -> str:
    """A text of the clients with settings as -X and files name them."""

    def dotted(name: str) -> str:
        row = _rows().get(name)
        return name if row is None or name != row.keyword else row.dotted

    return spelled(text, dotted)


def dotted_names() -> list[str]:
    """The settings of all clients, as -X and files name them."""
    return sorted({row.dotted for row in _rows().values()})


def keyword_of(name: str) -> str:
    """The keyword of a setting, by whichever name; the name itself if there is no such setting."""
    plain = name.removeprefix("kafka.")
    row = _rows().get(plain)
    return plain if row is None else row.keyword


@cache
def _rows() -> dict[str, Setting]:
    """The setting that each name stands for."""
    from kwire.engine.settings.clients import ConsumerSettings, ProducerSettings, names_of

    return names_of(ProducerSettings) | names_of(ConsumerSettings)
