"""The settings of a command's clients: what -X, --config and --profile give, for each client those it uses.

-X goes over --config, that over --profile, that over the environment and the defaults. An option goes over the variable
of the other. The default profile is for commands to which nothing else says where the brokers are, so that its password
goes nowhere else. One file serves all commands and Java's tools: of it a client takes its own settings, and those of
other clients are passed over. What no client has is an error, as it is for -X. Values are never shown here, since they
may be passwords.
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
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.cli.profiles import VARIABLE as PROFILE_VARIABLE
from kwire.cli.profiles import read_profiles
from kwire.cli.properties import read_properties
from kwire.cli.usage import UsageError
from kwire.errors import ConfigError
from kwire.errors.wording import Problem, spelled

if TYPE_CHECKING:
    from kwire.engine.settings.kinds import Setting

VARIABLE = "KWIRE_BOOTSTRAP_SERVERS"
CONFIG_VARIABLE = "KWIRE_CONFIG"
_SECRET = re.compile(r"password|secret|token|jaas|user[._]info|\bkey$|key[._]pem", re.IGNORECASE)
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

    def __init__(
        self, options: argparse.Namespace, client: str, *, shared: bool = False, is_placed: bool = False
    ) -> None:
        """`shared`: the command has other clients besides, which judge the settings that this one has not; `is_placed`:
        it says where the brokers are."""
        stated = name_value_pairs("-X", options.settings)
        if shared:
            stated = {name: value for name, value in stated.items() if _is_for(name, client)}
        else:
            _check_owners(stated, client)
        taken = {keyword_of(name) for name in stated}
        self._from_files: dict[str, _Stated] = {}
        for source in _sources(options, is_placed=is_placed or "bootstrap_servers" in taken, tell=not shared):
            fresh = {name: each for name, each in source.items() if keyword_of(name) not in taken}
            taken.update(map(keyword_of, fresh))
            self._from_files.update({name: each for name, each in fresh.items() if _is_for(name, client)})
        login = {name for name in stated if keyword_of(name).startswith("sasl_")}
        self.login = {keyword_of(name): stated.pop(name) for name in login}
        self.values = {**{name: found.value for name, found in self._from_files.items()}, **stated}

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
        """Adds file and line, or profile, to what a ConfigError of the block says of settings from files."""
        try:
            yield
        except ConfigError as error:
            raise UsageError(error.told(self._placed)) from error

    def _placed(self, problem: Problem) -> str:
        for name, found in self._from_files.items():
            if problem.setting is not None and keyword_of(name) == keyword_of(problem.setting):
                return f"{found.place}: {in_dots(problem.text)}"
        return in_dots(problem.text)


def from_files(options: argparse.Namespace, *, is_placed: bool, tell: bool) -> dict[str, str]:
    """The settings of --config and --profile, for whatever they are, by their names; see `Given` for which win."""
    sources = list(_sources(options, is_placed=is_placed, tell=tell))
    return {name: each.value for source in reversed(sources) for name, each in source.items()}


class _Stated(NamedTuple):
    """The value of a setting, and the place that it stands in."""

    value: str
    place: str


def _sources(options: argparse.Namespace, *, is_placed: bool, tell: bool) -> Iterator[Mapping[str, _Stated]]:
    """What files give, the first before the next; says on stderr, if `tell`, which ones should be kept to oneself."""
    path, name = options.config, options.profile
    if path is None and options.profile is None:
        path = os.environ.get(CONFIG_VARIABLE) or None
    if name is None and options.config is None:
        name = os.environ.get(PROFILE_VARIABLE)
    if path is not None:
        yield _of_file(path, tell=tell)
    if name != "":
        is_placed = is_placed or path is not None or VARIABLE in os.environ
        yield _of_profile(name, is_placed=is_placed, tell=tell)


def _of_file(path: str, *, tell: bool) -> Mapping[str, _Stated]:
    if "=" in path and not os.path.exists(path):
        raise UsageError("--config names a file of NAME=VALUE lines; a single setting is given by -X NAME=VALUE")
    found = {name: _Stated(each.value, f"{path}, line {each.line}") for name, each in read_properties(path).items()}
    if tell:
        _tell_if_open(path, found)
    return found


def _of_profile(name: str | None, *, is_placed: bool, tell: bool) -> Mapping[str, _Stated]:
    """The profile of this name; without one the default, unless the brokers are named elsewhere."""
    if name is None and is_placed:
        return {}
    profiles = read_profiles()
    name = name or profiles.default
    if name is None:
        return {}
    place = f"{profiles.path}, profile {name!r}"
    found = {key: _Stated(value, place) for key, value in profiles.named(name).items()}
    if tell:
        _tell_if_open(str(profiles.path), found)
    return found


def _tell_if_open(path: str, found: Mapping[str, _Stated]) -> None:
    if os.stat(path).st_mode & stat.S_IROTH and any(is_secret(name) and each.value for name, each in found.items()):
        print(f"kwire: {path} holds secrets and is readable by all users: chmod 600 {path}", file=sys.stderr)


def is_secret(name: str) -> bool:
    """Whether the value of a setting by this name may be a secret, whether or not there is such a setting."""
    return _SECRET.search(name) is not None


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
