"""A rebalance that its coordinator holds, and what a cooperative member does meanwhile: on any broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kwire import Consumer, Producer, TopicPartition
from tests.clients.polling import poll_until

PARTITIONS = 4


def member_of(servers: str, group: str, **options: Any) -> Consumer:
    return Consumer(
        servers,
        group_id=group,
        partition_assignment_strategy="cooperative-sticky",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=100,
        **options,
    )


@contextmanager
def held_rebalance(servers: str, topic: str, group: str, **options: Any) -> Iterator[Consumer]:
    """A member that has read what it has of ten records in each partition, and whose JoinGroup is held: another member
    does not poll, and a third one joins."""
    with Producer(servers) as producer:
        for number in range(10 * PARTITIONS):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    slow, quick, third = (member_of(servers, group, **options) for _ in range(3))
    try:
        for member in (slow, quick):
            member.subscribe([topic])
        poll_until([slow, quick], lambda: len(quick.assignment()) == len(slow.assignment()) == PARTITIONS // 2)
        poll_until([quick], lambda: _has_read_all(quick))
        third.subscribe([topic])
        poll_until([quick, third], lambda: quick._membership is not None and quick._membership.is_joining)
        yield quick
    finally:
        for member in (quick, third, slow):
            member.close()


def _has_read_all(member: Consumer) -> bool:
    return {member.position(tp) for tp in member.assignment()} == {10}


def commits_while_it_is_held(servers: str, topic: str, group: str) -> None:
    """Asserts that a commit is stored while the rebalance is held, and that close() stores what is finished."""
    with held_rebalance(servers, topic, group, enable_auto_commit=False) as quick:
        owned = quick.assignment()
        quick.commit(timeout=20)
        assert quick._membership is not None
        assert quick._membership.is_joining
        assert offsets(servers, group, owned) == {10}


def closes_while_it_is_held(servers: str, topic: str, group: str) -> None:
    """Asserts that close() stores what is finished while the rebalance is held."""
    with held_rebalance(servers, topic, group, auto_commit_interval_ms=3_600_000) as quick:
        owned = quick.assignment()
        quick.close(timeout=20)
        assert offsets(servers, group, owned) == {10}


def offsets(servers: str, group: str, partitions: set[TopicPartition]) -> set[int | None]:
    """What the group has committed in these."""
    with Consumer(servers, group_id=group) as reader:
        return {row and row.offset for row in reader.committed(partitions).values()}
