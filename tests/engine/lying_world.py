"""An embedded cluster whose answers are changed on their way to the clients, and programs that work on it.

`Liar.change(response)` is called with each answer to requests of the API `key`, decoded; it is encoded again as it was
changed. `Liar.asked` counts the requests that reached the nodes, by API key, `Liar.told` the answers that were changed.
It has no tests.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kwire import errors, protocol, records
from kwire._codec import Delivery
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.connections.connection import Connection
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.engine.settings.clients import ShareConsumerSettings
from kwire.engine.share.polling import SharePolling
from kwire.engine.transactions.outcome import Outcome
from kwire.testing.contents import Contents
from kwire.testing.serving.apis import Answer
from tests.engine.embedded_clients import EmbeddedProducer, EmbeddedReader
from tests.engine.embedded_world import EmbeddedClient
from tests.engine.groups.group_world import GroupMember
from tests.engine.transactions.world import TransactionWorld

Change = Callable[[Any], None]
_POLL_S = 0.05


class Liar:
    """Stands between the nodes of every embedded world and their clients."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.key = -1
        self.change: Change = _nothing
        self.asked: Counter[int] = Counter()
        self.told = 0
        self._waiting: dict[Connection, deque[tuple[int, int, int]]] = {}
        deliver, send_answer = EmbeddedClient.deliver, EmbeddedClient.send_answer

        def note(client: EmbeddedClient, connection: Connection, frame: bytes) -> None:
            header = protocol.decode_request_header(frame[4:])
            key = header.request_api_key
            self.asked[key] += 1
            row = (key, header.request_api_version, header.correlation_id)
            self._waiting.setdefault(connection, deque()).append(row)
            deliver(client, connection, frame)

        def lie(client: EmbeddedClient, connection: Connection, answer: Answer) -> None:
            key, version, correlation_id = self._waiting[connection].popleft()
            if key == self.key and answer.parts:
                answer = self._changed(answer, key, version, correlation_id)
            send_answer(client, connection, answer)

        monkeypatch.setattr(EmbeddedClient, "deliver", note)
        monkeypatch.setattr(EmbeddedClient, "send_answer", lie)

    def _changed(self, answer: Answer, key: int, version: int, correlation_id: int) -> Answer:
        data = b"".join(bytes(part) for part in answer.parts)
        _, response = protocol.decode_response_body(data[4:], key, version)
        self.change(response)
        try:
            frame = protocol.encode_response(response, version, correlation_id=correlation_id)
        except errors.CodecError:
            return answer  # the version has no such field
        self.told += bytes(frame) != data
        return replace(answer, parts=[frame])

    def tell(self, key: int, change: Change) -> None:
        """Changes the answers to these requests from now on."""
        self.key, self.change = key, change

    def stop(self) -> None:
        """Tells the truth from now on."""
        self.key = -1


def _nothing(response: Any) -> None:
    """The truth."""


def rows_at(message: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """The structs of a message that have the last field of the path."""
    if len(path) == 1:
        yield message
        return
    inner = getattr(message, path[0])
    for row in inner if isinstance(inner, list | tuple) else [inner] if inner is not None else []:
        yield from rows_at(row, path[1:])


class Program:
    """Something that works on a cluster in the usual way; `done` counts what went through.

    errors   what its calls raised
    """

    topic = "t"
    transaction_version = 2

    def __init__(self) -> None:
        self.world = TransactionWorld(
            self.transaction_version, nodes=1, topics={"t": 2}, group_initial_rebalance_delay_ms=0
        )
        self.world.cluster.features.update({"group.version": 1, "share.version": 1})
        self.done = 0
        self.errors: list[errors.KafkaError] = []
        self.begin()
        self._again()

    def begin(self) -> None:
        """Makes its client."""
        raise NotImplementedError

    def step(self) -> None:
        """What it does all the time."""
        raise NotImplementedError

    def mend(self) -> None:
        """What a program does that was told an error which waiting does not mend."""

    def _again(self) -> None:
        try:
            self.step()
        except errors.KafkaError as error:
            self.errors.append(error)
        self.world.at(self.world.now + _POLL_S, self._again)

    def disconnect(self) -> None:
        """Every connection ends, so that metadata and coordinators are asked for again."""
        for client in self.world.clients:
            for address in self.world.addresses.values():
                client.lose_all(address)

    def append(self) -> None:
        """A new record in each partition, for readers."""
        for partition in range(2):
            Contents(self.world.cluster).append(self.topic, partition, records.encode([b"v"]))


class Producing(Program):
    """A producer that sends all the time, to partitions that it names and by keys."""

    def begin(self) -> None:
        self.producer = EmbeddedProducer(self.world, linger_ms=0, delivery_timeout_ms=60_000, max_block_ms=10_000)
        self.sent: deque[Delivery] = deque()

    def step(self) -> None:
        self.sent.append(self.producer.send("t", b"v", key=b"%d" % (int(self.world.now * 20) % 7)))
        while self.sent and self.sent[0].done():
            self.done += self.sent.popleft().exception() is None


class Transacting(Program):
    """A transactional producer that commits one transaction after the other."""

    def begin(self) -> None:
        self.names = 0
        self.waits: Outcome | None = None
        self.mend()

    def mend(self) -> None:
        self.names += 1
        self.producer = self.world.producer(f"tx{self.names}", transaction_timeout_ms=20_000)
        self.waits = self.producer.start(self.producer.manager.initialise)
        self.is_fatal = self.commits = False

    def step(self) -> None:
        if self.is_fatal or (self.waits is not None and not self.waits.done):
            return
        waits, self.waits = self.waits, None
        try:
            if waits is not None:
                waits.value()
                self.done += self.commits
                self.commits = False
            self.producer.begin()
            self.producer.send("t", b"v")
            group = ConsumerGroupMetadata.outside("g")
            self.producer.offsets({TopicPartition("t", 0): self.done}, group)
            self.waits = self.producer.start(self.producer.manager.commit)
            self.commits = True
        except errors.KafkaError:
            self.commits = False
            self._abort()
            raise

    def _abort(self) -> None:
        try:
            self.waits = self.producer.start(self.producer.manager.abort)
        except errors.KafkaError:
            self.is_fatal = True


class OldTransacting(Transacting):
    """The same as before KIP-890: partitions and groups are added to the transaction by requests."""

    transaction_version = 0


class Reading(Program):
    """A consumer without a group."""

    def begin(self) -> None:
        self.reader = EmbeddedReader(self.world, "t", default_api_timeout_ms=5000, **self.options())

    def options(self) -> dict[str, Any]:
        return {}

    def step(self) -> None:
        self.append()
        fetcher = self.reader.fetcher
        fetcher.settle()
        fetcher.pump_if_due(self.world.now)
        try:
            for _, part in fetcher.take(None):
                self.done += len(part)
        finally:
            fetcher.hand_out.arrived = True
            fetcher.pump_if_due(self.world.now)

    def mend(self) -> None:
        """Begins at the end, as a program does whose position cannot be."""
        for state in self.reader.fetcher.subscription.states.values():
            state.reset(-1)
        self.reader.fetcher.pump(self.world.now)


class Idling(Reading):
    """The same where nothing is written."""

    def append(self) -> None:
        pass


class Member(Program):
    """A member of a group that commits."""

    protocol = "classic"

    def begin(self) -> None:
        self.member = GroupMember(
            self.world, group_protocol=self.protocol, auto_commit_interval_ms=500, default_api_timeout_ms=5000
        )
        self.member.subscribe("t")

    def step(self) -> None:
        self.append()
        before = len(self.member.read)
        self.member.step()
        self.done += len(self.member.read) - before
        self.errors += self.member.faults
        self.member.faults.clear()

    def mend(self) -> None:
        """Subscribes again, at the end of the log."""
        self.member.subscribe("t")
        for state in self.member.subscription.states.values():
            state.reset(-1)


class NewMember(Member):
    """The same by KIP-848."""

    protocol = "consumer"


class Sharing(Program):
    """A member of a share group."""

    def begin(self) -> None:
        settings = ShareConsumerSettings(**self.world.settings({"group_id": "s"}))
        self.client = EmbeddedClient(self.world, settings)  # type: ignore[arg-type]
        self.polling = SharePolling(self.client.core, settings, lambda function, *given: function(*given))
        self.polling.subscribe(("t",), self.world.now)

    def step(self) -> None:
        self.append()
        self.polling.begin(self.world.now)
        try:
            self.done += len(list(self.polling.take(None, self.world.now)))
            self.polling.commit(self.world.now, self.world.now + 10.0)
        finally:
            self.polling.end(self.world.now)
        self.polling.arrived = True

    def mend(self) -> None:
        self.polling.subscribe(("t",), self.world.now)
