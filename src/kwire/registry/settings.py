"""Where a registry is, how to log in there, and how long it may take; all that pickles as a Registry."""

from __future__ import annotations

import os
import re
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from kwire.drivers.http_exchange import is_header_value
from kwire.engine.common.secret import Secret, shown, shown_path
from kwire.errors import ConfigError

Token = str | tuple[str, float]
"""A bearer token; with the seconds that it lasts, it is asked for anew only after most of them."""

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FILES: Final = ("ssl_ca_location", "ssl_certificate_location", "ssl_key_location")
_SHARE_OF_LIFETIME: Final = 0.8
_LONG_AGO: Final = -inf


@dataclass(frozen=True)
class Endpoint:
    """One URL of a registry, without the user and password that stood in it."""

    url: str
    username: str = ""
    password: Secret = Secret("")  # noqa: RUF009 - a str


@dataclass(frozen=True)
class RegistrySettings:
    """What a Registry was made with, checked."""

    endpoints: tuple[Endpoint, ...]
    username: str = ""
    password: Secret = Secret("")  # noqa: RUF009 - a str
    token: Secret | Callable[[], Token] | None = None
    ssl_context: ssl.SSLContext | None = None
    ssl_ca_location: str = ""
    ssl_certificate_location: str = ""
    ssl_key_location: str = ""
    ssl_key_password: Secret = Secret("")  # noqa: RUF009 - a str
    request_timeout_s: float = 10.0
    call_timeout_s: float = 60.0
    retries: int = 2
    retry_backoff_s: float = 0.2
    ignore_rules: bool = False
    headers: tuple[tuple[str, Secret], ...] = ()
    _tokens: list[tuple[str, float]] = field(default_factory=list, repr=False, compare=False)
    """The token of a callable that said how long it lasts, with the time until which it is used."""

    def __post_init__(self) -> None:
        if self.token and (self.username or self.password):
            raise ConfigError("token and username or password exclude each other")
        if self.ssl_key_location and not self.ssl_certificate_location:
            raise ConfigError("ssl_key_location is given without ssl_certificate_location")
        if self.ssl_context is not None and any(getattr(self, name) for name in _FILES):
            raise ConfigError("ssl_context excludes the other ssl settings")
        for name in _FILES:
            file = getattr(self, name)
            if file and not os.path.isfile(file):
                raise ConfigError(f"{name}: there is no file {shown_path(file)}")

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_tokens": []}

    @property
    def files(self) -> list[str]:
        """Those that https was set up with."""
        return [getattr(self, name) for name in _FILES]

    @property
    def urls(self) -> str:
        return ", ".join(each.url for each in self.endpoints)

    def authorization(self, endpoint: Endpoint) -> str:
        """The header by which the registry knows who asks; "" where it asks for none. May call the token's callable."""
        if self.token:
            bearer = self._bearer()
            if not is_header_value(bearer):
                raise ConfigError("token: it has characters that no header can have; does it end with a line?")
            return _bearing(bearer)
        user, password = endpoint.username or self.username, endpoint.password or self.password
        if not user and not password:
            return ""
        return f"Basic {b64encode(f'{user}:{password.reveal()}'.encode()).decode()}"

    def secrets(self, endpoint: Endpoint) -> list[str]:
        """What an answer of the registry may repeat and nobody is to see."""
        hidden = (self.password, endpoint.password, *(value for _, value in self.headers))
        found = [each.reveal() for each in hidden if each]
        return found + ([self.token.reveal()] if isinstance(self.token, Secret) else [])

    def forget_token(self, authorization: str) -> bool:
        """Has the token of a refused request asked for anew, unless another thread did; whether any is kept."""
        kept = self._tokens[-1:]
        if kept and authorization == _bearing(kept[0][0]):
            self._tokens[:] = [(kept[0][0], _LONG_AGO)]
        return bool(kept)

    def _bearer(self) -> str:
        if isinstance(self.token, Secret):
            return self.token.reveal()
        kept = self._tokens[-1:]
        if kept and time.monotonic() < kept[0][1]:
            return kept[0][0]
        assert self.token is not None
        given = self.token()
        if isinstance(given, str):
            return given
        token, lifetime = given
        self._tokens[:] = [(token, time.monotonic() + lifetime * _SHARE_OF_LIFETIME)]
        return token

    def trusting(self) -> ssl.SSLContext:
        """The context for https."""
        if self.ssl_context is not None:
            return self.ssl_context
        try:
            context = ssl.create_default_context(cafile=self.ssl_ca_location or None)
        except (OSError, ssl.SSLError) as fault:
            raise ConfigError(f"the certificates in {self.ssl_ca_location} cannot be loaded: {fault}") from None
        if self.ssl_certificate_location:
            try:
                key, password = self.ssl_key_location or None, self.ssl_key_password.reveal() or _no_password
                context.load_cert_chain(self.ssl_certificate_location, key, password)
            except (OSError, ssl.SSLError) as fault:
                files = " and ".join(filter(None, (self.ssl_certificate_location, self.ssl_key_location)))
                raise ConfigError(f"the certificate and its key in {files} cannot be loaded: {fault}") from None
        return context


def endpoints(urls: str | Iterable[str], name: str = "urls") -> tuple[Endpoint, ...]:
    """The URLs, at least one; one string may have several with commas between them."""
    texts = urls.split(",") if isinstance(urls, str) else list(urls)
    found = tuple(_endpoint(text.strip() if isinstance(text, str) else text, name) for text in texts)
    if not found:
        raise ConfigError(f"{name}: expected the http:// or https:// URL of a registry, or several")
    return found


def _endpoint(text: object, name: str) -> Endpoint:
    wrong = f"{name}: expected the http:// or https:// URL of a registry"
    if not isinstance(text, str):
        raise ConfigError(f"{wrong}, got {shown(text)}")
    try:
        parts = urlsplit(text)
        host, _ = parts.netloc.rpartition("@")[2], parts.port
    except ValueError:
        raise ConfigError(wrong) from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(wrong)
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return Endpoint(url, unquote(parts.username or ""), Secret(unquote(parts.password or "")))


def _bearing(token: str) -> str:
    return f"Bearer {token}"


def _no_password() -> str:
    """In place of a prompt at the terminal."""
    raise ConfigError("the key of the client certificate is encrypted: give its password, or a key that is not")


def settings_of(
    urls: str | Iterable[str],
    *,
    username: str,
    password: str,
    token: str | Callable[[], Token] | None,
    ssl_context: ssl.SSLContext | None,
    ssl_ca_location: str | os.PathLike[str] | None,
    ssl_certificate_location: str | os.PathLike[str] | None,
    ssl_key_location: str | os.PathLike[str] | None,
    ssl_key_password: str,
    request_timeout_ms: int,
    default_api_timeout_ms: int,
    retries: int,
    retry_backoff_ms: int,
    ignore_rules: bool,
    headers: Mapping[str, str] | None,
) -> RegistrySettings:
    """The keywords of a Registry, checked."""
    numbers = {
        "request_timeout_ms": request_timeout_ms,
        "default_api_timeout_ms": default_api_timeout_ms,
        "retries": retries,
        "retry_backoff_ms": retry_backoff_ms,
    }
    for name, number in numbers.items():
        if type(number) is not int or number < 0:
            raise ConfigError(f"{name}={number!r}: expected an int of at least 0")
    if not (token is None or isinstance(token, str) or callable(token)):
        raise ConfigError(f"token: expected a str or a callable, got {type(token).__name__}")
    return RegistrySettings(
        endpoints(urls),
        username,
        Secret(password),
        Secret(token) if isinstance(token, str) else token,
        ssl_context,
        _path(ssl_ca_location),
        _path(ssl_certificate_location),
        _path(ssl_key_location),
        Secret(ssl_key_password),
        request_timeout_ms / 1000,
        default_api_timeout_ms / 1000,
        retries,
        retry_backoff_ms / 1000,
        ignore_rules,
        _headers(headers or {}),
    )


def _headers(given: Mapping[str, str]) -> tuple[tuple[str, Secret], ...]:
    for name, value in given.items():
        if not (isinstance(name, str) and isinstance(value, str) and _HEADER_NAME.fullmatch(name)):
            raise ConfigError("headers: expected names and texts of HTTP headers")
        if not is_header_value(value):
            raise ConfigError(f"headers: the value of {name} has characters that no header can have")
    return tuple((name, Secret(value)) for name, value in given.items())


def _path(given: str | os.PathLike[str] | None) -> str:
    return "" if given is None else os.fspath(given)
