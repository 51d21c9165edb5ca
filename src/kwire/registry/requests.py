"""One request to a registry, as a flow: tried again where that may help, at the next URL where there are several.

It ends within limits of time and bytes. Certificates are always checked; a redirect is followed by what only reads,
without password and token, and never from https to http. Errors say the registry without what may be secret in its URL.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.request import Request

from kwire.drivers.http_exchange import (
    RETRIED,
    Answer,
    CarefulRedirects,
    Limits,
    NoRedirects,
    TransientError,
    exchange,
)
from kwire.engine.common.secret import Secret, without_secrets
from kwire.engine.connections.sasl.exchange import quoted
from kwire.errors import IncompatibleSchemaError, RegistryError, UnknownSchemaError
from kwire.registry.flows import Apart, Flow, Pause
from kwire.registry.settings import Endpoint, RegistrySettings

if TYPE_CHECKING:
    from kwire.drivers.tls_renewal import RenewedContext

MAX_ANSWER: Final = 8 << 20
_CONTENT: Final = "application/vnd.schemaregistry.v1+json"
_SAID: Final = 1000
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


class Ask(NamedTuple):
    """A request: what it is about, and what is done with that, for errors."""

    path: str
    what: str
    done: str = "fetched from"
    method: str = "GET"
    body: dict[str, Any] | None = None


class Site:
    """A registry as it is reached: its settings, what https trusts, and the URL that has answered last."""

    def __init__(self, settings: RegistrySettings) -> None:
        self.settings = settings
        self.answering = 0
        self._trusted: RenewedContext | None = None

    @property
    def context(self) -> ssl.SSLContext:
        if self._trusted is None:
            from kwire.drivers.tls_renewal import RenewedContext

            self._trusted = RenewedContext(self.settings.trusting, self.settings.files)
        return self._trusted.current()


class Asking:
    """The requests of one call, which all end by the same time."""

    def __init__(self, site: Site, what: str, query: str = "") -> None:
        self.what = what
        self.query = query
        self.references = 0
        self.characters = 0
        self._site = site
        self._settings = site.settings
        self._until = time.monotonic() + site.settings.call_timeout_s

    def ask(self, ask: Ask) -> Flow[Any]:
        """The JSON that the registry answers with."""
        wait = self._settings.retry_backoff_s
        for left in range(self._settings.retries, -1, -1):
            answered = yield Apart(partial(self._round, ask))
            if not isinstance(answered, _Failed):
                return answered
            if not left or time.monotonic() + wait > self._until:
                raise RegistryError(f"{ask.what} cannot be {ask.done} {answered.why}", status=answered.status)
            yield Pause(wait)
            wait *= 2
        raise AssertionError("unreachable")

    def _round(self, ask: Ask) -> Any:
        """One try at each URL, beginning with the one that has answered last."""
        endpoints = self._settings.endpoints
        whys: list[str] = []
        status: int | None = None
        for i in range(len(endpoints)):
            at = (self._site.answering + i) % len(endpoints)
            try:
                found = self._try(ask, endpoints[at], len(endpoints) - i)
            except TransientError as fault:
                whys.append(f"{endpoints[at].url}: {fault}")
                status = fault.status if isinstance(fault, _RefusedForNowError) else None
            else:
                self._site.answering = at
                return found
        return _Failed("; ".join(whys), status)

    def _try(self, ask: Ask, endpoint: Endpoint, left: int) -> Any:
        """With so many URLs left, this one too, which share the time of the call: one that hangs takes no more."""
        now = time.monotonic()
        share = (self._until - now) / left
        limits = Limits(now + min(self._settings.request_timeout_s, share), MAX_ANSWER)
        redirects = CarefulRedirects() if ask.method == "GET" else NoRedirects()
        authorization = self._settings.authorization(endpoint)
        try:
            answer = exchange(
                _request(ask, endpoint, authorization, self._settings.headers), self._site.context, limits, redirects
            )
        except ssl.SSLError as error:
            raise RegistryError(f"{ask.what} cannot be {ask.done} {endpoint.url}: {quoted(str(error))}") from None
        if not answer.is_success:
            raise self._refused(ask, endpoint, authorization, answer)
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise not_json(ask, endpoint.url) from None

    def _refused(self, ask: Ask, endpoint: Endpoint, authorization: str, answer: Answer) -> Exception:
        told = answer.json_object()
        message, code = told.get("message"), told.get("error_code")
        said = message[:_SAID] if isinstance(message, str) else ""
        secrets = [*self._settings.secrets(endpoint), authorization.partition(" ")[2]]
        said = quoted(without_secrets(said, filter(None, secrets)))
        why = f"HTTP status {answer.status}" + (f": {said}" if said else "")
        if answer.status in RETRIED or (answer.status == _UNAUTHORIZED and self._settings.forget_token(authorization)):
            return _RefusedForNowError(why, answer.status)
        about: dict[str, Any] = {"status": answer.status, "error_code": code if type(code) is int else None}
        if answer.status == _NOT_FOUND:
            return UnknownSchemaError(f"{ask.what} is not in the registry {endpoint.url} ({why})", **about)
        kind = IncompatibleSchemaError if answer.status == _CONFLICT else RegistryError
        return kind(f"{ask.what} cannot be {ask.done} {endpoint.url}: {why}", **about)


class _RefusedForNowError(TransientError):
    """An answer whose status says that another may come."""

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.status = status


class _Failed(NamedTuple):
    """No URL has answered."""

    why: str
    status: int | None


def not_json(ask: Ask, url: str) -> RegistryError:
    return RegistryError(f"{ask.what}: the answer of {url} is not the JSON expected: is it a schema registry?")


def _request(ask: Ask, endpoint: Endpoint, authorization: str, more: Iterable[tuple[str, Secret]]) -> Request:
    headers = {"Accept": f"{_CONTENT}, application/json", "User-Agent": "kwire"}
    data = None
    if ask.body is not None:
        headers["Content-Type"] = _CONTENT
        data = json.dumps(ask.body).encode()
    request = Request(endpoint.url + ask.path, data=data, headers=headers, method=ask.method)
    for name, value in more:
        request.add_unredirected_header(name, value.reveal())
    if authorization:
        request.add_unredirected_header("Authorization", authorization)
    return request
