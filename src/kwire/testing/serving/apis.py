"""One request frame in, one answer out: the version gate, the handlers, the faults.

Sans-I/O: a flow that yields `Suspend` while it waits and returns the answer. Time is a clock passed in. What cannot be
understood raises `CloseConnectionError`, the only exception that a flow lets out. Bytes after the last field of a
request are ignored, as Kafka does: librdkafka sends some.
"""

from __future__ import annotations

import logging
import math
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any

from kwire import errors, protocol
from kwire.errors import broker as codes
from kwire.testing.answers import b00_produce, b03_metadata, b18_api_versions
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.cluster import ClusterState
from kwire.testing.faults import Faults, Rule
from kwire.testing.features import is_switched_off
from kwire.testing.release import Release
from kwire.testing.requests import CloseConnectionError, Flow, RequestContext, Suspend, Throttle
from kwire.testing.sasl import Accounts
from kwire.testing.sasl.exchange import MalformedError, RefusedError
from kwire.testing.session import Session, Step

if TYPE_CHECKING:
    from typing_extensions import Buffer

logger = logging.getLogger("kwire.testing")
_HEAD = struct.Struct(">hhi")
_REFUSED_LOGIN_S = 0.1
_CUT_OFF = "the answer was cut off by an injected fault"


@dataclass(frozen=True, slots=True)
class Answer:
    """The frame to send, in parts, size included; no parts where there is no response.

    The connection closes after it where there is a reason to, and is not read from for `mute_s` seconds.
    """

    parts: Sequence[Buffer] = ()
    close_reason: str | None = None
    mute_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """One connection of a client: serves its frames, and is told when it closes."""

    apis: BrokerApis
    session: Session

    def __call__(self, frame: Buffer) -> Flow[Answer]:
        return self.apis.serve(frame, self.session)

    def close(self) -> None:
        """Does what was to be done when the client is gone."""
        for callback in self.session.on_close:
            try:
                callback()
            except Exception:
                logger.exception("the clean-up after a client failed by an internal error of the broker")


class BrokerApis:
    """Serves frames for one node. `seen` counts the requests by (key, version). Without `accounts` nobody logs in."""

    def __init__(
        self,
        cluster: ClusterState,
        release: Release,
        faults: Faults,
        accounts: Accounts | None = None,
        node: int = 1,
    ) -> None:
        self.cluster = cluster
        self.release = release
        self.faults = faults
        self.now = cluster.now
        self.accounts = accounts
        self.node = node
        self.seen: Counter[tuple[int, int]] = Counter()

    def connect(self, host: str = "127.0.0.1", listener: int = 0) -> Served:
        """What serves the frames of a new connection from `host` by a listener, one after the other."""
        return Served(self, Session(self.accounts, self.release, self.now, host, listener))

    def serve(self, frame: Buffer, session: Session) -> Flow[Answer]:
        """The flow of one frame (without its size). Raises CloseConnectionError."""
        if session.step is Step.TOKENS:
            return (yield from self._bare_token(frame, session))
        answer = yield from self._request(frame, session)
        if session.refusal is None:
            return answer
        yield from self._pause_before_refusal()
        return replace(answer, close_reason=session.refusal)

    def _request(self, frame: Buffer, session: Session) -> Flow[Answer]:
        if memoryview(frame).nbytes < _HEAD.size:
            return self._confused(f"a frame of {memoryview(frame).nbytes} bytes; a request header has at least 8")
        key, version, correlation_id = _HEAD.unpack_from(frame)
        self.seen[key, version] += 1
        refused_code = session.admit(key)
        if key == b18_api_versions.KEY and key in self.release.served and not self.release.serves(key, version):
            return _encoded(b18_api_versions.unsupported_version(self.release), 0, correlation_id)
        if key == b03_metadata.KEY and not self.release.reads_metadata_version:
            version = 0
            frame = _at_version_0(frame)
        if not self.release.serves(key, version):
            return self._confused(f"{_name(key)} version {version} is not served by release {self.release.name}")
        try:
            header, request = protocol.decode_request_body(frame)
        except errors.CodecError as error:
            return self._confused(f"{_name(key)} version {version}: {error}")
        client_id = header.client_id or ""
        throttle = Throttle(self.faults.take_throttle(key, client_id, session.principal))
        context = RequestContext(
            request, version, self.cluster, self.release, self.now, session, self.node, client_id, throttle
        )
        handler = HANDLERS[key]

        def work() -> Flow[Answer]:
            if key == b00_produce.KEY:
                context.charge("producer_byte_rate", memoryview(frame).nbytes)
            response = yield from _handled(handler, context)
            if not throttle.ms or response is None:
                return _encoded(response, version, correlation_id)
            return (yield from self._throttled(response, throttle, version, correlation_id))

        def refuse(code: int) -> Answer:
            return _encoded(handler.refuse(context, code), version, correlation_id)

        if not refused_code and is_switched_off(key, self.cluster.features):
            refused_code = codes.UNSUPPORTED_VERSION.code
        if refused_code:
            return refuse(refused_code)
        return (yield from with_faults(self.faults, self.now, key, _name(key), work, refuse))

    def _throttled(self, response: Any, throttle: Throttle, version: int, correlation_id: int) -> Flow[Answer]:
        """Tells the client, which is not read from for that long; releases before 2.0 answer late instead (KIP-219)."""
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = throttle.ms
        answer = _encoded(response, version, correlation_id)
        if self.release.mutes_throttled_clients:
            return replace(answer, mute_s=throttle.ms / 1000)
        until = self.now() + throttle.ms / 1000
        while self.now() < until:
            yield Suspend(until)
        return answer

    def _bare_token(self, frame: Buffer, session: Session) -> Flow[Answer]:
        """A token of a login that SaslHandshake 0 began, and the answer to it: size and bytes."""
        try:
            token, _ = session.evaluate(bytes(frame))
        except MalformedError as error:
            raise CloseConnectionError(str(error)) from error
        except RefusedError as error:
            yield from self._pause_before_refusal()
            raise CloseConnectionError(str(error)) from error
        return Answer([struct.pack(">i", len(token)) + token])

    def _pause_before_refusal(self) -> Flow[None]:
        """Makes those wait who guess passwords, in releases that do (KIP-306)."""
        until = self.now() + (_REFUSED_LOGIN_S if self.release.delays_refused_logins else 0.0)
        while self.now() < until:
            yield Suspend(until)

    def _confused(self, reason: str) -> Answer:
        if self.release.silent_when_confused:
            logger.warning("%s: not answered, as release %s does", reason, self.release.name)
            return Answer()
        raise CloseConnectionError(reason)


def with_faults(
    faults: Faults,
    now: Callable[[], float],
    key: int,
    name: str,
    work: Callable[[], Flow[Answer]],
    refuse: Callable[[int], Answer],
) -> Flow[Answer]:
    """`work`, or what the faults for requests of `key` make of it; `refuse` answers with an error code."""
    fault = None
    for rule in faults.take(key):
        if rule.kind == "delay":
            until = now() + rule.amount
            while now() < until:
                yield Suspend(until)
        else:
            fault = rule
    if fault is None:
        return (yield from work())
    if fault.kind == "error":
        return refuse(int(fault.amount))
    answer = Answer()
    if fault.takes_effect:
        answer = yield from work()
    return (yield from _spoilt(fault, answer, name))


def _handled(handler: ModuleType, context: RequestContext[Any]) -> Flow[Any]:
    outcome = handler.answer(context)
    return (yield from outcome) if isinstance(outcome, GeneratorType) else outcome


def _spoilt(fault: Rule, answer: Answer, name: str) -> Flow[Answer]:
    if fault.kind == "truncate":
        return Answer([b"".join(answer.parts)[: int(fault.amount)]], _CUT_OFF)
    while fault.kind == "mute":
        yield Suspend(math.inf)
    raise CloseConnectionError(f"{name}: closed by an injected fault")


def _encoded(response: Any, version: int, correlation_id: int) -> Answer:
    if response is None:
        return Answer()
    return Answer(protocol.encode_response_parts(response, version, correlation_id=correlation_id))


def _at_version_0(frame: Buffer) -> bytes:
    """The same request with its version field set to 0."""
    data = bytearray(frame)
    data[2:4] = b"\0\0"
    return bytes(data)


def _name(key: int) -> str:
    return f"{protocol.APIS[key].name}" if key in protocol.APIS else f"API key {key}"
