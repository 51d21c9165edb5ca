"""A Registry from a mapping of Confluent's names: those of confluent-kafka's client, and of Java's serializers.

    url, basic.auth.user.info, ssl.ca.location, bearer.auth.credentials.source, timeout ...      a registry's alone
    schema.registry.url, schema.registry.ssl.ca.location ..., basic.auth.*, bearer.auth.*       beside a client's

Where some name begins with schema.registry., those without it that clients have, too, are the clients'. No value is
shown, since it may be a password.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kwire.engine.common.warning import warn_caller
from kwire.engine.settings.clients import AdminSettings, names_of, owners_of
from kwire.engine.settings.foreign import key_of
from kwire.errors import ConfigError
from kwire.registry.oauth import ClientCredentials

_PREFIX: Final = "schema.registry."
_ONLY_HERE: Final = (_PREFIX, "basic.auth.", "bearer.auth.")
_SAME: Final = {
    "url": "urls",
    "urls": "urls",
    "username": "username",
    "password": "password",
    "token": "token",
    "ssl.context": "ssl_context",
    "ssl.ca.location": "ssl_ca_location",
    "ssl.certificate.location": "ssl_certificate_location",
    "ssl.key.location": "ssl_key_location",
    "ssl.key.password": "ssl_key_password",
    "request.timeout.ms": "request_timeout_ms",
    "default.api.timeout.ms": "default_api_timeout_ms",
    "retries": "retries",
    "max.retries": "retries",
    "retry.backoff.ms": "retry_backoff_ms",
    "retries.wait.ms": "retry_backoff_ms",
    "ignore.rules": "ignore_rules",
    "headers": "headers",
}
_NUMBERS: Final = ("request_timeout_ms", "default_api_timeout_ms", "retries", "retry_backoff_ms")
_TIMEOUT: Final = "timeout"
_VERIFIED: Final = "enable.ssl.certificate.verification"
_BASIC: Final = ("basic.auth.credentials.source", "basic.auth.user.info")
_BEARER: Final = (
    "bearer.auth.credentials.source", "bearer.auth.token", "bearer.auth.issuer.endpoint.url", "bearer.auth.client.id",
    "bearer.auth.client.secret", "bearer.auth.scope",
)  # fmt: skip
_HEADERS: Final = {
    "bearer.auth.logical.cluster": "target-sr-cluster",
    "bearer.auth.identity.pool.id": "Confluent-Identity-Pool-Id",
}
_WITHOUT_EFFECT: Final = ("cache.capacity", "cache.latest.ttl.sec", "retries.max.wait.ms")
_TOKEN: Final = "give token=, a callable that returns a token, or a token and the seconds that it lasts"
_STORES: Final = "give PEM files: ssl.ca.location, ssl.certificate.location and ssl.key.location"
_CHECKED: Final = "kwire always checks certificates: give ssl.ca.location, or an ssl_context of your own"
_HINTS: Final = {
    "proxy": "kwire takes the proxies of the environment: https_proxy, http_proxy, no_proxy",
    "bearer.auth.custom.": _TOKEN,
    "bearer.auth.issuer.endpoint.query": _TOKEN,
    "ssl.truststore.": _STORES,
    "ssl.keystore.": _STORES,
    "ssl.endpoint.identification.algorithm": _CHECKED,
}
_KNOWN: Final = (*_SAME, _TIMEOUT, _VERIFIED, *_BASIC, *_BEARER, *_HEADERS, *_WITHOUT_EFFECT)
_SIMILAR: Final = 0.7
_NO: Final = ("false", "0", "no", "none", "")


def keywords_of(config: Mapping[str, Any], tell: Callable[[str], object]) -> dict[str, Any]:
    """The keywords of a Registry. Raises one ConfigError for all names that are unknown, with the nearest, or mean what
    kwire has not; `tell` is given the texts about names that are passed over."""
    if not isinstance(config, Mapping):
        raise TypeError(f"from_config() takes a mapping of names to values, not {type(config).__name__}")
    given, sasl, refusals = _sorted(config, tell)
    found = {keyword: given[name] for name, keyword in _SAME.items() if given.get(name) is not None}
    for keyword in _NUMBERS:
        if isinstance(text := found.get(keyword), str) and text.strip().isdecimal():
            found[keyword] = int(text)
    if (seconds := _number(given.get(_TIMEOUT), refusals)) is not None:
        found["request_timeout_ms"] = round(seconds * 1000)
    for name in ("ssl.ca.location", _VERIFIED):
        if name in given and given[name] is not None and str(given[name]).lower() in _NO:
            refusals.append(f"{name}: {_CHECKED}")
    found |= _basic(given, sasl, refusals)
    found |= _bearer(given, refusals)
    if headers := {header: given[name] for name, header in _HEADERS.items() if given.get(name)}:
        found["headers"] = {**found.get("headers", {}), **{name: _joined(value) for name, value in headers.items()}}
    if "urls" not in found:
        refusals.append("url is missing: where the registry is")
    if refusals:
        raise ConfigError.of(refusals)
    return found


def _sorted(
    config: Mapping[str, Any], tell: Callable[[str], object]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """What is the registry's, by the names without prefix; the clients' logins; what is refused."""
    beside_clients = any(key_of(str(name)).startswith(_PREFIX) for name in config)
    of_clients = names_of(AdminSettings)
    given: dict[str, Any] = {}
    sasl: dict[str, Any] = {}
    refusals: list[str] = []
    passed: list[str] = []
    without_effect: list[str] = []
    for name, value in config.items():
        key = key_of(str(name))
        plain = key.removeprefix(_PREFIX)
        is_of_clients = not key.startswith(_ONLY_HERE) and (key in of_clients or bool(owners_of(key)))
        if key in ("sasl.username", "sasl.password"):
            sasl[key] = value
        elif beside_clients and is_of_clients:
            passed.append(key)
        elif plain in _WITHOUT_EFFECT:
            without_effect.append(str(name))
        elif plain in _KNOWN:
            given[plain] = value
        elif hint := next((hint for start, hint in _HINTS.items() if plain.startswith(start)), None):
            refusals.append(f"{name}: {hint}")
        elif is_of_clients:
            passed.append(key)
        else:
            refusals.append(_unknown(str(name), plain))
    if without_effect:
        warn_caller(f"settings without an effect in kwire: {', '.join(without_effect)}")
    if passed:
        tell(f"settings of clients are passed over: {', '.join(passed)}")
    return given, sasl, refusals


def _unknown(name: str, plain: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(plain, _KNOWN, n=1, cutoff=_SIMILAR)
    return f"unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _number(value: Any, refusals: list[str]) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        refusals.append(f"{_TIMEOUT}: expected seconds")
        return None


def _basic(given: Mapping[str, Any], sasl: Mapping[str, Any], refusals: list[str]) -> dict[str, Any]:
    source, info = str(given.get(_BASIC[0]) or "USER_INFO").upper(), given.get(_BASIC[1])
    if source == "SASL_INHERIT":
        return {"username": sasl.get("sasl.username", ""), "password": sasl.get("sasl.password", "")}
    if source not in ("USER_INFO", "URL"):
        refusals.append(f"{_BASIC[0]}: expected USER_INFO, URL or SASL_INHERIT")
    if source == "URL" or not info:
        return {}
    user, colon, password = str(info).partition(":")
    if not colon:
        refusals.append(f"{_BASIC[1]}: expected user:password")
    return {"username": user, "password": password}


def _bearer(given: Mapping[str, Any], refusals: list[str]) -> dict[str, Any]:
    source, token = given.get("bearer.auth.credentials.source"), given.get("bearer.auth.token")
    kind = str(source or ("STATIC_TOKEN" if token else "")).upper()
    if kind == "STATIC_TOKEN" and token:
        return {"token": token}
    if kind == "OAUTHBEARER":
        names = ("bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret")
        missing = [name for name in names if not given.get(name)]
        if not missing:
            endpoint = (str(given[name]) for name in names)
            authority = given.get("ssl.ca.location") or None
            return {"token": ClientCredentials(*endpoint, scope=given.get("bearer.auth.scope"), ca_location=authority)}
        refusals.append(f"{_BEARER[0]} is OAUTHBEARER, and there is no {', '.join(missing)}")
    elif kind == "STATIC_TOKEN":
        refusals.append(f"{_BEARER[0]} is STATIC_TOKEN, and there is no bearer.auth.token")
    elif kind:
        refusals.append(f"{_BEARER[0]}: kwire has STATIC_TOKEN and OAUTHBEARER; for others {_TOKEN}")
    return {}


def _joined(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(map(str, value))
