"""Requests and the responses that belong to them.

A connection's client is the side that opened it, or that sends what looks like requests, or that talks to the port
given. Responses carry the correlation id of their request, whose key and version say how to read them. Guesses are
noted in `Conversations.notes`. However many connections a capture has, those that are held have limits: beyond them the
one that was silent for longest is taken for ended.

    requests without an answer      Produce with acks 0, and those of Kafka 0.7
    answers without correlation id  those of Kafka 0.7, in the order of the requests
    frames that are not requests    the tokens of SASL after SaslHandshake version 0, and those of Kafka 0.9 without it
Sources: the protocol guide ("Network", "SASL Authentication Sequence"), KIP-43, KIP-511.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from kwire import errors, protocol
from kwire.cli.capture.framing import Frame, Framer, Lost
from kwire.cli.capture.notes import Notes
from kwire.cli.capture.packets import Endpoint, Segment
from kwire.cli.capture.streams import Gap, Piece, Stream
from kwire.cli.capture.tls_records import TlsConnection, alert_of, is_tls
from kwire.schema.api_keys import API_VERSIONS, METADATA, PRODUCE, SASL_HANDSHAKE

__all__ = ["Conversations", "Message"]

_MAX_OUTSTANDING = 4096
_MAX_EARLY = 256
_MAX_CONNECTIONS = 10_000
_MAX_HELD_BYTES = 256 * 1024 * 1024
_MAX_KNOWN = 100_000
_EARLY_NS = 2_000_000_000  # longer than a stream waits for what is missing
_LONGEST_CLIENT_ID = 249
_GSSAPI = 0x60
_0_7 = "0.7"
_IN_TLS = "connections with TLS, which cannot be read here"
_OF_TLS = "what connections say about TLS"
_OF_LOST = "bytes that belong to no frame"
_OF_BROKERS = "brokers"
_OF_0_7 = "connections of Kafka 0.7"
_NO_REQUEST = "connections that show no Kafka request"
_WITH_COUNT = {2, 3}
_WITHOUT_ANSWER = {0, 3}
_TOPIC_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@dataclass(frozen=True, slots=True)
class Message:
    """A frame with what is known of it. `kind` is "request", "response", "token" (of SASL) or "unmatched".

    `number` counts the frames of the capture from 1; `answers` is that of a response's request, `latency_ns` the time
    from the last byte of the request to the first of the response.
    """

    number: int
    kind: str
    connection: int
    source: Endpoint
    target: Endpoint
    frame: Frame
    api_key: int | None = None
    version: int | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    answers: int | None = None
    latency_ns: int | None = None
    generation: str | None = None

    @property
    def name(self) -> str:
        """What the API is called."""
        if self.api_key is None:
            return self.kind
        if self.generation is not None:
            known = protocol.kafka_0_7.REQUESTS.get(self.api_key)
            return f"type {self.api_key}" if known is None else known.__name__.removesuffix("Request")
        return protocol.APIS[self.api_key].name if self.api_key in protocol.APIS else f"API key {self.api_key}"


@dataclass(slots=True)
class _Request:
    number: int
    api_key: int
    version: int
    end_ns: int


@dataclass
class _Connection:
    number: int
    client: Endpoint
    server: Endpoint
    to_server: Stream = field(default_factory=Stream)
    to_client: Stream = field(default_factory=Stream)
    outstanding: dict[int, _Request] = field(default_factory=dict)
    tokens_due: int = 0
    raw_sasl: bool = False
    early: dict[int, Frame] = field(default_factory=dict)
    early_bytes: int = 0
    frames: int = 0
    foreign: bool = False
    answered: bool = False
    tls: TlsConnection | None = None
    generation: str | None = None
    in_order: list[_Request] = field(default_factory=list)
    requests: Framer = field(init=False)
    responses: Framer = field(init=False)

    def frame_by(self, max_frame: int) -> None:
        self.requests = Framer(self._may_be_request, self._looks_like_request, max_frame)
        self.responses = Framer(self._may_be_response, self._looks_like_response, max_frame)

    @property
    def held_bytes(self) -> int:
        """Bytes that wait for others."""
        return (
            self.to_server.waiting_bytes
            + self.to_client.waiting_bytes
            + self.requests.waiting_bytes
            + self.responses.waiting_bytes
            + self.early_bytes
        )

    def _may_be_request(self, head: bytes) -> bool:
        if self.generation is not None:
            return len(head) >= 8 and int.from_bytes(head[4:6], "big") in protocol.kafka_0_7.REQUESTS
        return self.raw_sasl or (len(head) >= 12 and head[4] == 0 and head[6] == 0)

    def _looks_like_request(self, head: bytes) -> bool:
        return looks_like_0_7(head) if self.generation is not None else looks_like_request(head)

    def _may_be_response(self, head: bytes) -> bool:
        if self.generation is not None:
            return len(head) >= 6
        return self.tokens_due > 0 or len(head) >= 8

    def _looks_like_response(self, head: bytes) -> bool:
        if self.generation is not None:
            return bool(self.in_order) and int.from_bytes(head[4:6], "big", signed=True) in protocol.kafka_0_7.ERRORS
        return len(head) >= 8 and int.from_bytes(head[4:8], "big", signed=True) in self.outstanding


def looks_like_request(head: bytes) -> bool:
    """Whether the first 14 bytes (or fewer) of a frame are those of a request that kwire knows."""
    if len(head) < 12 or int.from_bytes(head[:4], "big", signed=True) < 8:
        return False
    key, version = int.from_bytes(head[4:6], "big"), int.from_bytes(head[6:8], "big")
    if key not in protocol.APIS or version not in protocol.APIS[key].versions:
        return False
    if len(head) < 14:
        return (key, version) == (7, 0)
    client_id_size = int.from_bytes(head[12:14], "big", signed=True)
    return -1 <= client_id_size <= _LONGEST_CLIENT_ID


def looks_like_0_7(head: bytes) -> bool:
    """Whether the first 14 bytes (or fewer) of a frame are those of a request of Kafka 0.7: a topic stands in them.

    In a later request the first of these bytes is that of the correlation id, which counts from 0.
    """
    if len(head) < 12 or int.from_bytes(head[4:6], "big") not in protocol.kafka_0_7.REQUESTS:
        return False
    at = 8 if head[5] in _WITH_COUNT else 6
    size = int.from_bytes(head[at : at + 2], "big")
    topic = head[at + 2 : at + 2 + size]
    return 0 < size <= _LONGEST_CLIENT_ID and all(byte in _TOPIC_LETTERS for byte in topic)


class Conversations:
    """All connections of a capture. Give it every segment in turn, then call `end`.

    `port` is the one that brokers listen on, `generation` "0.7" or "0.8" (and everything after it), None to find it
    out. `topic_names` are the ids found in Metadata responses.
    """

    def __init__(self, *, port: int | None = None, generation: str | None = None, max_frame: int = 104_857_600) -> None:
        self.port = port
        self.generation = generation
        self.max_frame = max_frame
        self.topic_names: dict[UUID, str] = {}
        self._notes = Notes()
        self.counts: Counter[str] = Counter()
        self._connections: OrderedDict[frozenset[Endpoint], _Connection] = OrderedDict()
        self._held_bytes = 0
        self._servers: set[Endpoint] = set()
        self._offers: dict[Endpoint, dict[int, tuple[int, int]]] = {}
        self._frames = 0

    def take(self, segment: Segment) -> Iterator[Message]:
        """The messages that are whole now."""
        if self.port is not None and self.port not in (segment.source.port, segment.target.port):
            self.counts["segments of other ports"] += 1
            return
        connection = self._connection_of(segment)
        if connection is None:
            return
        to_server = segment.source == connection.client
        stream = connection.to_server if to_server else connection.to_client
        framer = connection.requests if to_server else connection.responses
        held = connection.held_bytes
        if segment.syn:
            stream.synchronize(segment.sequence)
            framer.synchronized = True
        yield from self._items(connection, to_server, stream.take(segment))
        self._held_bytes += connection.held_bytes - held
        if (connection.to_server.finished and connection.to_client.finished) or segment.rst:
            yield from self._close(connection)
        yield from self._keep_limits()

    @property
    def notes(self) -> list[str]:
        """What was guessed and what was odd, complete after `end`: of each kind the first, and how many more."""
        return [*self._notes.all(), *(f"{what}: {count}" for what, count in sorted(self.counts.items()))]

    def _keep_limits(self) -> Iterator[Message]:
        """Ends connections, the one that was silent for longest first, until what is held is within the limits."""
        while len(self._connections) > _MAX_CONNECTIONS or self._held_bytes > _MAX_HELD_BYTES:
            self.counts["connections treated as ended, because too many were open"] += 1
            yield from self._close(next(iter(self._connections.values())))

    def end(self) -> Iterator[Message]:
        """What was not whole at the end of the capture."""
        for connection in list(self._connections.values()):
            yield from self._close(connection)

    def _connection_of(self, segment: Segment) -> _Connection | None:
        ends = frozenset((segment.source, segment.target))
        known = self._connections.get(ends)
        opens = segment.syn and not segment.ack
        if known is not None and not (opens and (known.frames or known.foreign)):
            self._connections.move_to_end(ends)
            return known
        if not (opens or segment.payload or segment.missing or segment.syn):
            return None
        client = self._client_of(segment)
        if client is None:
            what = _IN_TLS if is_tls(segment.payload) else _NO_REQUEST
            self.counts[f"segments of {what}"] += 1
            return None
        server = segment.target if client == segment.source else segment.source
        made = _Connection(self.counts["connections"] + 1, client, server)
        made.generation = _0_7 if self.generation == _0_7 else None
        made.frame_by(self.max_frame)
        self.counts["connections"] += 1
        if known is not None:
            self._held_bytes -= known.held_bytes
        self._connections[ends] = made
        self._connections.move_to_end(ends)
        return made

    def _client_of(self, segment: Segment) -> Endpoint | None:
        source, target = segment.source, segment.target
        if segment.syn:
            return target if segment.ack else source
        if self.port is not None and source.port != target.port:
            return source if target.port == self.port else target
        if target in self._servers:
            return source
        if source in self._servers:
            return target
        head = segment.payload[:14]
        return source if looks_like_request(head) or self._may_be_0_7(head) else None

    def _may_be_0_7(self, head: bytes) -> bool:
        return self.generation in (None, _0_7) and looks_like_0_7(head)

    def _items(self, connection: _Connection, to_server: bool, items: Iterable[Piece | Gap]) -> Iterator[Message]:
        framer = connection.requests if to_server else connection.responses
        for item in items:
            if isinstance(item, Piece):
                self._watch_tls(connection, to_server, item.data)
            if connection.foreign:
                continue
            is_first = to_server and not connection.frames and isinstance(item, Piece)
            if is_first and not self._is_kafka(connection, item):
                connection.foreign = True
                continue
            for found in framer.take(item):
                yield from self._found(connection, to_server, found)
            yield from self._give_up_early(connection, item.time_ns)

    def _watch_tls(self, connection: _Connection, to_server: bool, data: bytes) -> None:
        """Notes what the two sides say about TLS: alerts, and that only one of them speaks it."""
        note = None
        is_first_answer = not to_server and not connection.answered
        connection.answered = connection.answered or is_first_answer
        if is_first_answer and not connection.foreign and is_tls(data):
            if connection.frames:
                alert = alert_of(data)
                what = "TLS" if alert is None else f"the TLS alert {alert}"
                note = f"{connection.server} answered a client without TLS by {what}: this listener wants TLS"
                connection.foreign = True
            else:
                self._leave_to_tls(connection)
        if connection.tls is not None:
            note = connection.tls.take(to_server, data, connection.server)
        if note is not None:
            self._notes.add(_OF_TLS, f"connection {connection.number}: {note}")

    def _leave_to_tls(self, connection: _Connection) -> None:
        self.counts[_IN_TLS] += 1
        connection.tls, connection.foreign = TlsConnection(), True

    def _is_kafka(self, connection: _Connection, item: Piece | Gap) -> bool:
        """The first bytes of a client show whether this is Kafka at all."""
        data = item.data if isinstance(item, Piece) else b""
        if connection.requests.head:
            return True
        if is_tls(data):
            self._leave_to_tls(connection)
            return False
        if connection.generation is None and self._may_be_0_7(data[:14]):
            connection.generation = _0_7
            text = f"connection {connection.number} was taken for Kafka 0.7, by its first request"
            self._notes.add(_OF_0_7, text)
        if connection.generation is not None or not connection.requests.synchronized:
            return True
        is_broker = self.port is not None or connection.server in self._servers
        if len(data) > 4 and data[4] == _GSSAPI and is_broker:
            connection.raw_sasl = True
        elif len(data) >= 14 and not looks_like_request(data[:14]) and self.port is None:
            self.counts["connections that do not begin with a Kafka request"] += 1
            return False
        return True

    def _found(self, connection: _Connection, to_server: bool, found: Frame | Lost) -> Iterator[Message]:
        if isinstance(found, Lost):
            place = "requests" if to_server else "responses"
            self._notes.add(
                _OF_LOST,
                f"connection {connection.number}: {found.size} bytes of its {place} belong to no frame that could be "
                f"made out ({found.size - found.captured} of them are not in the capture)",
            )
            return
        if not connection.frames:
            self._note_server(connection)
        connection.frames += 1
        if to_server:
            message = self._request(connection, found)
            yield message
            answer = connection.early.pop(message.correlation_id, None) if message.correlation_id is not None else None
            if answer is not None:
                connection.early_bytes -= len(answer.data)
                yield self._response(connection, answer)
        elif self._is_early(connection, found):
            replaced = connection.early.pop(_correlation_id(found), None)
            connection.early[_correlation_id(found)] = found
            connection.early_bytes += len(found.data) - (0 if replaced is None else len(replaced.data))
        else:
            yield self._response(connection, found)

    def _is_early(self, connection: _Connection, frame: Frame) -> bool:
        """Whether the request of a response may still come: packets are captured in more than one place at once."""
        if connection.tokens_due or connection.generation is not None or len(frame.data) < 8:
            return False
        return _correlation_id(frame) not in connection.outstanding

    def _give_up_early(self, connection: _Connection, now_ns: int, *, all_of_them: bool = False) -> Iterator[Message]:
        """Gives out the responses that have waited long enough for their requests."""
        for correlation, frame in list(connection.early.items()):
            if all_of_them or len(connection.early) > _MAX_EARLY or now_ns - frame.end_ns > _EARLY_NS:
                del connection.early[correlation]
                connection.early_bytes -= len(frame.data)
                yield self._response(connection, frame)

    def _note_server(self, connection: _Connection) -> None:
        if connection.server not in self._servers:
            if len(self._servers) < _MAX_KNOWN:
                self._servers.add(connection.server)
            if self.port is None:
                text = f"{connection.server} was taken for a broker, because it receives requests"
                self._notes.add(_OF_BROKERS, text)

    def _request(self, connection: _Connection, frame: Frame) -> Message:
        self._frames += 1
        place = (connection.number, connection.client, connection.server, frame)
        if connection.generation is not None:
            return self._request_of_0_7(connection, frame)
        if connection.raw_sasl and not looks_like_request(frame.data[:14]):
            connection.tokens_due += 1
            return Message(self._frames, "token", *place)
        try:
            header = protocol.decode_request_header(memoryview(frame.data)[4:])
        except errors.CodecError:
            return Message(self._frames, "unmatched", *place)
        key, version, correlation = header.request_api_key, header.request_api_version, header.correlation_id
        connection.raw_sasl = (key, version) == (SASL_HANDSHAKE, 0)
        if key != PRODUCE or _wants_answer(frame):
            connection.outstanding.pop(correlation, None)
            connection.outstanding[correlation] = _Request(self._frames, key, version, frame.end_ns)
            if len(connection.outstanding) > _MAX_OUTSTANDING:
                del connection.outstanding[next(iter(connection.outstanding))]
        return Message(self._frames, "request", *place, key, version, correlation, header.client_id)

    def _response(self, connection: _Connection, frame: Frame) -> Message:
        self._frames += 1
        place = (connection.number, connection.server, connection.client, frame)
        if connection.generation is not None:
            return self._response_of_0_7(connection, frame)
        if connection.tokens_due and not self._ends_tokens(connection, frame):
            connection.tokens_due -= 1
            return Message(self._frames, "token", *place)
        if len(frame.data) < 8:
            return Message(self._frames, "unmatched", *place)
        correlation = _correlation_id(frame)
        asked = connection.outstanding.pop(correlation, None)
        if asked is None:
            self.counts["responses whose request is not in the capture"] += 1
            return Message(self._frames, "unmatched", *place, None, None, correlation)
        self._learn(connection, asked, frame)
        latency = frame.begin_ns - asked.end_ns if asked.end_ns and frame.begin_ns else None
        return Message(
            self._frames, "response", *place, asked.api_key, asked.version, correlation, None, asked.number, latency
        )

    def _ends_tokens(self, connection: _Connection, frame: Frame) -> bool:
        """Whether this answers a request that followed the tokens: GSSAPI's last token has no answer."""
        if connection.raw_sasl or len(frame.data) < 8 or _correlation_id(frame) not in connection.outstanding:
            return False
        connection.tokens_due = 0
        return True

    def _request_of_0_7(self, connection: _Connection, frame: Frame) -> Message:
        kind = int.from_bytes(frame.data[4:6], "big", signed=True)
        if kind not in _WITHOUT_ANSWER and len(connection.in_order) < _MAX_OUTSTANDING:
            connection.in_order.append(_Request(self._frames, kind, 0, frame.end_ns))
        place = (connection.number, connection.client, connection.server, frame)
        return Message(self._frames, "request", *place, kind, generation=_0_7)

    def _response_of_0_7(self, connection: _Connection, frame: Frame) -> Message:
        place = (connection.number, connection.server, connection.client, frame)
        if not connection.in_order:
            self.counts["responses whose request is not in the capture"] += 1
            return Message(self._frames, "unmatched", *place, generation=_0_7)
        asked = connection.in_order.pop(0)
        latency = frame.begin_ns - asked.end_ns if asked.end_ns and frame.begin_ns else None
        return Message(
            self._frames, "response", *place, asked.api_key, answers=asked.number, latency_ns=latency, generation=_0_7
        )

    def _learn(self, connection: _Connection, asked: _Request, frame: Frame) -> None:
        """What answers say about the connection: the broker's release, names of topic ids."""
        if frame.missing or asked.api_key not in (METADATA, API_VERSIONS):
            return
        try:
            _, answer = protocol.decode_response_body(memoryview(frame.data)[4:], asked.api_key, asked.version)
        except errors.CodecError:
            return
        if isinstance(answer, protocol.MetadataResponse):
            named = ((topic.topic_id, topic.name) for topic in answer.topics if topic.name)
            self.topic_names.update(islice(named, max(0, _MAX_KNOWN - len(self.topic_names))))
        elif isinstance(answer, protocol.ApiVersionsResponse) and answer.error_code == 0:
            offer = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
            if self._offers.get(connection.server) != offer and len(self._offers) < _MAX_KNOWN:
                self._offers[connection.server] = offer
                release = protocol.infer_release(offer)
                self._notes.add(_OF_BROKERS, f"{connection.server} offers the versions of Kafka {release}")

    def _close(self, connection: _Connection) -> Iterator[Message]:
        self._held_bytes -= connection.held_bytes
        self._connections.pop(frozenset((connection.client, connection.server)), None)
        yield from self._items(connection, True, connection.to_server.end())
        yield from self._items(connection, False, connection.to_client.end())
        note = None if connection.tls is None else connection.tls.end(connection.server)
        if note is not None and connection.to_server.finished | connection.to_client.finished:
            self._notes.add(_OF_TLS, f"connection {connection.number}: {note}")
        if not connection.foreign:
            for to_server, framer in ((True, connection.requests), (False, connection.responses)):
                for found in framer.end():
                    yield from self._found(connection, to_server, found)
        yield from self._give_up_early(connection, 0, all_of_them=True)
        unanswered = len(connection.outstanding) + len(connection.in_order)
        if unanswered:
            self.counts["requests whose response is not in the capture"] += unanswered


def _correlation_id(frame: Frame) -> int:
    return int.from_bytes(frame.data[4:8], "big", signed=True)


def _wants_answer(frame: Frame) -> bool:
    """Whether a Produce request has acks other than 0; taken for granted where that was not captured."""
    body = protocol.describe(frame.data, max_items=0).root.find("body") if frame.missing else None
    if body is not None:
        acks = body.find("acks")
        return acks is None or acks.value != 0
    try:
        _, message = protocol.decode_request_body(memoryview(frame.data)[4:])
    except errors.CodecError:
        return True
    return getattr(message, "acks", 1) != 0
