"""Apache's own test tools on the embedded broker, unmodified: groups by every protocol, and transactions."""

from __future__ import annotations

import itertools
import random
import re
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from kwire.testing import Broker
from tests.testing.committed import committed, committed_values
from tests.testing.peers.java_tools import (
    CountWords,
    JavaTool,
    VerifiableConsumer,
    VerifiableShareConsumer,
    run,
    settle,
)
from tests.thorough import SOAK, THOROUGH
from tests.timing import PATIENT

pytestmark = [pytest.mark.wall_clock, pytest.mark.kafka]

RECORDS, PARTITIONS = 400, 4
ASSIGNORS = "org.apache.kafka.clients.consumer"
CLASSIC = {
    name: ("--session-timeout", "6000", "--assignment-strategy", f"{ASSIGNORS}.{name}Assignor")
    for name in ("Range", "RoundRobin", "Sticky", "CooperativeSticky")
}
KIP_848 = {
    f"KIP-848 {name}": ("--group-protocol", "consumer", "--group-remote-assignor", name)
    for name in ("uniform", "range")
}
MEMBERS = {**CLASSIC, **KIP_848}
IN_EVERY_RUN = ("Range", "CooperativeSticky", "KIP-848 uniform")


def broker_of(**options: int) -> Broker:
    fast = {"group_consumer_heartbeat_interval_ms": 200, "group_consumer_session_timeout_ms": 6000}
    return Broker(topics={"in": PARTITIONS, "out": 1}, **fast, **options)


def write(broker: Broker, folder: Path, count: int) -> None:
    run(folder, "VerifiableProducer", "--bootstrap-server", broker.bootstrap_servers, "--topic", "in",
        "--max-messages", str(count), "--throughput", "-1", "--repeating-keys", "10")  # fmt: skip


def ends(broker: Broker) -> list[int]:
    return [broker.offsets("in", partition=index)[1] for index in range(PARTITIONS)]


def described(broker: Broker, folder: Path, group: str) -> dict[int, int]:
    """The committed offset of each partition, as ConsumerGroupCommand shows it."""
    said = run(folder, "consumer.group.ConsumerGroupCommand", "--bootstrap-server", broker.bootstrap_servers,
               "--describe", "--group", group)  # fmt: skip
    rows = [line.split() for line in said.splitlines() if re.match(rf"{group}\s+in\s", line)]
    return {int(row[2]): int(row[3]) for row in rows if row[3] != "-"}


@pytest.mark.parametrize("members", MEMBERS if THOROUGH else IN_EVERY_RUN)
def test_members_share_a_topic_and_one_takes_over_from_the_other(members: str, tmp_path: Path) -> None:
    with broker_of() as broker, ExitStack() as running:
        start = (broker.bootstrap_servers, "in", "g", *MEMBERS[members])
        both = [running.enter_context(VerifiableConsumer(tmp_path, f"member-{n}", *start)) for n in range(2)]
        settle(both, PARTITIONS)
        write(broker, tmp_path, RECORDS)
        until = time.monotonic() + PATIENT
        while sum(each.consumed() for each in both) < RECORDS:
            assert time.monotonic() < until, [each.events()[-3:] for each in both]
            time.sleep(0.05)
        both[0].terminate()
        settle(both[1:], PARTITIONS)
        write(broker, tmp_path, RECORDS)
        both[1].wait_for(lambda member: sum(each.consumed() for each in both) >= 2 * RECORDS, "all is read")
        both[1].terminate()
        assert sum(each.consumed() for each in both) == 2 * RECORDS, "nothing was read again"
        assert all(event["success"] for each in both for event in each.events("offsets_committed"))
        assert described(broker, tmp_path, "g") == {n: end for n, end in enumerate(ends(broker)) if end}


def test_members_of_a_share_group_acknowledge_each_record_once(tmp_path: Path) -> None:
    with Broker(topics={"in": PARTITIONS}) as broker, ExitStack() as running:
        start = (broker.bootstrap_servers, "in", "shared")
        modes = ("auto", "sync", "async")
        members = [running.enter_context(VerifiableShareConsumer(tmp_path, mode, *start, mode)) for mode in modes]
        for each in members:
            each.wait_for(lambda member: bool(member.events("offset_reset_strategy_set")), "the group is set up")
        write(broker, tmp_path, 3 * RECORDS)
        until = time.monotonic() + PATIENT
        while sum(len(each.acknowledged()) for each in members) < 3 * RECORDS:
            assert time.monotonic() < until, [(len(each.acknowledged()), each.tail()[-300:]) for each in members]
            time.sleep(0.1)
        for each in members:
            each.terminate()
        acknowledged = sorted(place for each in members for place in each.acknowledged())
        assert acknowledged == [(index, offset) for index, end in enumerate(ends(broker)) for offset in range(end)]


def copier(broker: Broker, folder: Path, name: str, *arguments: str) -> JavaTool:
    """Copies from "in" to "out" in transactions of 20 records, some of which it aborts."""
    return JavaTool(
        folder, f"{name}-{time.monotonic_ns()}", "org.apache.kafka.tools.TransactionalMessageCopier",
        "--broker-list", broker.bootstrap_servers, "--input-topic", "in", "--output-topic", "out",
        "--input-partition", "0", "--transactional-id", name, "--consumer-group", "copiers",
        "--transaction-size", "20", "--enable-random-aborts", *arguments,
    )  # fmt: skip


@pytest.mark.parametrize("version", [1, 2])
def test_the_copier_of_transactions_copies_each_record_once(version: int, tmp_path: Path) -> None:
    with Broker(topics={"in": 1, "out": 1}, features={"transaction.version": version}) as broker:
        write(broker, tmp_path, RECORDS)
        with copier(broker, tmp_path, "copier", "--max-messages", str(RECORDS)) as running:
            running.finish()
        copied = committed_values(broker.record_set("out"))
        assert copied == committed_values(broker.record_set("in"))
        assert described(broker, tmp_path, "copiers") == {0: RECORDS}
        listed = run(tmp_path, "TransactionsCommand", "--bootstrap-server", broker.bootstrap_servers, "list")
        assert re.search(r"copier\s+1\s+\d+\s+Complete(Commit|Abort)", listed)


@pytest.mark.parametrize("version", [1, 2])
def test_the_copier_copies_each_record_once_while_nodes_die(version: int, tmp_path: Path) -> None:
    count, rng, kills = 2000, random.Random(version), 0
    features = {"transaction.version": version}
    with Broker(nodes=3, topics={"in": 1, "out": 2}, default_replication_factor=3, features=features) as broker:
        written = [b"%d" % n for n in range(count)]
        broker.append("in", written)
        with copier(broker, tmp_path, "copier", "--max-messages", str(count)) as running:
            while not running.has_ended:
                dead = rng.choice(broker.nodes)
                broker.kill(dead)
                kills += 1
                time.sleep(0.3)
                broker.revive(dead)
                time.sleep(0.2)
                assert kills < 100, running.tail()
            running.finish()
        copied = [value for index in range(2) for value in committed_values(broker.record_set("out", partition=index))]
        assert sorted(copied, key=lambda value: int(value or b"-1")) == written


@pytest.mark.timeout(200)
@pytest.mark.skipif(not SOAK, reason="40 s each: `make test-soak`")
@pytest.mark.parametrize("version", [1, 2])
def test_copiers_that_share_a_group_copy_each_record_once_though_they_and_nodes_are_killed(
    version: int, tmp_path: Path
) -> None:
    count, rng, places = 12_000, random.Random(version), range(4)
    options = {"transaction_abort_timed_out_transaction_cleanup_interval_ms": 300, "default_replication_factor": 3}
    with (
        Broker(nodes=3, topics={"in": 4, "out": 4}, features={"transaction.version": version}, **options) as broker,
        ExitStack() as running,
    ):
        for index in places:
            broker.append("in", [b"%d" % n for n in range(count) if n % 4 == index], partition=index)

        def start(name: str) -> JavaTool:
            told = ("--group-mode", "--transaction-timeout", "3000")
            return running.enter_context(copier(broker, tmp_path, name, *told))

        copiers = {name: start(name) for name in ("one", "two", "three")}
        until = time.monotonic() + 150
        for kills in itertools.count():
            time.sleep(2)
            if len(broker.values("out", committed=True)) >= count:
                break
            assert time.monotonic() < until, [each.tail() for each in copiers.values()]
            # A copier without partitions ends by itself.
            copiers |= {name: start(name) for name, each in copiers.items() if each.has_ended}
            if kills < 6:
                name = rng.choice(list(copiers))
                copiers[name].kill()
                copiers[name] = start(name)
                dead = rng.choice(broker.nodes)
                broker.kill(dead)
                time.sleep(0.3)
                broker.revive(dead)
        copied = [value for index in places for value in committed_values(broker.record_set("out", partition=index))]
        assert sorted(copied, key=lambda value: int(value or b"-1")) == [b"%d" % n for n in range(count)]
        assert copied == broker.values("out", committed=True)


def test_streams_count_exactly_once_though_one_of_two_is_killed(tmp_path: Path) -> None:
    words = [b"word %d" % (n % 7) for n in range(RECORDS)]
    with Broker(
        topics={"words": 4, "counts": 1}, transaction_abort_timed_out_transaction_cleanup_interval_ms=500
    ) as broker:
        with CountWords(tmp_path, "one", broker.bootstrap_servers, "words", "counts") as one:
            with CountWords(tmp_path, "other", broker.bootstrap_servers, "words", "counts") as other:
                for n, word in enumerate(words):
                    broker.append("words", [word], partition=n % 4)
                    if n == RECORDS // 2:
                        wait_for_counts(broker, words[: n + 1], other)
                        other.kill()
            wait_for_counts(broker, words, one)
            one.terminate()


def wait_for_counts(broker: Broker, words: list[bytes], running: CountWords) -> None:
    """The newest committed count of each word becomes the right one; one that is too high would stay so."""
    wanted = {word: b"%d" % words.count(word) for word in set(words)}
    running.wait_for(lambda _: newest_counts(broker) == wanted, f"{wanted} are counted")


def newest_counts(broker: Broker) -> dict[bytes | None, bytes | None]:
    return dict(committed(broker.record_set("counts")))
