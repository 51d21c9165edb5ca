"""Where a producer puts its records, key by key, beside the producers that its users come from.

librdkafka and kafka-python run as themselves on the embedded broker; Java in
`tests/testing/peers/test_java_partitioners.py`.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from kwire import Producer, aio, errors, partitioners, records
from kwire._codec import SentRows
from kwire.engine.settings.values import PARTITIONERS
from kwire.testing import Broker
from tests.timing import PATIENT

COUNTS = {"one": 1, "seven": 7, "twelve": 12, "many": 100}
LIBRDKAFKAS = ["random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"]
BY_CHANCE = {
    "random": lambda key: True,
    "consistent_random": lambda key: not key,
    "murmur2_random": lambda key: key is None,
    "fnv1a_random": lambda key: key is None,
    "default": lambda key: key is None,
}
"""Keys whose partition no hash decides; none by the others."""


def sample_keys() -> list[bytes | None]:
    chance = random.Random(5)
    some = [chance.randbytes(chance.randrange(1, 40)) for _ in range(250)]
    return [None, b"", b"\0", *some, *(b"customer-%d" % number for number in range(50))]


KEYS = sample_keys()


def by_kwire(broker: Broker, topic: str, keys: Sequence[bytes | None], **settings: Any) -> list[int]:
    with Producer(broker.bootstrap_servers, **settings) as producer:
        deliveries = [producer.send(topic, b"v", key=key) for key in keys]
        return [delivery.result(PATIENT).partition for delivery in deliveries]


def by_confluent(broker: Broker, topic: str, keys: Sequence[bytes | None], **settings: Any) -> list[int]:
    confluent = pytest.importorskip("confluent_kafka")
    found: dict[int, int] = {}

    def on_delivery(number: int) -> Callable[[Any, Any], None]:
        def note(error: Any, message: Any) -> None:
            assert error is None
            found[number] = message.partition()

        return note

    producer = confluent.Producer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    for number, key in enumerate(keys):
        producer.produce(topic, b"v", key=key, on_delivery=on_delivery(number))
    assert producer.flush(PATIENT) == 0
    return [found[number] for number in range(len(keys))]


@pytest.mark.parametrize("name", LIBRDKAFKAS)
def test_librdkafkas_names_choose_as_librdkafka(name: str) -> None:
    by_chance = BY_CHANCE.get(name, lambda key: False)
    with Broker(topics=COUNTS) as broker:
        for topic, count in COUNTS.items():
            ours = by_kwire(broker, topic, KEYS, partitioner=name)
            theirs = by_confluent(broker, topic, KEYS, partitioner=name)
            decided = [number for number, key in enumerate(KEYS) if not by_chance(key)]
            assert [ours[number] for number in decided] == [theirs[number] for number in decided]
            assert set(ours) <= set(range(count))


def test_confluents_default_is_consistent_random_and_not_ours() -> None:
    with Broker(topics=COUNTS) as broker:
        keyed = [key for key in KEYS if key]
        theirs = by_confluent(broker, "twelve", keyed)
        assert by_kwire(broker, "twelve", keyed, partitioner="consistent_random") == theirs
        assert by_kwire(broker, "twelve", keyed) != theirs


def test_kafka_pythons_default_is_ours() -> None:
    kafka = pytest.importorskip("kafka")
    keyed = [key for key in KEYS if key is not None]
    with Broker(topics=COUNTS) as broker:
        producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        futures = [producer.send("seven", b"v", key=key) for key in keyed]
        theirs = [future.get(PATIENT).partition for future in futures]
        producer.close()
        assert by_kwire(broker, "seven", keyed) == theirs


@pytest.mark.parametrize("name", PARTITIONERS)
def test_what_no_hash_decides_reaches_all_partitions(name: str) -> None:
    by_chance = {**dict.fromkeys(("uniform_sticky", "round_robin"), lambda key: True), **BY_CHANCE}
    chosen = by_chance.get(name, lambda key: False)
    with Broker(topics={"seven": 7}) as broker, Producer(broker.bootstrap_servers, partitioner=name) as producer:
        for key in (None, b"", b"key"):
            found = {producer.send("seven", b"v" * 20_000, key=key).result(PATIENT).partition for _ in range(150)}
            assert len(found) == (7 if chosen(key) else 1), key


def test_round_robin_takes_partitions_in_turn_for_each_topic() -> None:
    with (
        Broker(topics={"a": 3, "b": 5}) as broker,
        Producer(broker.bootstrap_servers, partitioner="round_robin", batch_size=200) as producer,
    ):
        producer.send("a", b"v").result(PATIENT)
        producer.send("b", b"v").result(PATIENT)
        sent = {topic: [producer.send(topic, b"v" * 50, key=b"key") for _ in range(60)] for topic in ("a", "b")}
        for topic, count in (("a", 3), ("b", 5)):
            found = [delivery.result(PATIENT).partition for delivery in sent[topic]]
            assert found == [(found[0] + number) % count for number in range(60)]


def by_many(producer: Producer, keys: Sequence[bytes | None]) -> list[int]:
    deliveries = producer.send_many("seven", [(b"v", key) for key in keys])
    return [delivery.result(PATIENT).partition for delivery in deliveries]


def by_columns(producer: Producer, keys: Sequence[bytes | None]) -> list[int]:
    deliveries = producer.send_many("seven", pa.table({"value": [b"v"] * len(keys), "key": list(keys)}))
    return [delivery.result(PATIENT).partition for delivery in deliveries]


def by_rows(producer: Producer, keys: Sequence[bytes | None]) -> list[int]:
    """As Spark's writer."""
    values = [b"%d" % number for number in range(len(keys))]
    SentRows(producer._accumulator).send(["seven"], pa.record_batch({"value": values, "key": list(keys)}))
    producer.flush(PATIENT)
    return []


def partition_of_each(broker: Broker, count: int) -> list[int]:
    """Of the values b"0", b"1" and so on."""
    found = {}
    for partition in range(7):
        for value in records.decode(broker.record_set("seven", partition=partition)).values():
            found[int(value or b"")] = partition
    return [found[number] for number in range(count)]


def spelt(key: bytes | None, numbers: tuple[int, ...], available: tuple[int, ...]) -> int:
    """A callable as kafka-python's and aiokafka's users have one."""
    assert numbers == available == tuple(range(7))
    return partitioners.fnv1a(key or b"", len(numbers))


@pytest.mark.parametrize("partitioner", ["fnv1a", spelt], ids=["by name", "by a callable"])
@pytest.mark.parametrize("way", [by_many, by_columns, by_rows])
def test_every_way_to_send_asks_the_partitioner(way: Any, partitioner: Any) -> None:
    with Broker(topics={"seven": 7}) as broker:
        with Producer(broker.bootstrap_servers, partitioner=partitioner) as producer:
            found = way(producer, KEYS) or partition_of_each(broker, len(KEYS))
    assert found == [partitioners.fnv1a(key or b"", 7) for key in KEYS]


@pytest.mark.parametrize("partitioner", ["consistent_random", spelt], ids=["by name", "by a callable"])
def test_so_does_the_producer_on_an_event_loop(partitioner: Any) -> None:
    keyed = [key for key in KEYS if key]

    async def main(servers: str) -> list[int]:
        async with aio.Producer(servers, partitioner=partitioner) as producer:
            deliveries = [producer.send("seven", b"v", key=key) for key in keyed]
            return [(await delivery).partition for delivery in deliveries]

    with Broker(topics={"seven": 7}) as broker:
        found = asyncio.run(main(broker.bootstrap_servers))
    expected = partitioners.crc32 if partitioner == "consistent_random" else partitioners.fnv1a
    assert found == [expected(key, 7) for key in keyed]


class OddOnes:
    """A partitioner as an object, which says no word about every other key."""

    def __call__(self, key: bytes | None, numbers: Sequence[int], available: Sequence[int]) -> int | None:
        return None if key is None or len(key) % 2 == 0 else numbers[-1]


def test_a_callable_may_leave_the_choice_to_the_producer() -> None:
    with Broker(topics={"seven": 7}) as broker, Producer(broker.bootstrap_servers, partitioner=OddOnes()) as producer:
        for _ in range(2):  # before the partitions are known, and after
            deliveries = [producer.send("seven", b"v" * 5000, key=key) for key in [b"abc", None, b"ab"] * 50]
            found = [delivery.result(PATIENT).partition for delivery in deliveries]
            assert set(found[0::3]) == {6}
            assert len(set(found[1::3])) > 1


def test_a_named_partition_is_not_asked_for() -> None:
    def refuse(key: object, numbers: object, available: object) -> int:
        raise AssertionError("asked")

    with Broker(topics={"seven": 7}) as broker, Producer(broker.bootstrap_servers, partitioner=refuse) as producer:
        for _ in range(2):
            assert producer.send("seven", b"v", partition=3).result(PATIENT).partition == 3


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (7, "the partitioner returned 7 for a record of seven, which has the partitions 0 to 6: expected one of them"),
        (-1, "returned -1 for a record"),
        (2**70, f"returned {2**70} for a record"),
        ("3", "returned '3'"),
        (True, "returned True"),
        (1.0, "returned 1.0"),
    ],
)
def test_what_is_no_partition_fails_its_record_alone(returned: Any, words: str) -> None:
    def choose(key: bytes, numbers: Sequence[int], available: Sequence[int]) -> Any:
        return returned if key == b"bad" else 2

    with Broker(topics={"seven": 7}) as broker, Producer(broker.bootstrap_servers, partitioner=choose) as producer:
        early = [producer.send("seven", b"v", key=key) for key in (b"good", b"bad", b"good")]
        assert early[0].result(PATIENT).partition == early[2].result(PATIENT).partition == 2
        with pytest.raises(errors.ConfigError, match=words):
            early[1].result(PATIENT)
        with pytest.raises(errors.ConfigError, match=words):
            producer.send("seven", b"v", key=b"bad")
        assert producer.send("seven", b"v", key=b"good").result(PATIENT).partition == 2
        assert producer._accumulator.is_empty


def test_what_a_callable_raises_comes_out_of_send_or_is_the_cause() -> None:
    fault = RuntimeError("no such customer")

    def choose(key: bytes, numbers: Sequence[int], available: Sequence[int]) -> int:
        raise fault

    with Broker(topics={"seven": 7}) as broker, Producer(broker.bootstrap_servers, partitioner=choose) as producer:
        error = producer.send("seven", b"v").exception(PATIENT)
        assert isinstance(error, errors.ConfigError)
        assert error.__cause__ is fault
        with pytest.raises(RuntimeError, match="no such customer"):
            producer.send("seven", b"v")
        with Producer(broker.bootstrap_servers) as other:
            other.send("seven", b"v").result(PATIENT)


def test_records_that_come_while_the_partitions_become_known_are_asked_for_too() -> None:
    """Threads send while the callable, which lets them run, is asked for those that waited."""
    asked: Counter[bytes] = Counter()

    def choose(key: bytes, numbers: Sequence[int], available: Sequence[int]) -> int:
        asked[key] += 1
        threading.Event().wait(0.001)
        return key[0] % len(numbers)

    with Broker(topics={"seven": 7}) as broker:
        broker.faults.delay("Metadata", 0.2)
        with Producer(broker.bootstrap_servers, partitioner=choose, linger_ms=1) as producer:
            found: list[tuple[bytes, Any]] = []

            def send(number: int) -> None:
                for count in range(60):
                    key = bytes([number * 60 + count])
                    found.append((key, producer.send("seven", b"v", key=key)))

            threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [key for key, sent in found if sent.result(PATIENT).partition != key[0] % 7] == []
    assert len(found) == 240
    assert set(asked) == {bytes([number]) for number in range(240)}


def test_a_producer_pickles_with_a_callable_of_a_module() -> None:
    with Producer("127.0.0.1:1", partitioner=spelt) as producer, pickle.loads(pickle.dumps(producer)) as copy:
        assert copy.settings.partitioner is spelt
