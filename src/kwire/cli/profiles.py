"""Profiles: settings of clients by a name, in a file of the user's own. `--profile` takes one of them.

    default-profile = "local"

    [local]
    bootstrap.servers = "localhost:9092"

    [production]
    bootstrap.servers = "broker1:9093,broker2:9093"
    security.protocol = "SASL_SSL"
    ...

The file is `config.toml` in `$XDG_CONFIG_HOME/kwire`, mostly `~/.config/kwire`. Errors name it, the profile and the
key, and never a value, which may be a password. Knows no setting.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kwire.cli.usage import with_nearest
from kwire.errors import ConfigError

VARIABLE = "KWIRE_PROFILE"
_DEFAULT = "default-profile"


class Profiles(NamedTuple):
    """What the file has: the settings of each profile by their dotted names, and which profile is the default."""

    path: Path
    settings: Mapping[str, Mapping[str, str]]
    default: str | None

    def named(self, name: str) -> Mapping[str, str]:
        """The settings of one. ConfigError where there is none of this name."""
        if name not in self.settings:
            near = with_nearest(repr(name), map(repr, self.settings))
            raise ConfigError(f"{self.path} has no profile {near}; 'kwire config edit' opens or makes it")
        return self.settings[name]


def profiles_path() -> Path:
    """Where the file is, or would be."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".config") / "kwire" / "config.toml"


def read_profiles() -> Profiles:
    """The profiles of the file; none where it is not there. ConfigError for what cannot be used."""
    import tomllib

    path = profiles_path()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Profiles(path, {}, None)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    default = content.pop(_DEFAULT, None)
    settings = {name: _settings(path, name, table) for name, table in content.items()}
    if default is not None and default not in settings:
        raise ConfigError(f"{path}: {_DEFAULT} has to be one of its profiles: {', '.join(settings) or 'it has none'}")
    return Profiles(path, settings, default)


def _settings(path: Path, name: str, table: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {name!r} stands in no profile; write [NAME] above its settings, or {_DEFAULT}")
    return dict(_flat(f"{path}, profile {name!r}", "", table))


def _flat(place: str, prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The settings of a table. TOML takes dots in a name for tables in tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(place, f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", _text(f"{place}: {prefix}{key}", value)


def _text(place: str, value: Any) -> str:
    """The value as a properties file has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, list):
        return ",".join(_text(place, each) for each in value)
    raise ConfigError(f"{place}: a string, a number, true or false, or an array of them is needed")
