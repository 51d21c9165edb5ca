"""Partitions that are taken over while their offsets are in an open transaction: the new member waits (KIP-447)."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

import kwire
from kwire import TopicPartition
from tests.brokers import Cluster
from tests.brokers.groups.members import SESSION_MS
from tests.thorough import SOAK

PARTITIONS: Final = 2
RECORDS: Final = 20
IN_TRANSACTION: Final = 8
TIMES_OUT_MS: Final = 12_000
WITHIN_S: Final = 60.0

PROTOCOLS: Final = [("4.4.0", "classic"), ("4.4.0", "consumer"), *([("3.9.2", "classic")] if SOAK else [])]
CASES: Final = [
    *(("left", "committed"), ("died", "aborted"), ("shared", "committed")),
    *([("left", "aborted"), ("died", "committed"), ("shared", "aborted")] if SOAK else []),
    *([("left", "fenced"), ("left", "timed out")] if SOAK else []),
]
"""What becomes of the old member, and of its transaction."""


class Member:
    """A consumer of the group with what it has read, by partition."""

    def __init__(self, servers: str, topic: str, protocol: str) -> None:
        self._topic = topic
        settings: dict[str, int] = {}
        if protocol == "classic":
            settings = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 500}
        self.consumer = kwire.Consumer(
            servers,
            group_id=f"of-{topic}",
            group_protocol=protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **settings,  # type: ignore[arg-type]
        )
        self.consumer.subscribe([topic])
        self.read: dict[TopicPartition, list[int]] = defaultdict(list)

    def poll(self) -> None:
        for tp, records in self.consumer.poll(0.2).by_partition().items():
            self.read[tp] += [record.offset for record in records]

    def has_read_all(self) -> bool:
        mine = self.consumer.assignment()
        return bool(mine) and all(self.read[tp][-1:] == [RECORDS - 1] for tp in mine)

    def waits_for_stable_offsets(self) -> bool:
        """It has partitions, and is told that what was committed there is not certain yet."""
        mine = list(self.consumer.assignment())
        if not mine:
            return False
        with pytest.raises(kwire.errors.KafkaTimeoutError, match="UNSTABLE_OFFSET_COMMIT"):
            self.consumer.committed(mine, timeout=1.0)
        return True

    def die(self) -> None:
        """As a killed process does: without a word."""
        self.consumer._reactor.close()


def until(holds: Callable[[], bool], *polled: Member) -> None:
    """Polls these members until it holds."""
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, [(each.consumer.assignment(), dict(each.read)) for each in polled]
        for each in polled:
            each.poll()


@contextmanager
def open_transaction(servers: str, topic: str, old: Member) -> Iterator[kwire.Producer]:
    """The old member's, with the group's offsets, which are IN_TRANSACTION in each partition."""
    with kwire.Producer(servers, transactional_id=f"tx-{topic}", transaction_timeout_ms=TIMES_OUT_MS) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        offsets = {TopicPartition(topic, number): IN_TRANSACTION for number in range(PARTITIONS)}
        producer.send_offsets_to_transaction(offsets, old.consumer.group_metadata())
        yield producer


def end(how: str, producer: kwire.Producer, servers: str, topic: str) -> None:
    if how == "committed":
        producer.commit_transaction()
    elif how == "aborted":
        producer.abort_transaction()
    elif how == "fenced":
        with kwire.Producer(servers, transactional_id=f"tx-{topic}") as other:
            other.init_transactions()


@pytest.mark.kafka
@pytest.mark.timeout(180)
@pytest.mark.parametrize(("release", "protocol"), PROTOCOLS)
@pytest.mark.parametrize(("handover", "ends"), CASES)
def test_a_member_that_takes_over_waits(
    release: str,
    protocol: str,
    handover: str,
    ends: str,
    groups_cluster: Callable[[str], Cluster],
    new_topic: Callable[[], str],
) -> None:
    servers, topic = groups_cluster(release).bootstrap_servers, new_topic()
    fill(servers, topic)
    old = Member(servers, topic, protocol)
    until(lambda: len(old.consumer.assignment()) == PARTITIONS and old.has_read_all(), old)
    with open_transaction(servers, topic, old) as producer:
        old_polls = hand_over(old, handover)
        new = Member(servers, topic, protocol)
        until(lambda: bool(new.consumer.assignment()), new, *old_polls)
        if ends != "timed out":
            assert new.waits_for_stable_offsets()
            new.poll()
        assert not new.read, "it has read without knowing where the old member was"
        end(ends, producer, servers, topic)
        until(new.has_read_all, new, *old_polls)
    begins = IN_TRANSACTION if ends == "committed" else 0
    assert set(new.read) == new.consumer.assignment()
    assert list(new.read.values()) == [list(range(begins, RECORDS))] * (1 if handover == "shared" else PARTITIONS)
    for member in (new, *old_polls):
        member.consumer.close()


def fill(servers: str, topic: str) -> None:
    with kwire.Admin(servers) as admin:
        admin.create_topics({topic: PARTITIONS})
    with kwire.Producer(servers) as producer:
        for number in range(PARTITIONS * RECORDS):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)


def hand_over(old: Member, how: str) -> list[Member]:
    """Ends the old member, unless it is to share its partitions; those that have to be polled further on."""
    if how == "left":
        old.consumer.close()
    elif how == "died":
        old.die()
    return [old] if how == "shared" else []
