"""Consumers for asyncio in a classic group, on the embedded broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, KafkaError, Producer, TopicPartition, errors
from kwire.aio import Consumer
from kwire.testing import Broker
from tests.aio.conftest import on_each_loop
from tests.timing import PATIENT

ALL = {TopicPartition("t", number) for number in range(4)}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": 4})
        yield started


class Told:
    """A listener whose methods wait."""

    def __init__(self) -> None:
        self.events: list[str] = []

    async def on_assigned(self, partitions: list[TopicPartition]) -> None:
        await asyncio.sleep(0.01)
        self.events.append(f"assigned {len(partitions)}")

    def on_revoked(self, partitions: list[TopicPartition]) -> None:
        self.events.append(f"revoked {len(partitions)}")

    async def on_lost(self, partitions: list[TopicPartition]) -> None:
        self.events.append(f"lost {len(partitions)}")


def member_of(broker: Broker, **options: Any) -> Consumer:
    given = {"group_id": "g", "auto_offset_reset": "earliest", "heartbeat_interval_ms": 50, **options}
    return Consumer(broker.bootstrap_servers, **{"partition_assignment_strategy": "cooperative-sticky", **given})


async def poll_until(consumers: list[Consumer], done: Callable[[], bool], seconds: float = PATIENT) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            await consumer.poll(0.02)


@on_each_loop
async def test_two_members_share_a_topic_and_listeners_may_wait(broker: Broker) -> None:
    told = Told()
    async with member_of(broker) as one, member_of(broker) as two:
        one.subscribe(["t"], listener=told)
        await poll_until([one], lambda: one.assignment() == ALL)
        two.subscribe(["t"])
        await poll_until([one, two], lambda: len(one.assignment()) == 2 == len(two.assignment()))
        await two.close()
        await poll_until([one], lambda: one.assignment() == ALL)
    assert told.events[0] == "assigned 4"
    assert "revoked 2" in told.events
    assert told.events[-1] == "revoked 4"


@on_each_loop
async def test_heartbeats_go_on_while_the_program_works(broker: Broker) -> None:
    told = Told()
    async with member_of(broker, session_timeout_ms=60_000) as one:
        one.subscribe(["t"], listener=told)
        await poll_until([one], lambda: one.assignment() == ALL)
        for _ in range(5):  # half a session each, by the broker's clock
            await asyncio.to_thread(
                broker.wait_for_requests, "Heartbeat", broker.request_count("Heartbeat") + 1, timeout=PATIENT
            )
            broker.clock.advance(30)
        for _ in range(5):
            await one.poll(0.02)
        assert told.events == ["assigned 4"]


@on_each_loop
async def test_a_listener_may_use_its_consumer(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for number in range(8):
            producer.send("t", b"%d" % number, partition=number % 4)

    class Seeking:
        refused: Exception | None = None

        async def on_assigned(self, partitions: list[TopicPartition]) -> None:
            for tp in partitions:
                assert await consumer.position(tp, timeout=PATIENT) == 0
                consumer.seek(tp, 1)
            try:
                await consumer.poll()
            except errors.ConcurrentUseError as error:
                self.refused = error

    listener = Seeking()
    async with member_of(broker) as consumer:
        consumer.subscribe(["t"], listener=listener)
        values: list[bytes | None] = []
        deadline = time.monotonic() + PATIENT
        while len(values) < 4 and time.monotonic() < deadline:
            values.extend((await consumer.poll(0.2)).values())
        assert sorted(filter(None, values)) == [b"4", b"5", b"6", b"7"]
        assert "may not poll" in str(listener.refused)


@on_each_loop
async def test_another_task_is_refused_while_a_listener_waits(broker: Broker) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    class Waiting:
        async def on_assigned(self, partitions: list[TopicPartition]) -> None:
            inside.set()
            await go_on.wait()

    async with member_of(broker) as consumer:
        consumer.subscribe(["t"], listener=Waiting())
        poll = asyncio.create_task(consumer.poll(PATIENT))
        await inside.wait()
        with pytest.raises(errors.ConcurrentUseError):
            consumer.assignment()
        go_on.set()
        consumer.wakeup()
        await poll
        assert consumer.assignment() == ALL


@on_each_loop
async def test_an_error_of_the_listener_is_raised_by_the_poll(broker: Broker) -> None:
    class Failing:
        async def on_assigned(self, partitions: list[TopicPartition]) -> None:
            raise ValueError("no")

    async with member_of(broker) as one:
        one.subscribe(["t"], listener=Failing())
        with pytest.raises(KafkaError, match="on_assigned raised ValueError: no"):
            await poll_until([one], lambda: False)
        await one.poll(0.1)
        assert one.assignment() == ALL


@on_each_loop
async def test_a_cancelled_listener_is_called_again_by_the_next_poll(broker: Broker) -> None:
    calls: list[int] = []

    class Slow:
        async def on_assigned(self, partitions: list[TopicPartition]) -> None:
            calls.append(len(partitions))
            if len(calls) == 1:
                await asyncio.sleep(60)

    async with member_of(broker) as one:
        one.subscribe(["t"], listener=Slow())
        poll = asyncio.create_task(one.poll(PATIENT))
        while not calls:
            await asyncio.sleep(0.01)
        poll.cancel()
        with pytest.raises(asyncio.CancelledError):
            await poll
        await poll_until([one], lambda: calls == [4, 4])


@on_each_loop
async def test_unsubscribing_can_be_awaited_and_is_waited_for(broker: Broker) -> None:
    told = Told()
    async with member_of(broker) as one, member_of(broker) as two:
        one.subscribe(["t"], listener=told)
        await poll_until([one], lambda: one.assignment() == ALL)
        await one.unsubscribe()
        assert told.events == ["assigned 4", "revoked 4"]
        assert one.assignment() == set()
        two.subscribe(["t"])
        await poll_until([two], lambda: two.assignment() == ALL)
        one.subscribe(["t"], listener=told)
        await poll_until([one, two], lambda: len(one.assignment()) == 2)
        one.unsubscribe()
        with pytest.raises(errors.ConfigError, match="nothing to poll"):
            await one.poll()
        assert told.events[-1] == "revoked 2"


@on_each_loop
async def test_iteration_goes_on_through_rebalances(broker: Broker) -> None:
    seen: list[bytes | None] = []
    async with member_of(broker) as one, member_of(broker) as two:
        one.subscribe(["t"])
        two.subscribe(["t"])

        async def read(consumer: Consumer) -> None:
            async for record in consumer:
                seen.append(record.value)

        readers = [asyncio.create_task(read(each)) for each in (one, two)]
        async with asyncio.timeout(PATIENT):
            while len(seen) < 40:
                with Producer(broker.bootstrap_servers) as producer:
                    for number in range(4):
                        producer.send("t", b"x", partition=number)
                await asyncio.sleep(0.05)
        for each in (one, two):
            each.wakeup()
        await asyncio.gather(*readers)


@on_each_loop
async def test_tasks_of_a_listener_may_use_its_consumer(broker: Broker) -> None:
    found: list[Any] = []

    class Careful:
        async def on_assigned(self, partitions: list[TopicPartition]) -> None:
            found.append(await asyncio.wait_for(one.committed(partitions), 5.0))
            found.append(await asyncio.gather(*(one.position(tp) for tp in partitions)))

    async with member_of(broker) as one:
        one.subscribe(["t"], listener=Careful())
        await poll_until([one], lambda: len(found) == 2)
        assert found == [dict.fromkeys(ALL), [0, 0, 0, 0]]


@on_each_loop
async def test_a_cancelled_poll_is_over_and_the_next_has_to_come_in_time(broker: Broker) -> None:
    told = Told()
    async with member_of(broker, max_poll_interval_ms=300) as one, member_of(broker) as two:
        one.subscribe(["t"], listener=told)
        poll = asyncio.create_task(one.poll(None))
        while not told.events:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.6)  # a poll that waits is a poll
        poll.cancel()
        with pytest.raises(asyncio.CancelledError):
            await poll
        assert one.assignment() == ALL
        assert told.events == ["assigned 4"]
        two.subscribe(["t"])
        await poll_until([two], lambda: two.assignment() == ALL)


@on_each_loop
async def test_an_unsubscribe_that_fails_or_is_cancelled_leaves_all_the_same(broker: Broker) -> None:
    class Stubborn:
        def __init__(self, seconds: float) -> None:
            self.seconds = seconds

        async def on_revoked(self, partitions: list[TopicPartition]) -> None:
            await asyncio.sleep(self.seconds)
            raise ValueError("no")

    async with member_of(broker) as one:
        for seconds, error, within in ((0.0, KafkaError, PATIENT), (PATIENT, asyncio.TimeoutError, 0.5)):
            one.subscribe(["t"], listener=Stubborn(seconds))
            await poll_until([one], lambda: one.assignment() == ALL)
            with pytest.raises(error):
                await asyncio.wait_for(one.unsubscribe(), within)
        one.subscribe(["t"])
        await poll_until([one], lambda: one.assignment() == ALL)


@on_each_loop
async def test_callbacks_of_commits_come_in_the_order_of_the_calls(broker: Broker) -> None:
    told: list[int] = []
    async with member_of(broker) as one:
        one.assign([("t", 0), ("t", 1)])
        for number in range(300):
            one.commit_async(
                {("t", number % 2): number},
                callback=lambda offsets, error, number=number: told.append(number),  # type: ignore[misc]
            )
            if number % 50 == 0:
                await one.commit({("t", 0): number})
                assert told == list(range(number + 1))
        await one.commit({("t", 1): 1000})
        assert told == list(range(300))
