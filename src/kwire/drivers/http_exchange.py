"""One HTTP request and its whole response, within limits of time and bytes.

    looking up the host, connecting, TLS, the tunnel of a proxy, status line, headers, any number of "100 Continue",
    redirects, the body: all of it ends by `Limits.end`, however slowly it comes, and has at most `Limits.max_size`
    bytes besides HEAD_SIZE for what is not the body

Layer 4. It blocks: whoever asks does so where nobody else waits. The standard library's urllib, with sockets that look
at the limits before each wait. Only http and https are spoken. What asks knows the endpoint, its errors and its
secrets; no error here shows what was sent.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import time
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from queue import Empty, Queue
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from kwire._typing import Any, NamedTuple, override
from kwire.drivers.name_lookups import NameLookups
from kwire.drivers.sockets import SocketAddress, cause_of, literal, resolve
from kwire.engine.common.addresses import Address
from kwire.engine.connections.sasl.exchange import quoted
from kwire.engine.settings.security_conflicts import is_loopback

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may be answered."""

HEAD_SIZE = 1 << 20
"""Bytes that an answer may have besides its body: headers, chunks' heads, what comes before it, redirects."""

_TOO_SLOW = "its answer takes too long"
_PART = 1 << 16


class TransientError(Exception):
    """Something that may go better at the next try."""


class Answer(NamedTuple):
    """The status of the last response, redirects followed, and its whole body."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def json_object(self) -> dict[str, Any]:
        """The JSON object that the body is; {} where it is none, or is nested too deeply."""
        try:
            parsed = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return parsed if isinstance(parsed, dict) else {}


class Limits:
    """How long an exchange may take, and how many bytes it may bring; `end` is by time.monotonic()."""

    def __init__(self, end: float, max_size: int) -> None:
        self.end = end
        self.max_size = max_size
        self._received = 0

    def seconds_left(self) -> float:
        """More than 0; TransientError when nothing is left."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TransientError(_TOO_SLOW)
        return left

    def count(self, received: int) -> None:
        self._received += received
        if self._received > self.max_size + HEAD_SIZE:
            raise self.too_long()

    def too_long(self) -> TransientError:
        return TransientError(f"its answer is longer than {self.max_size} bytes")


class NoRedirects(HTTPRedirectHandler):
    """A redirect is an answer like any other: it would take what was sent elsewhere."""

    @override
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class CarefulRedirects(HTTPRedirectHandler):
    """Follows to http and https, and from https to https only."""

    @override
    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        allowed = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def exchange(request: Request, context: ssl.SSLContext, limits: Limits, redirects: HTTPRedirectHandler) -> Answer:
    """Sends the request and returns the answer, whatever its status.

    Raises TransientError for what may go better at the next try, the limits too, and ssl.SSLError for an endpoint that
    cannot be trusted or does not speak TLS. The context's sockets are from now on of a class that knows limits; those
    made elsewhere have none.
    """
    context.sslsocket_class = _TlsSocket
    _check_headers(request)
    try:
        with ExitStack() as opened:
            return _answer(_opener(request, context, limits, redirects, opened), request, limits)
    except URLError as error:
        fault: object = error.reason
    except (OSError, HTTPException, ValueError, OverflowError) as error:  # the last: a port that cannot be
        fault = error
    if isinstance(fault, ssl.SSLError) and not isinstance(fault, ssl.SSLEOFError):
        raise fault
    raise TransientError(_TOO_SLOW if isinstance(fault, TimeoutError) else _words(fault)) from None


def is_header_value(text: str) -> bool:
    """Whether http.client sends it as the value of a header, and servers read it as that."""
    return text.isascii() and text.isprintable()


def _check_headers(request: Request) -> None:
    """TransientError, which shows no value, for one that http.client would refuse with its text."""
    for name, value in request.header_items():
        if not is_header_value(value):
            raise TransientError(f"the header {name} of the request has characters that no header can have")


def _words(fault: object) -> str:
    if isinstance(fault, OSError) and not isinstance(fault, ssl.SSLError):
        return quoted(cause_of(fault))
    said = quoted(str(fault))
    return said if isinstance(fault, str | OSError) and said else f"{type(fault).__name__}: {said}"


def _answer(opener: OpenerDirector, request: Request, limits: Limits) -> Answer:
    try:
        response = opener.open(request, timeout=limits.seconds_left())
    except HTTPError as refusal:
        return Answer(refusal.code, _body_of_refusal(refusal, limits))
    return Answer(response.status, _body(response, limits))


def _body(response: HTTPResponse | HTTPError, limits: Limits) -> bytes:
    body, declared = bytearray(), response.length
    while part := response.read1(_PART):
        body += part
        if len(body) > limits.max_size:
            raise limits.too_long()
    if declared is not None and len(body) < declared:
        raise TransientError("its answer ends early")
    return bytes(body)


def _body_of_refusal(refusal: HTTPError, limits: Limits) -> bytes:
    """Empty where it cannot be had: the status says enough."""
    try:
        return _body(refusal, limits)
    except (OSError, HTTPException, TransientError, ValueError):
        return b""


def _opener(
    request: Request, context: ssl.SSLContext, limits: Limits, redirects: HTTPRedirectHandler, opened: ExitStack
) -> OpenerDirector:
    """What opens the request. Its responses end with `opened`: urllib leaves one whose redirect it cannot read, and
    http.client, before Python 3.12, a proxy's that it cannot read.
    """
    proxies = ProxyHandler({}) if is_loopback(urlsplit(request.full_url).hostname or "") else ProxyHandler()
    opener = OpenerDirector()
    for handler in (
        proxies,
        _LimitedHttp(limits, opened),
        _LimitedHttps(limits, opened, context),
        redirects,
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
        UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


class _LimitedHttp(HTTPHandler):
    def __init__(self, limits: Limits, opened: ExitStack) -> None:
        super().__init__()
        self._limits, self._opened = limits, opened

    @override
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_Connection, limits=self._limits, opened=self._opened), req)


class _LimitedHttps(HTTPSHandler):
    def __init__(self, limits: Limits, opened: ExitStack, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._limits, self._opened, self._trusting = limits, opened, context

    @override
    def https_open(self, req: Request) -> HTTPResponse:
        connection = partial(_TlsConnection, limits=self._limits, opened=self._opened, context=self._trusting)
        return self.do_open(connection, req)


def _response(opened: ExitStack, *arguments: Any, **more: Any) -> HTTPResponse:
    return opened.enter_context(HTTPResponse(*arguments, **more))


class _WithinLimits:
    """What a connection of either kind is made of: sockets within limits, and responses that end with `opened`."""

    response_class: Any

    def __init__(self: Any, *arguments: Any, limits: Limits, opened: ExitStack, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._limits = limits
        self._create_connection = partial(_connect, limits)
        self.response_class = partial(_response, opened)


class _Connection(_WithinLimits, HTTPConnection):
    pass


class _TlsConnection(_WithinLimits, HTTPSConnection):
    @override
    def connect(self) -> None:
        super().connect()
        sock: Any = self.sock
        sock.limits = self._limits


# --- sockets that look at the limits before each wait ---


class _Limited:
    """What an _open_ socket of either kind does within its limits, if it has any."""

    limits: Limits | None = None

    def recv_into(self: Any, *arguments: Any) -> int:
        limits = self.limits
        if limits is not None:
            self.settimeout(limits.seconds_left())
        received: int = self._unlimited.recv_into(self, *arguments)
        if limits is not None:
            limits.count(received)
        return received

    def send(self: Any, *arguments: Any) -> int:
        if self.limits is not None:
            self.settimeout(self.limits.seconds_left())
        sent: int = self._unlimited.send(self, *arguments)
        return sent


class _PlainSocket(_Limited, socket.socket):
    _unlimited = socket.socket
    limits: Limits

    @override
    def sendall(self, *arguments: Any) -> None:
        self.settimeout(self.limits.seconds_left())
        super().sendall(*arguments)

    @override
    def gettimeout(self) -> float:
        """What is left: a TLS handshake takes its limit from here."""
        return self.limits.seconds_left()


class _TlsSocket(_Limited, ssl.SSLSocket):
    """Its handshake ends within the time-out of the socket that it is made of; `limits` are set after that."""

    _unlimited = ssl.SSLSocket


def _connect(limits: Limits, address: tuple[str, int], *_: Any) -> socket.socket:
    """A connection to one of the host's addresses; each gets its share of the time that is left."""
    found = _addresses(Address(*address), limits)
    failed: OSError | None = None
    for i, (family, at) in enumerate(found):
        made = _PlainSocket(family, socket.SOCK_STREAM)
        made.limits = limits
        try:
            made.settimeout(limits.seconds_left() / (len(found) - i))
            made.connect(at)
        except BaseException as error:
            made.close()
            if not isinstance(error, OSError):
                raise
            failed = error
        else:
            return made
    raise failed or OSError(f"{address[0]} has no address")


def _addresses(address: Address, limits: Limits) -> list[SocketAddress]:
    found = literal(address)
    if found is not None:
        return found
    answers: Queue[tuple[list[SocketAddress], str]] = Queue()
    _lookups.ask(address, lambda *answer: answers.put(answer), lambda: time.monotonic() < limits.end)
    try:
        found, error = answers.get(timeout=limits.seconds_left())
    except Empty:
        raise TransientError(_TOO_SLOW) from None
    if error:
        raise TransientError(quoted(error))
    return found


# Apart from those of brokers: a name that hangs here takes none of their threads.
_lookups: NameLookups[Address, list[SocketAddress]] = NameLookups(resolve, [])
os.register_at_fork(after_in_child=_lookups.reset)
