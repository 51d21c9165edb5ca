"""Which schema registry a command asks, and how it logs in there: --registry, and settings of -X and of files.

A registry's are those that begin with schema.registry., basic.auth. or bearer.auth.; `kwire.registry.config` says what
each means. SASL_INHERIT takes sasl.username and sasl.password of the brokers. Values are never shown here, since they
may be passwords.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from kwire.cli.settings import from_files, name_value_pairs
from kwire.cli.usage import UsageError
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.registry import Registry

VARIABLE: Final = "KWIRE_REGISTRY"
_DEFAULT: Final = "http://localhost:8081"
_PREFIX: Final = "schema.registry."
_URL: Final = _PREFIX + "url"
_LOGINS: Final = ("basic.auth.", "bearer.auth.")
_SASL: Final = ("sasl.username", "sasl.password")


def add_registry_option(parser: argparse._ActionsContainer) -> None:
    """Adds --registry."""
    parser.add_argument(
        "--registry",
        action="append",
        metavar="URL",
        help="where the schema registry is; several URLs of one registry may be given (default: schema.registry.url of "
        f"the settings, the variable {VARIABLE}, {_DEFAULT})",
    )


def registry_of(options: argparse.Namespace, *, alone: bool = False) -> Registry:
    """The registry of a command's options. Takes its settings out of those of -X: the others are for clients, which the
    command has not if this one is `alone`."""
    from kwire.registry import Registry

    found = _settings(options, alone=alone)
    others = [name for name in name_value_pairs("-X", options.settings) if name not in _SASL]
    if alone and others:
        raise UsageError(f"-X {others[0]!r} is no setting of a schema registry")
    urls = options.registry or found.get(_URL) or os.environ.get(VARIABLE) or _DEFAULT
    timeout = {} if options.timeout is None else {"default_api_timeout_ms": max(1, round(options.timeout * 1000))}
    try:
        return Registry.from_config({**found, _URL: urls}, **timeout)
    except ConfigError as error:
        raise UsageError(f"the schema registry: {error}") from None


def _settings(options: argparse.Namespace, *, alone: bool) -> dict[str, str]:
    """What is set of the registry, by the names with schema.registry., and the login at the brokers."""
    stated = name_value_pairs("-X", options.settings)
    options.settings = [text for text in options.settings if not _is_of_registry(text)]
    is_placed = bool(options.registry or getattr(options, "bootstrap_servers", None))
    given = {**from_files(options, is_placed=is_placed, tell=alone), **stated}
    sasl = {name: given[name] for name in _SASL if name in given}
    ours = {name.removeprefix(_PREFIX): value for name, value in given.items() if _is_of_registry(name)}
    return sasl | {_PREFIX + plain: value for plain, value in ours.items()}


def _is_of_registry(name: str) -> bool:
    return name.startswith((_PREFIX, *_LOGINS))
