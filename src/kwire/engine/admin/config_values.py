"""Configs in arguments: their names, and their values as brokers take them. Layer 3, no I/O.

Values may be secrets: no error has one.
"""

from __future__ import annotations

from math import isfinite

from kwire.engine.calls.arguments import carried, checked_name
from kwire.errors import ConfigError


def config_name(given: object) -> str:
    """The name of a config."""
    return checked_name(given, "the name of a config")


def config_text(value: object, where: str) -> str:
    """A value as text: `true` and `false` for a bool, and with commas for a list."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return carried(value, where)
    if isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return carried(",".join(value), where)
    raise ConfigError(f"{where}: expected a str, a number, a bool or a list of str, not {_kind(value)}")


def _kind(value: object) -> str:
    return "nan or infinity" if isinstance(value, float) else type(value).__name__
