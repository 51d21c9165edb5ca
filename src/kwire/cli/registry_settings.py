"""Which schema registry a command asks, and how it logs in there: --registry, and settings of -X and of files.

Names are Confluent's, of Java's serializers and of the registry clients of other languages; schema.registry. may stand
in front of each but the first:

    schema.registry.url                             URLs with commas between them
    basic.auth.user.info                            user:password
    basic.auth.credentials.source                   USER_INFO, URL, or SASL_INHERIT: sasl.username and sasl.password
    bearer.auth.token
    ssl.ca.location, ssl.certificate.location, ssl.key.location, ssl.key.password     only with schema.registry.
    request.timeout.ms                                                                only with schema.registry.

Values are never shown here, since they may be passwords.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kwire.cli.settings import from_files, name_value_pairs
from kwire.cli.usage import UsageError
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.registry import Registry

VARIABLE: Final = "KWIRE_REGISTRY"
_DEFAULT: Final = "http://localhost:8081"
_PREFIX: Final = "schema.registry."
_LOGINS: Final = ("basic.auth.user.info", "basic.auth.credentials.source", "bearer.auth.token")
_OF_CLIENT: Final = {
    "ssl.ca.location": "ssl_ca_location",
    "ssl.certificate.location": "ssl_certificate_location",
    "ssl.key.location": "ssl_key_location",
    "ssl.key.password": "ssl_key_password",
}
_TIMEOUT: Final = "request.timeout.ms"
_IGNORED: Final = ("bearer.auth.credentials.source",)
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
    urls = options.registry or found.get("url") or os.environ.get(VARIABLE) or _DEFAULT
    keywords: dict[str, Any] = {keyword: found[name] for name, keyword in _OF_CLIENT.items() if name in found}
    keywords |= _login(found) | _limits(options, found)
    try:
        return Registry(urls, **keywords)
    except ConfigError as error:
        raise UsageError(f"the schema registry: {error}") from None


def _settings(options: argparse.Namespace, *, alone: bool) -> dict[str, str]:
    """What is set of the registry, by the names without schema.registry., and the login at the brokers."""
    stated = name_value_pairs("-X", options.settings)
    options.settings = [text for text in options.settings if _plain(text.partition("=")[0]) is None]
    is_placed = bool(options.registry or getattr(options, "bootstrap_servers", None))
    given = {**from_files(options, is_placed=is_placed, tell=alone), **stated}
    unknown = next((name for name in stated if name.startswith(_PREFIX) and _plain(name) not in _KNOWN), None)
    if unknown is not None:
        raise UsageError(f"-X {unknown!r} is no setting of a schema registry")
    sasl = {name: given[name] for name in _SASL if name in given}
    return sasl | {plain: value for name, value in given.items() if (plain := _plain(name)) is not None}


_KNOWN: Final = {"url", _TIMEOUT, *_LOGINS, *_OF_CLIENT, *_IGNORED}


def _plain(name: str) -> str | None:
    """The name of a registry's setting without what may stand in front; None for another setting."""
    if name.startswith(_PREFIX):
        return name.removeprefix(_PREFIX)
    return name if name in (*_LOGINS, *_IGNORED) else None


def _login(found: Mapping[str, str]) -> dict[str, str]:
    source = found.get("basic.auth.credentials.source", "USER_INFO").upper()
    if source not in ("USER_INFO", "URL", "SASL_INHERIT"):
        raise UsageError("basic.auth.credentials.source: there are USER_INFO, URL and SASL_INHERIT")
    if source == "SASL_INHERIT":
        return dict(zip(("username", "password"), (found.get(name, "") for name in _SASL), strict=True))
    made = {"token": found["bearer.auth.token"]} if found.get("bearer.auth.token") else {}
    user, colon, password = found.get("basic.auth.user.info", "").partition(":")
    if source == "URL" or not user:
        return made
    if not colon:
        raise UsageError("basic.auth.user.info: write user:password")
    return {**made, "username": user, "password": password}


def _limits(options: argparse.Namespace, found: Mapping[str, str]) -> dict[str, int]:
    limits = {}
    if _TIMEOUT in found:
        if not found[_TIMEOUT].isdecimal():
            raise UsageError(f"{_PREFIX}{_TIMEOUT}: a number of milliseconds is needed")
        limits["request_timeout_ms"] = int(found[_TIMEOUT])
    if options.timeout is not None:
        limits["default_api_timeout_ms"] = max(1, round(options.timeout * 1000))
    return limits
