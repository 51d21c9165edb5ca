"""ShareConsumer for asyncio on the embedded broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Admin, TopicPartition, errors
from kwire.aio import ShareConsumer
from kwire.testing import Broker
from tests.aio.conftest import on_each_loop
from tests.clients.test_share_consumer import begin_at_first, write
from tests.timing import PATIENT

T0 = TopicPartition("t", 0)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(group_share_heartbeat_interval_ms=50) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": 2})
        begin_at_first(started, "g")
        yield started


def member_of(broker: Broker, **options: Any) -> ShareConsumer:
    made = ShareConsumer(broker.bootstrap_servers, **{"group_id": "g", "fetch_max_wait_ms": 100, **options})
    made.subscribe(["t"])
    return made


@on_each_loop
async def test_reads_acknowledges_and_commits(broker: Broker) -> None:
    write(broker, [b"1", b"2", b"3"])
    told: list[Any] = []
    async with member_of(broker, share_acknowledgement_mode="explicit") as consumer:
        consumer.set_acknowledgement_commit_callback(lambda offsets, error: told.append((offsets, error)))
        records = await consumer.poll(timeout=PATIENT)
        assert records.values() == [b"1", b"2", b"3"]
        consumer.acknowledge(records[0])
        consumer.acknowledge(records[1], "release")
        consumer.acknowledge(records[2], "reject")
        assert await consumer.commit() == {T0: None}
        again = await consumer.poll(timeout=PATIENT)
        assert (again.values(), again.delivery_counts()) == ([b"2"], [2])
    assert ({T0: {0, 1, 2}}, None) in told


@on_each_loop
async def test_members_share_the_records(broker: Broker) -> None:
    write(broker, [b"%d" % number for number in range(60)])
    found: list[bytes | None] = []

    async def work() -> None:
        async with member_of(broker, max_poll_records=5, share_acquire_mode="record_limit") as consumer:
            while len(found) < 60:
                found.extend((await consumer.poll(timeout=0.2)).values())
            await consumer.commit()

    await asyncio.wait_for(asyncio.gather(work(), work(), work()), PATIENT)
    assert sorted(found, key=lambda value: int(value or 0)) == [b"%d" % number for number in range(60)]


@on_each_loop
async def test_a_cancelled_poll_loses_no_record(broker: Broker) -> None:
    async with member_of(broker) as consumer:
        await consumer.poll(timeout=0.3)
        task = asyncio.create_task(consumer.poll(timeout=None))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(write, broker, [b"1"])
        records = await consumer.poll(timeout=PATIENT)
        assert (records.values(), records.delivery_counts()) == ([b"1"], [1])


@on_each_loop
async def test_closing_releases_and_wakes_nobody(broker: Broker) -> None:
    write(broker, [b"1"])
    async with member_of(broker) as one:
        assert len(await one.poll(timeout=PATIENT)) == 1
    with pytest.raises(errors.ClientClosedError):
        await one.poll()
    async with member_of(broker) as two:
        assert (await two.poll(timeout=PATIENT)).delivery_counts() == [2]


@on_each_loop
async def test_one_task_at_a_time(broker: Broker) -> None:
    async with member_of(broker) as consumer:
        task = asyncio.create_task(consumer.poll(timeout=None))
        await asyncio.sleep(0.2)
        with pytest.raises(errors.ConcurrentUseError):
            await consumer.commit()
        consumer.wakeup()
        assert len(await task) == 0


def test_names_are_those_of_the_other_client() -> None:
    from kwire import ShareConsumer as ForThreads

    def public(kind: type) -> set[str]:
        return {name for base in kind.__mro__ for name in vars(base) if callable(getattr(kind, name, None))}

    assert {name for name in public(ShareConsumer) if name[0] != "_"} == {
        name for name in public(ForThreads) if name[0] != "_"
    }
    assert ShareConsumer.commit.__doc__ == ForThreads.commit.__doc__
