"""The programs of docs/from-*.md, theirs and kwire's in pairs, run on one broker: both print the same. And what the
pages say of programs that look alike and do not do the same."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, testing
from tests.brokers import Cluster
from tests.registry.server import serving
from tests.snippets import run, snippets

PAGES = {"confluent-kafka": "confluent_kafka", "aiokafka": "aiokafka", "kafka-python": "kafka"}
WITH_SHARE_GROUPS = (4, 2)
_NAMES = re.compile(r'"(orders|bills|audit|billing)"')
_numbers = itertools.count(1)


def pairs() -> list[tuple[str, int]]:
    return [(peer, at) for peer in PAGES for at in range(len(snippets(f"docs/from-{peer}.md", "py")))]


def both(peer: str, at: int) -> tuple[str, str]:
    page = f"docs/from-{peer}.md"
    theirs, ours = snippets(page, "py"), snippets(page)
    assert len(theirs) == len(ours)
    return theirs[at], ours[at]


def needs_login(code: str) -> bool:
    return '"ca.pem"' in code


def may_be_run_on_apache_kafka(code: str) -> bool:
    """Not what needs a login; nor what asks for a topic just created, which the broker may not know yet."""
    return not needs_login(code) and "create_topics" not in code


def printed(code: str, servers: str, capsys: pytest.CaptureFixture[str]) -> str:
    with serving() as registry, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python's, of functions as serializers
        run(code.replace("http://localhost:8081", registry.url), servers=servers)
    return capsys.readouterr().out


@pytest.mark.parametrize(("peer", "at"), pairs())
def test_a_program_and_what_becomes_of_it_print_the_same(
    peer: str, at: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip(PAGES[peer])
    outcomes = []
    for code in both(peer, at):
        secured: dict[str, Any] = {"users": {"alice": "secret"}, "tls": True} if needs_login(code) else {}
        with testing.Broker(topics={"orders": 1, "bills": 1}, **secured) as broker:
            if secured:
                (tmp_path / "ca.pem").write_text(broker.ca_pem)
            code = code.replace('"ca.pem"', repr(str(tmp_path / "ca.pem")))
            outcomes.append(printed(code, broker.bootstrap_servers, capsys))
    assert outcomes[0]
    assert outcomes[0] == outcomes[1]


@pytest.mark.needs("transactions")
@pytest.mark.parametrize(("peer", "at"), [pair for pair in pairs() if may_be_run_on_apache_kafka("".join(both(*pair)))])
def test_on_apache_kafka_too(peer: str, at: int, kafka: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(PAGES[peer])
    if "ShareConsumer" in both(peer, at)[0] and kafka.release.number < WITH_SHARE_GROUPS:
        pytest.skip("the release has no share groups")
    outcomes = []
    for code in both(peer, at):
        mark = f"-{next(_numbers)}"
        with Admin(kafka.bootstrap_servers) as admin:
            admin.create_topics({f"orders{mark}": 1, f"bills{mark}": 1})
        code = _NAMES.sub(rf'"\1{mark}"', code).replace("orders-value", f"orders{mark}-value")
        outcomes.append(printed(code, kafka.bootstrap_servers, capsys).replace(mark, ""))
    assert outcomes[0]
    assert outcomes[0] == outcomes[1]


# -- what is different without an error ------------------------------------------------------------------------------

KEYS = [b"customer-%d" % number for number in range(50)]


@pytest.fixture
def servers() -> Iterator[str]:
    with testing.Broker(topics={"orders": 1, "six": 6}, auto_create_topics=True) as broker:
        yield broker.bootstrap_servers


def partitions_of_keys(servers: str, **settings: Any) -> list[int]:
    with Producer(servers, **settings) as producer:
        deliveries = [producer.send("six", b"", key=key) for key in KEYS]
        return [delivery.result().partition for delivery in deliveries]


def committed(servers: str, group: str) -> int | None:
    with Admin(servers) as admin:
        found = admin.list_consumer_group_offsets(group).get(TopicPartition("orders", 0))
    return None if found is None else found.offset


def test_keys_go_where_librdkafka_sends_them_only_with_its_partitioner(servers: str) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    found: dict[bytes, int] = {}
    producer = confluent_kafka.Producer({"bootstrap.servers": servers})
    for key in KEYS:
        producer.produce("six", b"", key=key, on_delivery=lambda _, sent: found.update({sent.key(): sent.partition()}))
    producer.flush()
    theirs = [found[key] for key in KEYS]
    assert partitions_of_keys(servers) != theirs
    assert partitions_of_keys(servers, partitioner="consistent_random") == theirs


def test_keys_go_where_kafka_python_sends_them(servers: str) -> None:
    kafka = pytest.importorskip("kafka")
    producer = kafka.KafkaProducer(bootstrap_servers=servers)
    sent = [producer.send("six", b"", key=key) for key in KEYS]
    assert partitions_of_keys(servers) == [each.get().partition for each in sent]
    producer.close()


def read_one_by_kwire(servers: str) -> None:
    with Consumer(servers, group_id="kwire", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["orders"])
        assert len(consumer.poll(timeout=5, max_records=1)) == 1


def read_one_by_confluent_kafka(servers: str) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    settings = {"bootstrap.servers": servers, "group.id": "confluent-kafka", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe(["orders"])
    message = consumer.poll()  # without a timeout: until there is one
    assert message.headers() is None
    consumer.close()


def read_one_by_kafka_python(servers: str) -> None:
    kafka = pytest.importorskip("kafka")
    consumer = kafka.KafkaConsumer(
        "orders", bootstrap_servers=servers, group_id="kafka-python", auto_offset_reset="earliest"
    )
    while not consumer.poll(timeout_ms=1000, max_records=1):
        pass
    consumer.close()


def read_one_by_aiokafka(servers: str) -> None:
    import asyncio

    aiokafka = pytest.importorskip("aiokafka")

    async def read() -> None:
        settings = {"bootstrap_servers": servers, "group_id": "aiokafka", "auto_offset_reset": "earliest"}
        async with aiokafka.AIOKafkaConsumer("orders", **settings) as consumer:
            while not await consumer.getmany(timeout_ms=1000, max_records=1):
                pass

    asyncio.run(read())


READERS: dict[str, tuple[Callable[[str], None], int | None]] = {
    "kwire": (read_one_by_kwire, 0),
    "confluent-kafka": (read_one_by_confluent_kafka, 1),
    "kafka-python": (read_one_by_kafka_python, 1),
    "aiokafka": (read_one_by_aiokafka, 1),
}


@pytest.mark.parametrize("client", READERS)
def test_what_the_last_poll_returned_is_committed_at_the_end_by_the_others_alone(client: str, servers: str) -> None:
    read, expected = READERS[client]
    with Producer(servers) as producer:
        producer.send_many("orders", [b"a", b"b", b"c"])
    read(servers)
    assert committed(servers, client) == expected


def test_a_loop_that_is_left_commits_the_record_in_hand_in_kafka_python_alone(servers: str) -> None:
    kafka = pytest.importorskip("kafka")
    with Producer(servers) as producer:
        producer.send_many("orders", [b"a", b"b", b"c"])
    theirs = kafka.KafkaConsumer("orders", bootstrap_servers=servers, group_id="theirs", auto_offset_reset="earliest")
    assert next(iter(theirs)).offset == 0  # the one record that it was given is committed
    theirs.close()
    with Consumer(servers, group_id="ours", auto_offset_reset="earliest") as ours:
        ours.subscribe(["orders"])
        for record in ours:
            if record.offset == 1:
                break
    assert [committed(servers, group) for group in ("theirs", "ours")] == [1, 1]


def test_a_consumer_of_librdkafka_creates_no_topic_and_one_of_kwire_does_unless_told_not_to(servers: str) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    theirs = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "theirs"})
    theirs.subscribe(["theirs"])
    assert "UNKNOWN_TOPIC_OR_PART" in str(theirs.poll(5).error())
    theirs.close()
    for topic, may_create in (("ours", True), ("not-ours", False)):
        with Consumer(servers, group_id=topic, allow_auto_create_topics=may_create) as consumer:
            consumer.subscribe([topic])
            consumer.poll(timeout=1.0)
    with Admin(servers) as admin:
        assert sorted(admin.list_topics()) == ["orders", "ours", "six"]
