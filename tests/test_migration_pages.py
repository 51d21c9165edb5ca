"""The programs of docs/from-*.md, theirs and kwire's in pairs, run on the embedded broker: both print the same."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, testing
from tests.snippets import run, snippets

PAGES = {"confluent-kafka": "confluent_kafka", "aiokafka": "aiokafka", "kafka-python": "kafka"}


def pairs() -> list[tuple[str, int]]:
    return [(peer, at) for peer in PAGES for at in range(len(snippets(f"docs/from-{peer}.md", "py")))]


def printed(code: str, capsys: pytest.CaptureFixture[str]) -> str:
    with testing.Broker(topics={"orders": 1, "bills": 1}) as broker:
        run(code, servers=broker.bootstrap_servers)
    return capsys.readouterr().out


@pytest.mark.parametrize(("peer", "at"), pairs())
def test_a_program_and_what_becomes_of_it_print_the_same(
    peer: str, at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(PAGES[peer])
    page = f"docs/from-{peer}.md"
    theirs, ours = snippets(page, "py"), snippets(page)
    assert len(theirs) == len(ours)
    before = printed(theirs[at], capsys)
    assert before
    assert printed(ours[at], capsys) == before


KEYS = [b"customer-%d" % number for number in range(50)]


def partitions_of_keys(servers: str, **settings: Any) -> list[int]:
    with Producer(servers, **settings) as producer:
        deliveries = [producer.send("orders", b"", key=key) for key in KEYS]
        return [delivery.result().partition for delivery in deliveries]


def test_keys_go_where_librdkafka_sends_them_only_with_its_partitioner() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with testing.Broker(topics={"orders": 6}) as broker:
        found: dict[bytes, int] = {}
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
        for key in KEYS:
            producer.produce(
                "orders", b"", key=key, on_delivery=lambda _, sent: found.update({sent.key(): sent.partition()})
            )
        producer.flush()
        theirs = [found[key] for key in KEYS]
        assert partitions_of_keys(broker.bootstrap_servers) != theirs
        assert partitions_of_keys(broker.bootstrap_servers, partitioner="consistent_random") == theirs


def test_keys_go_where_kafka_python_sends_them() -> None:
    kafka = pytest.importorskip("kafka")
    with testing.Broker(topics={"orders": 6}) as broker:
        producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        sent = [producer.send("orders", b"", key=key) for key in KEYS]
        assert partitions_of_keys(broker.bootstrap_servers) == [each.get().partition for each in sent]
        producer.close()


def test_a_loop_that_is_left_commits_the_record_in_hand_in_kafka_python_alone() -> None:
    kafka = pytest.importorskip("kafka")
    with testing.Broker(topics={"orders": 1}) as broker:
        servers = broker.bootstrap_servers
        with Producer(servers) as producer:
            producer.send_many("orders", [b"a", b"b", b"c"])
        theirs = kafka.KafkaConsumer(
            "orders", bootstrap_servers=servers, group_id="theirs", auto_offset_reset="earliest"
        )
        assert next(iter(theirs)).offset == 0  # the one record that it was given is committed
        theirs.close()
        with Consumer(servers, group_id="ours", auto_offset_reset="earliest") as ours:
            ours.subscribe(["orders"])
            for record in ours:
                if record.offset == 1:
                    break
        with Admin(servers) as admin:
            found = {group: admin.list_consumer_group_offsets(group) for group in ("theirs", "ours")}
        committed = {group: offsets[TopicPartition("orders", 0)].offset for group, offsets in found.items()}
        assert committed == {"theirs": 1, "ours": 1}
