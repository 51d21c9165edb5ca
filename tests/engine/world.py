"""A world in virtual time for the engine: one core, scripted brokers, no socket.

`World.run` plays what the core asks for against the peers and moves its clock from event to event. A peer gets whole
request frames and answers with response frames, `SILENCE` or `HANG_UP`; each answer takes `latency` seconds.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.connections.connection import CLOSE, CLOSED, CONNECT, WARN, Connection
from kwire.engine.core import Core
from kwire.engine.settings.clients import ClientSettings, ProducerSettings
from kwire.errors import KafkaTimeoutError

SILENCE: list[bytes] = []
HANG_UP = None
Answer = list[bytes] | None
HERE = Address("a", 1)


class Peer:
    """A listening address. Subclasses say what it answers."""

    refuses: str = ""
    unreachable = False
    takes_nothing = False
    """Whether the connection is full: what is to be written stays where it is."""
    latency = 0.001
    holds = 0.0
    """Seconds by which the answer that was just made is held back; the next one is not."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests: list[Any] = []
        self.paused_until = 0.0

    def accept(self) -> None:
        self.connections += 1

    def answer_on(self, connection: Connection, frame: bytes, now: float) -> Answer:
        """As `answer`, for a peer that remembers what it heard on a connection."""
        return self.answer(frame, now)

    def answer(self, frame: bytes, now: float) -> Answer:
        """The frames to answer with, SILENCE, or HANG_UP."""
        raise NotImplementedError


class Broker(Peer):
    """Answers as a release would, from a table of handlers by API key."""

    def __init__(self, release: str = "4.4.0", node_id: int = 0, address: Address = HERE) -> None:
        super().__init__()
        self.node_id = node_id
        self.brokers = {node_id: address}
        self.topics: dict[str, list[int]] = {}
        self.errors: dict[str, int] = {}
        self.versions = protocol.versions_of(release)
        self.handlers: dict[int, Callable[[Any, int, float], Any]] = {3: self.metadata, 18: self.api_versions}

    def answer(self, frame: bytes, now: float) -> Answer:
        header = protocol.decode_request_header(frame[4:])
        key, version = header.request_api_key, header.request_api_version
        if key == 18 and not self.versions.get(18, (0, -1))[1] >= version:
            return self.unknown_version(header.correlation_id)
        message = protocol.decode_request(frame)[1]
        self.requests.append((key, version, message))
        if key == 3 and 18 not in self.versions:
            version = 0  # before 0.10 nobody reads it
        response = self.handlers[key](message, version, now)
        if response is None:
            return SILENCE
        return [protocol.encode_response(response, version, correlation_id=header.correlation_id)]

    def unknown_version(self, correlation_id: int) -> Answer:
        response = protocol.ApiVersionsResponse(error_code=35)
        return [protocol.encode_response(response, 0, correlation_id=correlation_id)]

    def api_versions(self, message: Any, version: int, now: float) -> Any:
        row = protocol.ApiVersionsResponse.ApiVersion
        return protocol.ApiVersionsResponse(
            api_keys=[row(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.versions.items()]
        )

    def metadata(self, message: Any, version: int, now: float) -> Any:
        made = protocol.MetadataResponse
        wanted = None if message.topics is None else [row.name for row in message.topics]
        names = sorted(self.topics) if wanted is None or (version == 0 and not wanted) else wanted
        return made(
            controller_id=self.node_id,
            brokers=[
                made.MetadataResponseBroker(node_id=node_id, host=address.host, port=address.port)
                for node_id, address in self.brokers.items()
            ],
            topics=[self.topic(name) for name in names],
        )

    def topic(self, name: str) -> Any:
        row = protocol.MetadataResponse.MetadataResponseTopic
        if name not in self.topics:
            return row(name=name, error_code=self.errors.get(name, 3))
        return row(
            name=name,
            error_code=self.errors.get(name, 0),
            partitions=[
                row.MetadataResponsePartition(
                    partition_index=index,
                    leader_id=leader,
                    replica_nodes=[leader],
                    isr_nodes=[leader],
                    error_code=0 if leader >= 0 else 5,
                )
                for index, leader in enumerate(self.topics[name])
            ],
        )


class MuteBroker(Broker):
    """0.9: never answers ApiVersions, and nothing that comes after it on that connection."""

    def __init__(self, **more: Any) -> None:
        super().__init__("0.9.0.1", **more)
        self.asked_versions = 0

    def answer(self, frame: bytes, now: float) -> Answer:
        if 18 in self.versions or frame[4:6] != b"\0\x12":
            return super().answer(frame, now)
        self.asked_versions += 1
        return SILENCE

    def become(self, release: str) -> None:
        """Another release from now on; open connections stay."""
        self.versions = protocol.versions_of(release)


class ClosingBroker(Broker):
    """0.8: closes the connection on an API key that it does not know."""

    def __init__(self, **more: Any) -> None:
        super().__init__("0.8.2.2", **more)

    def answer(self, frame: bytes, now: float) -> Answer:
        return HANG_UP if frame[4:6] == b"\0\x12" else super().answer(frame, now)


class World:
    """The core, the peers by address, and the clock."""

    def __init__(self, peers: dict[Address, Peer], settings: ClientSettings | None = None, rng: float = 0.5) -> None:
        self.peers = peers
        self.now = 1000.0
        self.core = Core(
            settings or ProducerSettings(bootstrap_servers=[tuple(address) for address in peers]),
            lambda: rng if rng < 1 else 0.0,
        )
        self.order = itertools.count()
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.inbox: dict[Connection, bytes] = {}
        self.open: set[Connection] = set()
        self.busy_until: dict[Connection, float] = {}
        self.events: list[tuple[float, str, str]] = []
        self.warned: list[tuple[float, str]] = []
        self.apart = 0.001
        """Seconds that what runs apart takes."""
        self.core.run_apart = self.run_apart
        self.core.wall_clock = lambda: self.now

    def run_apart(
        self,
        function: Callable[[], Any],
        on_result: Callable[[Any, float], None],
        on_error: Callable[[BaseException, float], None],
    ) -> None:
        def over() -> None:
            try:
                value = function()
            except Exception as error:
                on_error(error, self.now)
            else:
                on_result(value, self.now)

        self.at(self.now + self.apart, over)

    def at(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.agenda, (when, next(self.order), action))

    def run(self, until: Callable[[], bool] | float) -> None:
        """Plays until the condition holds or the time has come; a condition that never holds fails the test."""
        limit = until if isinstance(until, float) else self.now + 1000
        done = (lambda: False) if isinstance(until, float) else until
        for _ in range(200_000):
            self.play_events()
            if done():
                return
            timer = self.core.get_timer()
            moments = [moment for moment in (timer, self.agenda[0][0] if self.agenda else None) if moment is not None]
            if not moments or min(moments) > limit:
                assert isinstance(until, float), f"nothing more happens at {self.now}: {self.events[-20:]}"
                self.now = limit
                return
            self.now = max(self.now, min(moments))
            while self.agenda and self.agenda[0][0] <= self.now:
                heapq.heappop(self.agenda)[2]()
                self.play_events()
            self.core.handle_timer(self.now)
        raise AssertionError(f"too much happens: {self.events[-20:]}")

    def play_events(self) -> None:
        while self.core.events:
            kind, connection = self.core.events.popleft()
            if kind == WARN:
                self.warned.append((self.now, connection))
                continue
            self.events.append((self.now, kind, str(connection.address)))
            if kind == CONNECT:
                self.connect(connection)
            elif kind == CLOSE:
                self.open.discard(connection)
            elif connection in self.open:
                self.write(connection)

    def connect(self, connection: Connection) -> None:
        peer = self.peers[connection.address]
        if peer.unreachable:
            return
        if peer.refuses:
            reason = peer.refuses
            self.at(self.now + peer.latency, lambda: self.core.connection_lost(connection, reason, self.now))
            return

        def made() -> None:
            if connection.state != CLOSED:
                peer.accept()
                self.open.add(connection)
                self.inbox[connection] = b""
                self.core.connection_made(connection, self.now)

        self.at(self.now + peer.latency, made)

    def write(self, connection: Connection) -> None:
        if self.peers[connection.address].takes_nothing:
            return
        while parts := connection.data_to_send():
            data = b"".join(parts)
            self.inbox[connection] += data
            connection.sent(len(data), self.now)
        data = self.inbox[connection]
        while len(data) >= 4 and len(data) >= (size := 4 + int.from_bytes(data[:4], "big")):
            frame, data = data[:size], data[size:]
            self.deliver(connection, frame)
        self.inbox[connection] = data

    def deliver(self, connection: Connection, frame: bytes) -> None:
        peer = self.peers[connection.address]

        def handle() -> None:
            if connection not in self.open:
                return
            busy_until = max(peer.paused_until, self.busy_until.get(connection, 0.0))
            if busy_until > self.now:
                self.at(busy_until, handle)
                return
            answer = peer.answer_on(connection, frame, self.now)
            if answer is HANG_UP:
                self.lose(connection, "the broker closed the connection")
            else:
                held, peer.holds = peer.holds, 0.0
                self.busy_until[connection] = self.now + held
                for part in answer:
                    if held:
                        self.at(self.now + held, partial(self.receive, connection, part))
                    else:
                        self.receive(connection, part)

        self.at(self.now + peer.latency, handle)

    def receive(self, connection: Connection, data: bytes) -> None:
        """Bytes for the core, in as many turns as its buffer wants."""
        while data and connection in self.open:
            room = connection.receiver.buffer(len(data))
            count = min(len(room), len(data))
            room[:count] = data[:count]
            self.core.received(connection, count, self.now)
            data = data[count:]

    def lose(self, connection: Connection, reason: str) -> None:
        if connection in self.open:
            self.open.discard(connection)
            self.core.connection_lost(connection, reason, self.now)

    def lose_all(self, address: Address, reason: str = "reset") -> None:
        for connection in list(self.open):
            if connection.address == address:
                self.lose(connection, reason)

    def ask(self, target: int, key: int, message: Any, *, deadline: float | None = None, **more: Any) -> Outcome:
        """A request whose outcome can be waited for; at the deadline it fails."""
        outcome = Outcome()
        outcome.request = self.core.request(target, key, message, outcome.answer, outcome.fail, self.now, **more)
        if deadline is not None:
            fail_at(deadline, self.core, outcome.request)
        return outcome


def fail_at(deadline: float, core: Any, request: Any) -> None:
    """Has a request fail at that moment, unless it has ended by then, as a call over several requests does."""
    error = KafkaTimeoutError("not answered in time")
    core.call_at(deadline, lambda now: request.fail(error, now))


class Outcome:
    """What a request ended in."""

    def __init__(self) -> None:
        self.response: Any = None
        self.version = -1
        self.error: Exception | None = None
        self.calls = 0
        self.ended_at = 0.0
        self.request: Any = None

    def answer(self, response: Any, version: int, now: float) -> None:
        self.response, self.version, self.ended_at = response, version, now
        self.calls += 1

    def fail(self, error: Exception, now: float) -> None:
        self.error, self.ended_at = error, now
        self.calls += 1

    @property
    def ended(self) -> bool:
        return self.calls > 0
