"""`kwire copy` from cluster to cluster: each record once, however often the copy was killed on its way."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, records
from kwire.cli import copy_clusters
from kwire.engine.consumer.fetcher import HAND_OVER_RECORDS
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import started

PARTITIONS = 2
GROUP = "kwire.copy kwire-testing-cluster1/clicks"


@pytest.fixture
def old() -> Iterator[Broker]:
    with Broker(topics={"clicks": PARTITIONS}) as running:
        yield running


def fill(old: Broker, count: int, first: int = 0) -> None:
    with Producer(old.bootstrap_servers) as producer:
        for number in range(first, first + count):
            name = b"%d" % number
            producer.send(
                "clicks", name, key=name if number % 7 else None, partition=number % PARTITIONS,
                timestamp=1_700_000_000_000 + number, headers=[("n", name), ("none", None)],
            )  # fmt: skip


def committed(broker: Broker, topic: str = "clicks") -> list[list[tuple[object, ...]]]:
    """What a consumer that reads committed sees in each partition."""
    found: list[list[tuple[object, ...]]] = []
    with Consumer(broker.bootstrap_servers, isolation_level="read_committed") as consumer:
        for partition in range(PARTITIONS):
            place = TopicPartition(topic, partition)
            consumer.assign([place], at={place: "earliest"}, until={place: consumer.end_offsets([place])[place]})
            seen: list[tuple[object, ...]] = []
            while not consumer.done():
                seen += [(each.key, each.value, each.timestamp, list(each.headers)) for each in consumer.poll(1)]
            found.append(seen)
    return found


def of(broker: Broker, topic: str = "clicks") -> str:
    return f"kafka://{broker.bootstrap_servers}/{topic}"


def copy(kwire: Kwire, old: Broker, new: Broker, *more: str) -> str:
    outcome = kwire("copy", "--from", of(old), "--to", of(new), *more)
    assert outcome.code == 0, outcome.err
    return outcome.err


@contextmanager
def following(old: Broker, new: Broker) -> Iterator[subprocess.Popen[bytes]]:
    with started("copy", "--from", of(old), "--to", of(new), "--follow") as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.001)


def has_grown(broker: Broker, size: int) -> bool:
    return len(broker.record_set("clicks")) > size


def test_records_keep_partition_key_timestamp_and_headers(kwire: Kwire, old: Broker, broker: Broker) -> None:
    fill(old, 1000)
    assert copy(kwire, old, broker).startswith("1,000 records to clicks, ")
    assert broker.topics()["clicks"] == PARTITIONS
    assert committed(broker) == committed(old)
    assert [len(partition) for partition in committed(broker)] == [500, 500]


def test_a_second_run_takes_what_is_new(kwire: Kwire, old: Broker, broker: Broker) -> None:
    fill(old, 100)
    copy(kwire, old, broker)
    assert copy(kwire, old, broker).startswith("0 records")
    fill(old, 21, first=100)
    assert copy(kwire, old, broker).startswith("21 records")
    assert committed(broker) == committed(old)
    with Admin(broker.bootstrap_servers) as admin:
        assert {tp.partition for tp in admin.list_consumer_group_offsets(GROUP)} == {0, 1}


def test_a_copy_that_is_killed_again_and_again_loses_and_doubles_nothing(
    kwire: Kwire, old: Broker, broker: Broker
) -> None:
    broker.create_topic("clicks", PARTITIONS)
    for round_ in range(4):
        fill(old, 20_000, first=20_000 * round_)
        with following(old, broker) as process:
            wait_for(partial(has_grown, broker, len(broker.record_set("clicks"))))
            process.kill()
    copy(kwire, old, broker)
    assert committed(broker) == committed(old)


def test_aborted_records_are_not_copied(kwire: Kwire, old: Broker, broker: Broker) -> None:
    fill(old, 10)
    with Producer(old.bootstrap_servers, transactional_id="t") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("clicks", b"never", partition=0)
        producer.flush()
        producer.abort_transaction()
    assert copy(kwire, old, broker).startswith("10 records")
    assert copy(kwire, old, broker).startswith("0 records")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_what_comes_is_followed_until_ctrl_c_or_sigterm(old: Broker, broker: Broker, ending: signal.Signals) -> None:
    fill(old, 5)
    broker.create_topic("clicks", PARTITIONS)
    with following(old, broker) as process:
        assert process.stderr is not None
        wait_for(lambda: sum(map(len, committed(broker))) == 5)
        fill(old, 5, first=5)
        wait_for(lambda: sum(map(len, committed(broker))) == 10)
        os.kill(process.pid, ending)
        assert process.wait(10) == 130
        said = process.stderr.read().decode()
    assert said.startswith("10 records to clicks, ")
    assert said.endswith("; what is left is copied by the next run\n")
    assert committed(broker) == committed(old)


@contextmanager
def paused(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """It sees what happens meanwhile all at once."""
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


@pytest.mark.parametrize("records_since", [0, 2, 40])
def test_a_topic_that_is_made_anew_while_it_is_followed_ends_the_copy_in_words(
    old: Broker, broker: Broker, records_since: int
) -> None:
    fill(old, 10)
    broker.create_topic("clicks", PARTITIONS)
    with following(old, broker) as process:
        wait_for(lambda: sum(map(len, committed(broker))) == 10)
        before = committed(broker)
        with paused(process), Admin(old.bootstrap_servers) as admin:
            admin.delete_topics(["clicks"])
            admin.create_topics({"clicks": PARTITIONS})
            fill(old, records_since, first=100)
        assert process.wait(30) == 1
        assert process.stderr is not None
        assert "is of another topic of that name than the one that was copied" in process.stderr.read().decode()
    assert committed(broker) == before


def test_records_that_are_deleted_before_a_copy_that_follows_has_them_are_told_of(old: Broker, broker: Broker) -> None:
    fill(old, 10)
    broker.create_topic("clicks", PARTITIONS)
    with following(old, broker) as process:
        wait_for(lambda: sum(map(len, committed(broker))) == 10)
        with paused(process), Admin(old.bootstrap_servers) as admin:
            for first in range(10, 410, 100):  # the first of them are on their way already
                fill(old, 100, first=first)
            admin.delete_records({("clicks", 0): 150})
        last = committed(old)[0][-1]
        wait_for(lambda: committed(broker)[0][-1] == last)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10) == 130
        assert process.stderr is not None
        assert " to 149 are gone from the source" in process.stderr.read().decode()
    assert committed(broker)[0][-55:] == committed(old)[0]


def test_records_of_others_are_not_mixed_with_the_copy_unless_it_is_asked_for(
    kwire: Kwire, old: Broker, broker: Broker
) -> None:
    fill(old, 4)
    broker.create_topic("clicks", PARTITIONS)
    broker.append("clicks", records.encode([b"somebody else's"]), partition=1)
    refused = kwire("copy", "--from", of(old), "--to", of(broker))
    assert refused.code == 1
    assert "clicks:1 has records already, and no note of a copy: --start WHERE" in refused.err
    assert copy(kwire, old, broker, "--start", "earliest").startswith("4 records")
    assert copy(kwire, old, broker).startswith("0 records")


def test_a_copy_is_written_in_transactions_that_have_an_end(
    kwire: Kwire, old: Broker, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_clusters, "_TRANSACTION_RECORDS", 1)
    for partition in range(PARTITIONS):
        old.append("clicks", [b"v"] * HAND_OVER_RECORDS, partition=partition)
    broker.create_topic("clicks", PARTITIONS)
    assert copy(kwire, old, broker).startswith(f"{PARTITIONS * HAND_OVER_RECORDS:,} records")
    assert broker.request_count("EndTxn") > PARTITIONS


def test_a_copy_may_begin_later(kwire: Kwire, old: Broker, broker: Broker) -> None:
    fill(old, 10)
    assert copy(kwire, old, broker, "--start", "latest").startswith("0 records")
    other = kwire("copy", "--from", of(old), "--to", of(broker, "other"), "--start", "2023-11-14T22:13:20.006+00:00")
    assert other.err.startswith("4 records to other")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--start", "soon"), "--start 'soon': earliest, latest, -1h"),
        (("--from", "kafka://h:1/t"), "cannot be copied together with others"),
    ],
)
def test_what_cannot_be_meant(kwire: Kwire, old: Broker, arguments: tuple[str, ...], text: str) -> None:
    outcome = kwire("copy", "--from", of(old), "--to", "h:1/t", *arguments)
    assert (outcome.code, text in outcome.err) == (2, True), outcome.err


def test_a_topic_is_not_copied_to_itself_or_to_fewer_partitions(kwire: Kwire, old: Broker, broker: Broker) -> None:
    same = kwire("copy", "--from", of(old), "--to", of(old))
    assert (same.code, "are one topic, 'clicks'" in same.err) == (2, True)
    broker.create_topic("clicks", 1)
    fewer = kwire("copy", "--from", of(old), "--to", of(broker))
    assert (fewer.code, "'kwire topics alter clicks --partitions 2' adds the others" in fewer.err) == (1, True)


@pytest.mark.parametrize("records_since", [0, 20])
def test_a_topic_that_was_made_anew_is_told_from_the_one_that_was_copied(
    kwire: Kwire, old: Broker, broker: Broker, records_since: int
) -> None:
    fill(old, 10)
    copy(kwire, old, broker)
    with Admin(old.bootstrap_servers) as admin:
        admin.delete_topics(["clicks"])
        admin.create_topics({"clicks": PARTITIONS})
    fill(old, records_since)
    refused = kwire("copy", "--from", of(old), "--to", of(broker))
    assert (refused.code, "is of another topic of that name" in refused.err) == (1, True)


def test_records_that_are_gone_from_the_source_are_told_of(kwire: Kwire, old: Broker, broker: Broker) -> None:
    fill(old, 10)
    copy(kwire, old, broker)
    fill(old, 10, first=10)
    with Admin(old.bootstrap_servers) as admin:
        admin.delete_records({("clicks", 0): 7})
    said = copy(kwire, old, broker)
    assert said.splitlines()[0] == "kwire copy: clicks:0: 5 to 6 are gone from the source"
    assert said.splitlines()[1].startswith("8 records")


def test_each_cluster_may_have_settings_of_its_own(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    with Broker(topics={"clicks": PARTITIONS}, users={"alice": "secret"}) as old:
        config = tmp_path / "old.properties"
        config.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.username=alice\nsasl.password=secret\n"
        )
        config.chmod(0o600)
        assert copy(kwire, old, broker, "--from-config", str(config)).startswith("0 records")


def test_a_source_that_falls_silent_ends_the_copy_in_time(kwire: Kwire, old: Broker, broker: Broker) -> None:
    fill(old, 10)
    old.faults.mute("Fetch", times=None)
    outcome = kwire("copy", "--from", of(old), "--to", of(broker), "--timeout", "1")
    assert outcome.code == 1
    assert "no record of 'clicks' came within 1 s, before its end" in outcome.err
