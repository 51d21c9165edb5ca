"""A member that lost its partitions meanwhile cannot commit: whole clients on the embedded broker.

`slow` reads, and works for too long; `quick` gets its partitions, reads the same records and commits. What `slow`
commits after that is refused, in a transaction or not, whatever it did in between.
"""

# ruff: noqa: PT012 - a transaction is a block

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import kwire
from kwire import Consumer, ConsumerRecords, GroupMetadata, Producer, TopicPartition
from kwire.errors import ClientClosedError, CommitFailedError, ConfigError, TransactionError
from kwire.errors.broker import CoordinatorLoadInProgressError
from kwire.testing import Broker
from tests.timing import PATIENT

COUNT = 10
T0 = TopicPartition("in", 0)
PROTOCOLS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range", "heartbeat_interval_ms": 200},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky", "heartbeat_interval_ms": 200},
    "consumer": {"group_protocol": "consumer"},
}
KINDS = [*PROTOCOLS, "static range", "static consumer"]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(
        topics={"in": 1, "out": 1},
        group_min_session_timeout_ms=1,
        group_consumer_session_timeout_ms=6_000,
        group_consumer_heartbeat_interval_ms=200,
    ) as running:
        running.append("in", [b"%d" % number for number in range(COUNT)])
        yield running


class World:
    """Members and producers of one kind, closed at the end."""

    def __init__(self, broker: Broker, kind: str, stack: ExitStack) -> None:
        self.broker, self.kind, self.stack = broker, kind, stack

    def member(self, name: str, **options: Any) -> Consumer:
        """One that has subscribed. Only `slow` has little time between its polls, and the least in its session where it
        counts: a static member leaves by that alone."""
        static: dict[str, Any] = {"group_instance_id": name} if self.kind.startswith("static") else {}
        limit: dict[str, Any] = {"max_poll_interval_ms": 2_500} if name == "slow" else {}
        if static and "group_protocol" not in PROTOCOLS[self.kind.rpartition(" ")[2]]:
            limit["session_timeout_ms"] = 3_000 if name == "slow" else 6_000
        made = self.outsider(**{**PROTOCOLS[self.kind.rpartition(" ")[2]], **static, **limit, **options})
        made.subscribe(["in"])
        return made

    def outsider(self, **options: Any) -> Consumer:
        given = {"group_id": "g", "enable_auto_commit": False, "auto_offset_reset": "earliest", **options}
        return self.stack.enter_context(Consumer(self.broker.bootstrap_servers, **given))

    def producer(self, name: str) -> Producer:
        made = Producer(self.broker.bootstrap_servers, transactional_id=name, linger_ms=0)
        made.init_transactions()
        return self.stack.enter_context(made)

    def committed(self) -> int | None:
        row = self.outsider().committed([T0])[T0]
        return None if row is None else row.offset

    def check_copied_once(self) -> None:
        assert self.broker.values("out", committed=True) == [b"%d" % number for number in range(COUNT)]
        assert self.committed() == COUNT


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, broker: Broker) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(broker, request.param, stack)


@pytest.fixture
def plain(broker: Broker) -> Iterator[World]:
    """Of the default kind."""
    with ExitStack() as stack:
        yield World(broker, "range", stack)


def read(consumer: Consumer) -> ConsumerRecords:
    deadline = time.monotonic() + PATIENT
    while not (records := consumer.poll(0.2)):
        assert time.monotonic() < deadline
    return records


def wait_until(holds: Callable[[], object], *polled: Consumer) -> None:
    """Polls these meanwhile."""
    deadline = time.monotonic() + PATIENT
    while not holds():
        assert time.monotonic() < deadline
        for each in polled:
            each.poll(0.05)
        time.sleep(0.0 if polled else 0.05)


def copy(producer: Producer, records: ConsumerRecords, metadata: GroupMetadata, offsets: Any = None) -> None:
    with producer.transaction():
        for record in records:
            producer.send("out", record.value)
        producer.send_offsets_to_transaction(records if offsets is None else offsets, metadata)


def offsets_of(records: ConsumerRecords) -> dict[TopicPartition, int]:
    return {tp: part[-1].offset + 1 for tp, part in records.by_partition().items()}


def is_lost(consumer: Consumer) -> bool:
    return getattr(consumer.group_metadata(), "lost", None) is not None


def take_over(world: World) -> tuple[Consumer, Producer]:
    """Another member gets what `slow` holds, and copies it."""
    quick, producer = world.member("quick"), world.producer("quick")
    copy(producer, read(quick), quick.group_metadata())
    return quick, producer


def test_the_documented_loop(world: World) -> None:
    """The work on what a poll returned takes too long, and the metadata is asked for at its end."""
    slow, late = world.member("slow"), world.producer("slow")
    records = read(slow)
    before = slow.group_metadata()
    with pytest.raises(TransactionError) as caught:
        with late.transaction():
            for record in records:
                late.send("out", record.value)
            take_over(world)
            wait_until(lambda: is_lost(slow))
            assert slow.group_metadata().member_id == before.member_id
            assert slow.group_metadata().generation_id >= before.generation_id
            late.send_offsets_to_transaction(offsets_of(records), slow.group_metadata())
    assert caught.value.abortable
    assert isinstance(caught.value.__cause__, CommitFailedError)
    world.check_copied_once()


def test_metadata_taken_with_the_records_is_refused_by_the_coordinator(world: World) -> None:
    slow, late = world.member("slow"), world.producer("slow")
    records, before = read(slow), slow.group_metadata()
    take_over(world)
    with pytest.raises(TransactionError) as caught:
        copy(late, records, before)
    assert caught.value.abortable
    world.check_copied_once()


def test_records_of_a_membership_that_is_over_are_not_committed_by_the_next(world: World) -> None:
    """The member has heard of its loss and has joined anew; the partition may be its own again."""
    slow, late = world.member("slow"), world.producer("slow")
    records = read(slow)
    quick, _ = take_over(world)
    wait_until(lambda: not is_lost(slow) and slow.assignment() | quick.assignment(), slow, quick)
    given = [records] if slow.assignment() else [records, offsets_of(records)]
    for offsets in given:
        with pytest.raises(TransactionError, match="in-0 was not committed: the group took it") as caught:
            copy(late, records, slow.group_metadata(), offsets)
        assert caught.value.abortable
    with pytest.raises(CommitFailedError, match="the group took it"):
        slow.commit(records)
    if not slow.assignment():
        for what in (records[-1], offsets_of(records)):
            with pytest.raises(CommitFailedError, match="the group took it"):
                slow.commit(what)  # type: ignore[arg-type]
    world.check_copied_once()


def test_records_returned_before_a_loss_are_not_committed_once_the_partition_is_back(world: World) -> None:
    slow, late = world.member("slow"), world.producer("slow")
    records = read(slow)
    quick, producer = take_over(world)
    world.broker.append("in", [b"10", b"11"])
    copy(producer, read(quick), quick.group_metadata())
    quick.close()
    wait_until(lambda: slow.assignment() and not is_lost(slow), slow)
    for part in (records[3:5], records[-1], next(iter(records)), records[-1].copy()):
        with pytest.raises(TransactionError, match="the group took it"):
            copy(late, records, slow.group_metadata(), part)
        with pytest.raises(CommitFailedError, match="the group took it"):
            slow.commit(part)
    with pytest.raises(CommitFailedError, match="the group took it"):
        slow.commit(records)
    assert world.committed() == COUNT + 2
    assert world.broker.values("out", committed=True) == [b"%d" % number for number in range(COUNT + 2)]


def test_records_of_a_topic_that_was_made_anew_since_are_not_committed(world: World) -> None:
    """Its offsets begin again: committed, those of the old one would skip what the new one has."""
    reader, producer = (
        world.member("quick", metadata_max_age_ms=200, allow_auto_create_topics=False),
        world.producer("tx"),
    )
    records = read(reader)
    world.broker.delete_topic("in")
    world.broker.create_topic("in")
    world.broker.append("in", [b"new"])
    anew = read(reader)
    assert anew.values() == [b"new"]
    for given in (records, records[-1]):
        with pytest.raises(CommitFailedError, match="its topic was recreated"):
            reader.commit(given)
        with pytest.raises(TransactionError, match="its topic was recreated"):
            copy(producer, records, reader.group_metadata(), given)
    copy(producer, anew, reader.group_metadata())
    assert world.committed() == 1


def test_a_commit_that_is_repeated_ends_where_its_topic_is_made_anew(world: World) -> None:
    reader = world.member("quick", metadata_max_age_ms=200, allow_auto_create_topics=False)
    records, told = read(reader), list[object]()
    world.broker.faults.error("OffsetCommit", CoordinatorLoadInProgressError, times=10**6)
    reader.commit_async(records, callback=lambda offsets, error: told.append(error))
    world.broker.delete_topic("in")
    world.broker.create_topic("in")
    world.broker.append("in", [b"new"])
    assert read(reader).values() == [b"new"]
    world.broker.faults.clear()
    wait_until(lambda: told, reader)
    assert isinstance(told[0], CommitFailedError)
    # By KIP-848 the new topic is assigned after metadata has shown it, and its record is read once more.
    wait_until(lambda: reader.commit() or world.committed() == 1, reader)


def test_a_consumer_that_has_unsubscribed_is_not_nobody(world: World) -> None:
    slow, late = world.member("slow"), world.producer("slow")
    records, before = read(slow), slow.group_metadata()
    slow.unsubscribe()
    slow.unsubscribe()
    assert slow.group_metadata() == before
    if not world.kind.startswith("static"):
        take_over(world)
    for offsets in (records, offsets_of(records)):
        with pytest.raises(TransactionError, match="it has left the group") as caught:
            copy(late, records, slow.group_metadata(), offsets)
        assert caught.value.abortable
    with pytest.raises(CommitFailedError, match="the group took it"):
        slow.commit(records)
    slow.subscribe(["in"])
    assert slow.group_metadata() == before
    with pytest.raises(TransactionError, match="it has left the group"):
        copy(late, records, slow.group_metadata())
    slow.unsubscribe()
    slow.assign([T0])
    with pytest.raises(TransactionError, match="the group took it"):
        copy(late, records, slow.group_metadata())
    if not world.kind.startswith("static"):
        world.check_copied_once()


def test_before_the_first_join_there_is_no_metadata(world: World) -> None:
    member = world.member("slow")
    with pytest.raises(CommitFailedError, match=r"has not joined group 'g' yet: poll\(\) does that"):
        member.group_metadata()
    read(member)
    assert member.group_metadata().member_id
    outsider = world.outsider()
    with pytest.raises(ConfigError, match=r"call subscribe\(\), to be a member of the group, or assign\(\) first"):
        outsider.group_metadata()
    member.close()
    with pytest.raises(ClientClosedError):
        member.group_metadata()


def test_who_has_assigned_partitions_to_itself_is_no_member(plain: World) -> None:
    producer, outsider = plain.producer("tx"), plain.outsider()
    outsider.assign([T0])
    records = read(outsider)
    assert outsider.group_metadata() == GroupMetadata("g")
    outsider.unsubscribe()
    copy(producer, records, outsider.group_metadata())
    plain.check_copied_once()


def test_metadata_made_by_hand_names_a_member(plain: World) -> None:
    producer, member = plain.producer("tx"), plain.member("quick")
    records = read(member)
    with producer.transaction():
        producer.send_offsets_to_transaction({T0: 1}, GroupMetadata(*member.group_metadata()))
    for nobody in (
        GroupMetadata("g"),
        GroupMetadata("g", group_instance_id="i"),
        member.group_metadata()._replace(generation_id=-1, member_id=""),
    ):
        with pytest.raises(ConfigError, match=r"names no member.*give what group_metadata\(\) returns"):
            with producer.transaction():
                producer.send_offsets_to_transaction(records, nobody)
    assert plain.committed() == 1


def test_records_and_metadata_may_be_sent_to_another_process(plain: World) -> None:
    member, producer = plain.member("slow"), plain.producer("tx")
    read(member)
    known = pickle.loads(pickle.dumps(member.group_metadata()))
    assert (known, type(known), known.lost) == (member.group_metadata(), type(member.group_metadata()), None)
    member.unsubscribe()
    lost = pickle.loads(pickle.dumps(member.group_metadata()))
    with pytest.raises(TransactionError, match="it has left the group"):
        with producer.transaction():
            producer.send_offsets_to_transaction({T0: 1}, lost)


def test_a_coordinator_that_checks_no_members_is_not_needed_for_a_loss_that_is_known() -> None:
    with Broker(release="2.3.1", topics={"in": 1, "out": 1}) as broker, ExitStack() as stack:
        broker.append("in", [b"%d" % number for number in range(COUNT)])
        world = World(broker, "range", stack)
        slow, late = world.member("slow", session_timeout_ms=6_000), world.producer("slow")
        records = read(slow)
        quick, producer = world.member("quick", session_timeout_ms=6_000), world.producer("quick")
        copy(producer, read(quick), quick.group_metadata())
        wait_until(lambda: is_lost(slow))
        with pytest.raises(TransactionError, match="no poll for max_poll_interval_ms"):
            copy(late, records, slow.group_metadata())
        world.check_copied_once()


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_the_same_for_asyncio(broker: Broker, protocol: str) -> None:
    async def read_by(consumer: kwire.aio.Consumer) -> ConsumerRecords:
        while not (records := await consumer.poll(0.2)):
            pass
        return records

    async def copy_by(producer: kwire.aio.Producer, records: ConsumerRecords, metadata: GroupMetadata) -> None:
        async with producer.transaction():
            for record in records:
                producer.send("out", record.value)
            await producer.send_offsets_to_transaction(records, metadata)

    async def main() -> None:
        given: dict[str, Any] = {"group_id": "g", "enable_auto_commit": False, "auto_offset_reset": "earliest"}
        given |= PROTOCOLS[protocol]
        servers = broker.bootstrap_servers
        async with (
            kwire.aio.Consumer(servers, max_poll_interval_ms=2_500, **given) as slow,
            kwire.aio.Consumer(servers, **given) as quick,
            kwire.aio.Producer(servers, transactional_id="slow") as late,
            kwire.aio.Producer(servers, transactional_id="quick") as producer,
        ):
            slow.subscribe(["in"])
            with pytest.raises(CommitFailedError, match="has not joined group"):
                slow.group_metadata()
            records = await read_by(slow)
            before = slow.group_metadata()
            quick.subscribe(["in"])
            await copy_by(producer, await read_by(quick), quick.group_metadata())
            while not is_lost(slow):  # type: ignore[arg-type]
                await asyncio.sleep(0.05)
            assert slow.group_metadata().member_id == before.member_id
            with pytest.raises(TransactionError) as caught:
                await copy_by(late, records, slow.group_metadata())
            assert caught.value.abortable
            while is_lost(slow):  # type: ignore[arg-type]
                await slow.poll(0.05)
                await quick.poll(0.05)
            with pytest.raises(TransactionError, match="the group took it"):
                await copy_by(late, records, slow.group_metadata())
            await slow.unsubscribe()
            with pytest.raises(TransactionError, match="it has left the group"):
                await copy_by(late, records, slow.group_metadata())

    asyncio.run(asyncio.wait_for(main(), 4 * PATIENT))
    assert broker.values("out", committed=True) == [b"%d" % number for number in range(COUNT)]
