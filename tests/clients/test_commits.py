"""Commits of a consumer on the embedded broker: what is committed, by itself and when told, where reading goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, Consumer, KafkaError, OffsetAndMetadata, Producer, TopicPartition, errors
from kwire.testing import Broker
from tests.clients.held_rebalance import PARTITIONS, closes_while_it_is_held, commits_while_it_is_held
from tests.timing import PATIENT

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": 2})
        with Producer(started.bootstrap_servers) as producer:
            for number in range(10):
                producer.send("t", b"%d" % number, partition=0)
        yield started


def consumer_of(broker: Broker, **options: Any) -> Consumer:
    given = {"group_id": "g", "auto_offset_reset": "earliest", "enable_auto_commit": False, **options}
    return Consumer(broker.bootstrap_servers, **given)


def read(consumer: Consumer, count: int, **options: Any) -> list[bytes | None]:
    """The values of the next records."""
    found: list[bytes | None] = []
    deadline = time.monotonic() + PATIENT
    while len(found) < count and time.monotonic() < deadline:
        found += consumer.poll(0.1, **options).values()
    return found


def committed(broker: Broker) -> dict[TopicPartition, OffsetAndMetadata | None]:
    with consumer_of(broker) as other:
        return other.committed([T0, T1])


def test_without_arguments_all_that_was_handed_out_is_committed(broker: Broker) -> None:
    with consumer_of(broker) as one:
        one.assign([T0])
        read(one, 4, max_records=4)
        one.commit()
        assert committed(broker) == {T0: OffsetAndMetadata(4, "", 0), T1: None}
    with consumer_of(broker) as two:
        two.assign([T0])
        assert read(two, 6) == [b"%d" % number for number in range(4, 10)]


def test_members_commit(broker: Broker) -> None:
    with consumer_of(broker) as one:
        one.subscribe(["t"])
        read(one, 10)
        one.commit()
        assert one.group_metadata().generation_id > 0
        assert one.committed([T0])[T0] == OffsetAndMetadata(10, "", 0)
        assert one.lag() == {T0: 0, T1: 0}


def test_what_can_be_committed(broker: Broker) -> None:
    with consumer_of(broker) as one:
        one.assign([T0])
        records = one.poll(10, max_records=3)
        one.commit(records)
        assert committed(broker)[T0] == OffsetAndMetadata(3, "", 0)
        one.commit(records[1])
        assert committed(broker)[T0] == OffsetAndMetadata(2)
        one.commit({("t", 0): 7, T1: OffsetAndMetadata(1, "note", 0)})
        assert committed(broker) == {T0: OffsetAndMetadata(7), T1: OffsetAndMetadata(1, "note", 0)}
        one.commit({T1: OffsetAndMetadata(2, None)})  # type: ignore[arg-type]  # as other clients are called
        assert committed(broker)[T1] == OffsetAndMetadata(2, "")
        one.commit(one.poll(0.0, max_records=1)[:0])


@pytest.mark.parametrize(
    "what",
    [
        "t",
        5,
        [("t", 0)],
        {"t": 0},
        {("t", 0): -1},
        {("t", 0): "x"},
        {("t", 0): OffsetAndMetadata(-1)},
        {T0: OffsetAndMetadata(1, b"x")},  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_committed_is_refused(broker: Broker, what: Any) -> None:
    with consumer_of(broker) as one, pytest.raises(errors.ConfigError):
        one.commit(what)


def test_a_group_of_another_kind_is_named_as_that(broker: Broker) -> None:
    with kwire.ShareConsumer(broker.bootstrap_servers, group_id="g") as other, consumer_of(broker) as one:
        other.subscribe(["t"])
        while not len(other.poll(0.1)):
            broker.append("t", [b"more"])
        one.assign([T0])
        with pytest.raises(errors.CommitFailedError, match="this group_id belongs to a group of another type"):
            one.commit({T0: 1})


def test_in_a_loop_the_record_at_hand_is_committed_too(broker: Broker) -> None:
    with consumer_of(broker) as one:
        one.assign([T0])
        for record in one:
            one.commit()
            assert committed(broker)[T0] == OffsetAndMetadata(record.offset + 1, "", 0)
            if record.offset == 3:
                break


def test_a_group_is_needed(broker: Broker) -> None:
    with consumer_of(broker, group_id=None) as one:
        one.assign([T0])
        calls: tuple[Callable[[], object], ...] = (
            one.commit,
            one.commit_async,
            one.group_metadata,
            lambda: one.committed([T0]),
        )
        for call in calls:
            with pytest.raises(errors.ConfigError, match=r"needs a consumer group: give the consumer a group_id"):
                call()
        assert one.lag() == {T0: 10}


def test_asynchronous_commits_call_back_in_order(broker: Broker) -> None:
    with consumer_of(broker) as one:
        one.assign([T0])
        told: list[tuple[int, KafkaError | None]] = []
        for offset in range(1, 6):
            one.commit_async({T0: offset}, callback=lambda rows, error: told.append((rows[T0].offset, error)))
        one.commit_async(callback=lambda rows, error: 1 / 0)
        one.commit({T1: 1})
        assert told == [(offset, None) for offset in range(1, 6)]
        assert committed(broker)[T0] == OffsetAndMetadata(5)


def test_automatic_commits_take_what_an_earlier_poll_returned(broker: Broker) -> None:
    with consumer_of(broker, enable_auto_commit=True, auto_commit_interval_ms=0) as one:
        one.assign([T0])
        read(one, 4, max_records=4)
        read(one, 2, max_records=2)
        one.commit({})
        assert committed(broker)[T0] == OffsetAndMetadata(4, "", 0)


def test_closing_commits_what_is_finished(broker: Broker) -> None:
    with consumer_of(broker, enable_auto_commit=True) as one:
        one.subscribe(["t"])
        read(one, 4, max_records=4)
        one.poll(5, max_records=2)
    assert committed(broker)[T0] == OffsetAndMetadata(4, "", 0)


def test_closing_in_a_loop_commits_what_was_passed(broker: Broker) -> None:
    with consumer_of(broker, enable_auto_commit=True) as one:
        one.subscribe(["t"])
        for record in one:
            if record.offset == 5:
                break
    assert committed(broker)[T0] == OffsetAndMetadata(5, "", 0)


def test_a_listener_commits_before_its_partitions_go(broker: Broker) -> None:
    class Committing:
        def on_revoked(self, partitions: list[TopicPartition]) -> None:
            one.commit()

    with consumer_of(broker, heartbeat_interval_ms=50) as one, consumer_of(broker) as two:
        one.subscribe(["t"], listener=Committing())
        read(one, 10)
        two.subscribe(["t"])
        while len(one.assignment()) != 1 or len(two.assignment()) != 1:
            one.poll(0.02)
            two.poll(0.02)
    assert committed(broker)[T0] == OffsetAndMetadata(10, "", 0)


def test_a_member_that_was_put_out_hears_what_to_do(broker: Broker) -> None:
    with consumer_of(broker, session_timeout_ms=1000, heartbeat_interval_ms=900) as one:
        one.subscribe(["t"])
        read(one, 10)
        group = broker_group(broker)
        group.members.clear()
        with pytest.raises(errors.CommitFailedError, match=r"UNKNOWN_MEMBER_ID.*poll\(\) joins again"):
            one.commit()


def broker_group(broker: Broker) -> Any:
    return broker._cluster.groups.by_id["g"]


def test_the_same_for_asyncio(broker: Broker) -> None:
    async def work() -> None:
        told: list[int] = []
        options: Any = {"group_id": "g", "auto_offset_reset": "earliest", "enable_auto_commit": False}
        async with kwire.aio.Consumer(broker.bootstrap_servers, **options) as one:
            one.subscribe(["t"])
            async for record in one:
                if record.offset == 3:
                    await one.commit(record)
                    break
            assert await one.committed([T0]) == {T0: OffsetAndMetadata(4, "", 0)}
            one.commit_async({T0: 7}, callback=lambda rows, error: told.append(rows[T0].offset))
            await one.commit({T1: 0})
            assert told == [7]
            assert await one.lag() == {T0: 6, T1: 0}
            assert one.group_metadata().group_id == "g"

    asyncio.run(work())
    assert committed(broker)[T0] == OffsetAndMetadata(7)


def test_an_asynchronous_listener_commits(broker: Broker) -> None:
    async def work() -> None:
        class Committing:
            async def on_revoked(self, partitions: list[TopicPartition]) -> None:
                await one.commit({T0: 6})

        options: Any = {"group_id": "g", "auto_offset_reset": "earliest", "enable_auto_commit": False}
        async with kwire.aio.Consumer(broker.bootstrap_servers, **options) as one:
            one.subscribe(["t"], listener=Committing())
            while not await one.poll(0.1):
                pass

    asyncio.run(work())
    assert committed(broker)[T0] == OffsetAndMetadata(6)


def test_callbacks_come_in_the_order_of_the_calls_and_before_a_later_commit_returns(broker: Broker) -> None:
    told: list[int] = []
    with consumer_of(broker) as one:
        one.assign([T0, T1])
        for number in range(600):
            one.commit_async(
                {("t", number % 2): number},
                callback=lambda offsets, error, number=number: told.append(number),  # type: ignore[misc]
            )
            if number % 97 == 0:
                one.commit({T0: number})
                assert told == list(range(number + 1))
        one.commit({T1: 1000})
        assert told == list(range(600))


@pytest.mark.parametrize("check", [commits_while_it_is_held, closes_while_it_is_held])
def test_a_commit_is_stored_while_a_rebalance_is_held(check: Callable[[str, str, str], None], broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"held": PARTITIONS})
    check(broker.bootstrap_servers, "held", "waits")
