"""A scripted broker of share groups, and a ShareConsumer's engine without a front."""

from __future__ import annotations

from collections import deque
from typing import Any
from uuid import UUID

from kwire import protocol, records
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.settings.clients import ShareConsumerSettings
from kwire.engine.share.acquired import kind_of
from kwire.engine.share.polling import SharePolling
from kwire.engine.share.records import ShareRecords
from tests.engine.world import HERE, Broker, World

IDS = {"t": UUID(int=1), "u": UUID(int=2)}
THERE = Address("b", 1)
FETCHED = protocol.ShareFetchResponse
TOLD = protocol.ShareAcknowledgeResponse
ROW = FETCHED.ShareFetchableTopicResponse.PartitionData
TOLD_ROW = TOLD.ShareAcknowledgeTopicResponse.PartitionData

Acks = dict[int, list[tuple[int, int, list[int]]]]


def acquired(
    partition: int, first: int, last: int, *, times: int = 1, data: bytes | None = None, leave_out: tuple[int, ...] = ()
) -> Any:
    """A row with the records `first` to `last`, all of them acquired."""
    if data is None:
        data = b"".join(
            records.encode([b"%d" % offset], base_offset=offset)
            for offset in range(first, last + 1)
            if offset not in leave_out
        )
    return ROW(
        partition_index=partition,
        records=data,
        acquired_records=[ROW.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=times)],
    )


class ShareBroker(Broker):
    """Assigns `assigned`; answers ShareFetch from `script`, ShareAcknowledge from `outcomes`, else with no error.

    A step of the script is a list of rows, a code for the whole, or "silence". `takes_s` has how long the next answers
    that say something are on their way.
    """

    def __init__(self, node_id: int = 0, address: Address = HERE, release: str = "4.4.0") -> None:
        super().__init__(release, node_id, address)
        self.topics = {"t": [0, 0]}
        self.assigned: dict[str, list[int]] = {"t": [0]}
        self.script: deque[Any] = deque()
        self.outcomes: deque[Any] = deque()
        self.heartbeats: list[Any] = []
        self.heartbeat_errors: deque[int] = deque()
        self.fetches: list[Any] = []
        self.acks: list[Any] = []
        self.lock_ms = 30_000
        self.takes_s: list[float] = []
        self.handlers |= {10: self.find_coordinator, 76: self.heartbeat, 78: self.fetch, 79: self.acknowledge}

    def find_coordinator(self, message: Any, version: int, now: float) -> Any:
        row = protocol.FindCoordinatorResponse.Coordinator
        return protocol.FindCoordinatorResponse(
            coordinators=[row(key=key, node_id=0, host=HERE.host, port=HERE.port) for key in message.coordinator_keys]
        )

    def heartbeat(self, message: Any, version: int, now: float) -> Any:
        self.heartbeats.append(message)
        made = protocol.ShareGroupHeartbeatResponse
        if self.heartbeat_errors:
            return made(error_code=self.heartbeat_errors.popleft())
        row = made.Assignment.TopicPartitions
        rows = [row(topic_id=IDS[name], partitions=numbers) for name, numbers in self.assigned.items()]
        return made(
            member_id=message.member_id,
            member_epoch=max(message.member_epoch, 1) if message.member_epoch >= 0 else -1,
            heartbeat_interval_ms=1000,
            assignment=made.Assignment(topic_partitions=rows),
        )

    def fetch(self, message: Any, version: int, now: float) -> Any:
        self.fetches.append(message)
        step = self.script.popleft() if self.script else []
        if step == "silence":
            return None
        if isinstance(step, int):
            return FETCHED(error_code=step)
        if not step:
            self.holds = message.max_wait_ms / 1000
        elif self.takes_s:
            self.holds = self.takes_s.pop(0)
        return FETCHED(
            acquisition_lock_timeout_ms=self.lock_ms,
            responses=[
                FETCHED.ShareFetchableTopicResponse(topic_id=IDS["t"], partitions=[*step, *self.answers(message, step)])
            ],
        )

    def answers(self, message: Any, step: list[Any]) -> list[Any]:
        """Rows for partitions that only acknowledge."""
        given = {row.partition_index for row in step}
        asked = {row.partition_index for topic in message.topics for row in topic.partitions}
        return [ROW(partition_index=number) for number in sorted(asked - given)]

    def acknowledge(self, message: Any, version: int, now: float) -> Any:
        self.acks.append(message)
        step = self.outcomes.popleft() if self.outcomes else 0
        if step == "silence":
            return None
        self.holds = self.takes_s.pop(0) if self.takes_s else 0.0
        if isinstance(step, int) and step:
            return TOLD(error_code=step)
        rows = [
            TOLD_ROW(partition_index=row.partition_index, error_code=(step or {}).get(row.partition_index, 0))
            for topic in message.topics
            for row in topic.partitions
        ]
        return TOLD(
            acquisition_lock_timeout_ms=self.lock_ms,
            responses=[TOLD.ShareAcknowledgeTopicResponse(topic_id=IDS["t"], partitions=rows)],
        )

    def topic(self, name: str) -> Any:
        row = super().topic(name)
        row.topic_id = IDS[name]
        return row


def acks_in(message: Any) -> Acks:
    """What a request acknowledges, by partition."""
    return {
        row.partition_index: [
            (batch.first_offset, batch.last_offset, list(batch.acknowledge_types))
            for batch in row.acknowledgement_batches
        ]
        for topic in message.topics
        for row in topic.partitions
        if row.acknowledgement_batches
    }


class Consumer:
    """Polls as a front does."""

    def __init__(self, *brokers: ShareBroker, **settings: Any) -> None:
        self.brokers = brokers
        addresses = {broker.node_id: broker.brokers[broker.node_id] for broker in brokers}
        for broker in brokers:
            broker.brokers = addresses
        peers = {address: brokers[index] for index, address in enumerate(addresses.values())}
        given = {"group_id": "g", "bootstrap_servers": [tuple(address) for address in peers], **settings}
        self.world = World(dict(peers), ShareConsumerSettings(**given))
        self.polling = SharePolling(self.world.core, self.world.core.settings, self.run)
        self.ran: list[Any] = []
        self.polling.subscribe(("t",), self.world.now)

    def run(self, function: Any, *given: Any) -> None:
        self.ran.append(given)

    def poll(self, seconds: float = 1.0, *, arrives: bool = True, max_records: int | None = None) -> ShareRecords:
        polling, world = self.polling, self.world
        polling.begin(world.now)
        until = world.now + seconds
        try:
            while not polling.ready() and world.now < until:
                world.run(min(until, world.now + 0.001))
            found = polling.take(max_records, world.now)
        finally:
            polling.end(world.now)
        polling.arrived = arrives
        return found

    def acknowledge(self, found: Any, kind: str) -> None:
        self.polling.acknowledge(list(found), kind_of(kind))

    def commit(self) -> Any:
        call = self.polling.commit(self.world.now, self.world.now + 60)
        self.world.run(lambda: call.done)
        return call.value()

    def close(self) -> None:
        done: list[float] = []
        self.polling.close(self.world.now, done.append)
        self.world.run(lambda: bool(done))


def offsets(found: ShareRecords) -> list[tuple[int, int]]:
    return [(record.partition, record.offset) for record in found]


T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
