"""Groups and transactions of other Python clients on the embedded broker: consume, transform, produce.

Two members of each client's own kind share the group; what one transaction aborted is copied by a later one.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import Producer as ConfluentProducer
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import OffsetAndMetadata

from kwire.testing import Broker
from tests.testing.committed import committed_values
from tests.timing import PATIENT

pytestmark = pytest.mark.nightly  # each peer with each release: minutes

RECORDS, PARTITIONS = 120, 4
RELEASES = ["4.4.0", "2.8.2", "0.11.0.3"]
Progress = Callable[[], int]


def confluent(broker: Broker, copied: Progress) -> None:
    common = {"bootstrap.servers": broker.bootstrap_servers}
    producer = ConfluentProducer({**common, "transactional.id": "copier"})
    producer.init_transactions(PATIENT)
    settings = {**common, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    members = [ConfluentConsumer({**settings, "session.timeout.ms": 6000}) for _ in range(2)]
    for member in members:
        member.subscribe(["in"])
    aborts = itertools.count()
    for member in _in_turn(members, copied):
        found = [message for message in member.consume(10, 0.1) if not message.error()]
        if not found:
            continue
        before = {(message.topic(), message.partition()): message for message in reversed(found)}
        producer.begin_transaction()
        for message in found:
            producer.produce("out", message.value())
        producer.send_offsets_to_transaction(
            member.position(member.assignment()), member.consumer_group_metadata(), PATIENT
        )
        if next(aborts) == 1:
            producer.flush(PATIENT)
            producer.abort_transaction(PATIENT)
            for message in before.values():
                member.seek(_confluent_place(message))
        else:
            producer.commit_transaction(PATIENT)
    for member in members:
        member.close()


def _confluent_place(message: Any) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(message.topic(), message.partition(), message.offset())


def kafka_python(broker: Broker, copied: Progress) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id="copier")
    producer.init_transactions()
    members = [
        KafkaConsumer(
            "in",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6000,
        )
        for _ in range(2)
    ]
    aborts = itertools.count()
    for member in _in_turn(members, copied):
        found = member.poll(100, max_records=10)
        if not found:
            continue
        producer.begin_transaction()
        for message in itertools.chain.from_iterable(found.values()):
            producer.send("out", message.value)
        offsets = {place: OffsetAndMetadata(got[-1].offset + 1, "", -1) for place, got in found.items()}
        producer.send_offsets_to_transaction(offsets, "g")
        if next(aborts) == 1:
            producer.flush()
            producer.abort_transaction()
            for place, got in found.items():
                member.seek(place, got[0].offset)
        else:
            producer.commit_transaction()
    for member in members:
        member.close()
    producer.close()


def aiokafka(broker: Broker, copied: Progress) -> None:
    asyncio.run(_aiokafka(broker, copied))


async def _aiokafka(broker: Broker, copied: Progress) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, transactional_id="copier")
    await producer.start()
    members = [
        AIOKafkaConsumer(
            "in",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6000,
        )
        for _ in range(2)
    ]
    await asyncio.gather(*(member.start() for member in members))
    aborts = itertools.count()
    for member in _in_turn(members, copied):
        found = await member.getmany(timeout_ms=100, max_records=10)
        if not found:
            continue
        await producer.begin_transaction()
        for message in itertools.chain.from_iterable(found.values()):
            await producer.send("out", message.value)
        await producer.send_offsets_to_transaction({place: got[-1].offset + 1 for place, got in found.items()}, "g")
        if next(aborts) == 1:
            await producer.abort_transaction()
            for place, got in found.items():
                member.seek(place, got[0].offset)
        else:
            await producer.commit_transaction()
    for member in members:
        await member.stop()
    await producer.stop()


def _in_turn(members: list[Any], copied: Progress) -> Any:
    until = time.monotonic() + PATIENT
    for member in itertools.cycle(members):
        if copied() >= RECORDS:
            return
        assert time.monotonic() < until, f"{copied()} of {RECORDS} were copied within {PATIENT} s"
        yield member


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("copy", [confluent, kafka_python, aiokafka], ids=lambda copy: copy.__name__)
def test_a_group_copies_in_transactions(copy: Callable[[Broker, Progress], None], release: str) -> None:
    with Broker(release=release, topics={"in": PARTITIONS, "out": 1}) as broker:
        for n in range(RECORDS):
            broker.append("in", [b"%d" % n], partition=n % PARTITIONS)
        copy(broker, lambda: len(committed_values(broker.record_set("out"))))
        copied = committed_values(broker.record_set("out"))
        assert sorted(copied, key=lambda value: int(value or b"-1")) == [b"%d" % n for n in range(RECORDS)]
        aborted = [value for value in broker.values("out") if value is not None]
        assert len(aborted) > RECORDS, "one transaction was aborted"
