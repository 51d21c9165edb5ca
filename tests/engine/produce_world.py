"""A producer in virtual time: the sender over the world's core, and leaders that append as real ones do.

A `Leader` keeps a log per partition, checks sequences as a broker does (a repeat is answered with the first offset, a
gap with OUT_OF_ORDER_SEQUENCE_NUMBER), and follows a script of faults: each Produce request takes the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kwire import protocol, records
from kwire._codec import Delivery, ProducerBase
from kwire.engine.common.addresses import Address
from kwire.engine.producer.sender import Sender
from kwire.engine.settings.clients import ProducerSettings
from kwire.fronts.producer import new_accumulator
from tests.engine.world import HANG_UP, HERE, Answer, Broker, World

TOPIC_IDS = {"t": UUID(int=7), "u": UUID(int=8)}
Fault = Callable[["Leader", Any], Any]

UNKNOWN_TOPIC_ID = 100


class Leader(Broker):
    """A broker that appends. `script` holds the faults of the next Produce requests, None for none."""

    def __init__(self, release: str = "4.4.0", node_id: int = 0, address: Address = HERE) -> None:
        super().__init__(release, node_id, address)
        self.logs: dict[tuple[str, int], list[Any]] = {}
        self.state: dict[tuple[str, int, int], tuple[int, int, list[tuple[int, int, int]]]] = {}
        self.script: list[Any] = []
        self.producer_ids = 100
        self.init_errors: list[int] = []
        self.appended_batches: list[tuple[str, int, Any]] = []
        self.throttle = 0
        self.most_records = 1_000_000
        self.handlers[0] = self.produce
        self.handlers[22] = self.init_producer_id
        self.closes = False

    def topic(self, name: str) -> Any:
        row = super().topic(name)
        row.topic_id = TOPIC_IDS.get(name, UUID(int=0))
        return row

    def answer(self, frame: bytes, now: float) -> Answer:
        answer = super().answer(frame, now)
        if self.closes:
            self.closes = False
            return HANG_UP
        return answer

    def init_producer_id(self, message: Any, version: int, now: float) -> Any:
        if self.init_errors:
            return protocol.InitProducerIdResponse(error_code=self.init_errors.pop(0))
        self.producer_ids += 1
        return protocol.InitProducerIdResponse(producer_id=self.producer_ids)

    def produce(self, message: Any, version: int, now: float) -> Any:
        fault = self.script.pop(0) if self.script else None
        if fault == "unseen":  # the connection dies before the broker reads
            self.closes = True
            return None
        made = protocol.ProduceResponse
        names = {topic_id: name for name, topic_id in TOPIC_IDS.items()}
        rows = []
        for topic in message.topic_data:
            name = topic.name if version < 13 else names.get(topic.topic_id)
            if name is None:
                row = made.TopicProduceResponse.PartitionProduceResponse
                unknown = [row(index=part.index, error_code=UNKNOWN_TOPIC_ID) for part in topic.partition_data]
                rows.append(made.TopicProduceResponse(topic_id=topic.topic_id, partition_responses=unknown))
                continue
            partitions = [self.append(name, part, fault) for part in topic.partition_data]
            rows.append(made.TopicProduceResponse(name=name, topic_id=topic.topic_id, partition_responses=partitions))
        if fault == "unheard":  # it dies after the append
            self.closes = True
            return None
        if message.acks == 0:
            return None
        return made(responses=rows, throttle_time_ms=self.throttle)

    def append(self, topic: str, part: Any, fault: Any) -> Any:
        row = protocol.ProduceResponse.TopicProduceResponse.PartitionProduceResponse
        if isinstance(fault, int):
            return row(index=part.index, error_code=fault, base_offset=-1, error_message="as the script says")
        read = records.decode(part.records)
        if callable(fault) and (code := fault(self, read)):
            return row(index=part.index, error_code=code, base_offset=-1)
        if len(read) > self.most_records:
            return row(index=part.index, error_code=10, base_offset=-1)
        log = self.logs.setdefault((topic, part.index), [])
        header = read.batches[0]
        code, offset = self.check_sequence(topic, part.index, header, len(log))
        if code or offset is not None:
            return row(index=part.index, error_code=code, base_offset=-1 if offset is None else offset)
        base = len(log)
        log.extend(read)
        self.appended_batches.append((topic, part.index, header))
        return row(index=part.index, base_offset=base)

    def check_sequence(self, topic: str, partition: int, header: Any, end: int) -> tuple[int, int | None]:
        """The error code, or the offset of a batch that is there already."""
        if header.producer_id < 0:
            return 0, None
        key = (topic, partition, header.producer_id)
        epoch, following, recent = self.state.get(key, (header.producer_epoch, 0, []))
        if header.producer_epoch < epoch:
            return 47, None
        if header.producer_epoch > epoch:
            epoch, following, recent = header.producer_epoch, 0, []
        for sequence, count, offset in recent:
            if (sequence, count) == (header.base_sequence, header.count):
                return 0, offset
        if header.base_sequence != following:
            return 45, None
        recent = [*recent[-4:], (header.base_sequence, header.count, end)]
        self.state[key] = (epoch, following + header.count, recent)
        return 0, None

    def values(self, topic: str = "t", partition: int | None = None) -> list[bytes]:
        """What was appended, in order, of one partition or of all."""
        return [
            record.value
            for (name, number), log in sorted(self.logs.items())
            if name == topic and partition in (None, number)
            for record in log
        ]

    def produced(self) -> list[tuple[int, Any]]:
        """The Produce requests that came in, with their versions."""
        return [(version, message) for key, version, message in self.requests if key == 0]


class Sending(ProducerBase):
    """The producer without its reactor."""


class ProducerWorld(World):
    """One leader of everything, unless more are given; `producer.send` uses the world's clock."""

    def __init__(self, *leaders: Leader, topics: dict[str, list[int]] | None = None, **options: Any) -> None:
        self.leaders = leaders or (Leader(),)
        places = {leader.node_id: leader.brokers[leader.node_id] for leader in self.leaders}
        for leader in self.leaders:
            leader.brokers = places
            leader.topics = {"t": [self.leaders[0].node_id]} if topics is None else topics
        options.setdefault("bootstrap_servers", [tuple(address) for address in places.values()])
        settings = ProducerSettings(**options)
        super().__init__({places[leader.node_id]: leader for leader in self.leaders}, settings)
        self.warnings: list[str] = []
        self.accumulator = new_accumulator(settings, 5, self.core.after_step)
        self.accumulator.run_callback = lambda function, delivery: function(delivery)
        self.sender = Sender(self.core, settings, self.accumulator, self.warnings.append)
        self.accumulator.on_attention = lambda: self.sender.pump(self.now)
        self.producer = Sending()
        self.producer._accumulator = self.accumulator

    @property
    def leader(self) -> Leader:
        return self.leaders[0]

    def send(self, value: bytes | None, topic: str = "t", **more: Any) -> Delivery:
        self.accumulator.set_clock(self.now, int(self.now * 1000))
        return self.producer.send(topic, value, **more)

    def complete(self, *deliveries: Delivery) -> list[int]:
        """Plays until their results are known; their offsets."""
        self.run(lambda: all(delivery.done() for delivery in deliveries))
        return [delivery.result().offset for delivery in deliveries]

    def connect(self, connection: Any) -> None:
        self.accumulator.set_clock(self.now, int(self.now * 1000))
        super().connect(connection)
