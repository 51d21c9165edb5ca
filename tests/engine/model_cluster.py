"""A cluster in virtual time that keeps what Kafka keeps of idempotent producers, and misbehaves by a seed.

A `Log` is one partition: its leader, its batches, and how many of them are replicated. A move of the leader loses the
batches that are not replicated, and the producers' state with them, which is read off the log: for each producer id the
epoch and the last five batches. By these a repeat is found and a gap refused, as in Kafka's ProducerStateManager. A log
without any state takes every sequence (before 2.5: only 0; release.py says how others are refused).

A `Node` processes one request of a connection at a time. `trouble` is the probability that a Produce request meets a
fault: an error code for some partitions, before or after the append, or the end of the connection, before or after, or
while the request waits to be processed, or no answer at all.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any
from uuid import UUID

from kwire import protocol, records
from kwire._typing import NamedTuple
from kwire.engine.common.addresses import Address
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.release import Release
from tests.engine.world import Broker

TOPIC = "t"
TOPIC_ID = UUID(int=77)
REMEMBERED = 5
NOT_LEADER, REQUEST_TIMED_OUT, TOO_LARGE, AFTER_APPEND = 6, 7, 10, 20
OUT_OF_ORDER, DUPLICATE, FENCED = 45, 46, 47
BEFORE_THE_APPEND = (3, 5, 6, 7, 19, 56)
BEHIND_THE_APPEND = (7, 20)
MASK = 0x7FFFFFFF


class Stored(NamedTuple):
    """A batch in a log."""

    offset: int
    producer_id: int
    epoch: int
    first: int
    last: int
    values: list[bytes]


class Remembered:
    """What a log knows of one producer id."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[Stored] = deque(maxlen=REMEMBERED)


class Log:
    """One partition."""

    def __init__(self, leader: int, *, code_of_unknown: int) -> None:
        self.leader = leader
        self.leader_epoch = 0
        self.batches: list[Stored] = []
        self.replicated = 0
        self.producers: dict[int, Remembered] = {}
        self.code_of_unknown = code_of_unknown

    @property
    def end(self) -> int:
        return self.batches[-1].offset + len(self.batches[-1].values) if self.batches else 0

    @property
    def values(self) -> list[bytes]:
        return [value for batch in self.batches for value in batch.values]

    def append(self, read: Any) -> tuple[int, int]:
        """The error code and the offset."""
        header = read.batches[0]
        first, last = header.base_sequence, (header.base_sequence + header.count - 1) & MASK
        batch = Stored(self.end, header.producer_id, header.producer_epoch, first, last, read.values())
        if header.producer_id >= 0:
            code, offset = self.check(batch)
            if code or offset >= 0:
                return code, offset
            self.remember(batch)
        self.batches.append(batch)
        return 0, batch.offset

    def check(self, batch: Stored) -> tuple[int, int]:
        """The error code, and the offset of a batch that is there already."""
        known = self.producers.get(batch.producer_id)
        if known is None:
            return (self.code_of_unknown if batch.first else 0), -1
        if batch.epoch < known.epoch:
            return FENCED, -1
        if batch.epoch > known.epoch:
            return (OUT_OF_ORDER if batch.first else 0), -1
        for other in known.batches:
            if (other.first, other.last) == (batch.first, batch.last):
                return 0, other.offset
        if known.batches and batch.first != (known.batches[-1].last + 1) & MASK:
            return OUT_OF_ORDER, -1
        return 0, -1

    def remember(self, batch: Stored) -> None:
        known = self.producers.get(batch.producer_id)
        if known is None or known.epoch != batch.epoch:
            known = self.producers[batch.producer_id] = Remembered(batch.epoch)
        known.batches.append(batch)

    def replicate(self) -> None:
        self.replicated = len(self.batches)

    def move(self, leader: int) -> None:
        """Another leader, which has what was replicated."""
        if leader == self.leader:
            return
        self.leader = leader
        self.leader_epoch += 1
        del self.batches[self.replicated :]
        self.producers.clear()
        for batch in self.batches:
            if batch.producer_id >= 0:
                self.remember(batch)


class Cluster:
    """The logs, and what the nodes share."""

    def __init__(self, rng: random.Random, nodes: int, partitions: int, release: str) -> None:
        self.rng = rng
        self.release = release
        self.trouble = 0.0
        self.max_records = 1_000_000
        self.zombies = True
        self.repeats_are_errors = rng.random() < 0.3
        self.producer_ids = 1000
        code = getattr(Release.find(release, HANDLERS).code_of_unknown_producers, "code", 0)
        self.logs = [Log(rng.randrange(nodes), code_of_unknown=code) for _ in range(partitions)]
        self.addresses = {number: Address(f"n{number}", 9) for number in range(nodes)}
        self.nodes = [Node(self, number) for number in range(nodes)]

    def move_some(self) -> None:
        for log in self.logs:
            if self.rng.random() < 0.6:
                log.move(self.rng.randrange(len(self.nodes)))

    def look_again(self) -> None:
        """The metadata of each node is as it was when it last looked."""
        for node in self.nodes:
            if self.rng.random() < 0.5:
                node.look()


class Node(Broker):
    """One broker of the cluster."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        super().__init__(cluster.release, number, cluster.addresses[number])
        self.cluster = cluster
        self.brokers = dict(cluster.addresses)
        self.leaders: list[tuple[int, int]] = []
        self.handlers[0] = self.produce
        self.handlers[22] = self.init_producer_id
        self.look()

    def look(self) -> None:
        self.leaders = [(log.leader, log.leader_epoch) for log in self.cluster.logs]

    def topic(self, name: str) -> Any:
        row = protocol.MetadataResponse.MetadataResponseTopic
        return row(
            name=name,
            topic_id=TOPIC_ID,
            partitions=[
                row.MetadataResponsePartition(
                    partition_index=index, leader_id=leader, leader_epoch=epoch, replica_nodes=[leader], isr_nodes=[]
                )
                for index, (leader, epoch) in enumerate(self.leaders)
            ],
        )

    def init_producer_id(self, message: Any, version: int, now: float) -> Any:
        if self.cluster.rng.random() < self.cluster.trouble:
            return protocol.InitProducerIdResponse(error_code=14)
        self.cluster.producer_ids += 1
        return protocol.InitProducerIdResponse(
            producer_id=self.cluster.producer_ids, producer_epoch=self.cluster.rng.choice((0, 0, 32766, 32767))
        )

    def produce(self, message: Any, version: int, now: float) -> Any:
        made = protocol.ProduceResponse
        response = made(
            responses=[
                made.TopicProduceResponse(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partition_responses=[self.append(part, version) for part in topic.partition_data],
                )
                for topic in message.topic_data
            ]
        )
        return None if message.acks == 0 else response

    def append(self, part: Any, version: int) -> Any:
        row = protocol.ProduceResponse.TopicProduceResponse.PartitionProduceResponse
        rng, log = self.cluster.rng, self.cluster.logs[part.index]
        fault = rng.random() < self.cluster.trouble
        if log.leader != self.node_id:
            answer = row(index=part.index, error_code=NOT_LEADER, base_offset=-1)
            if version >= 10 and rng.random() < 0.5:
                answer.current_leader = row.LeaderIdAndEpoch(leader_id=log.leader, leader_epoch=log.leader_epoch)
            return answer
        if fault and rng.random() < 0.6:
            return row(index=part.index, error_code=rng.choice(BEFORE_THE_APPEND), base_offset=-1)
        read = records.decode(part.records)
        if len(read) > self.cluster.max_records:
            return row(index=part.index, error_code=TOO_LARGE, base_offset=-1)
        known = len(log.batches)
        code, offset = log.append(read)
        if fault and not code:
            return row(index=part.index, error_code=rng.choice(BEHIND_THE_APPEND), base_offset=-1)
        log.replicate()
        if not code and len(log.batches) == known and self.cluster.repeats_are_errors:
            return row(index=part.index, error_code=DUPLICATE, base_offset=-1)
        return row(index=part.index, error_code=code, base_offset=offset)
