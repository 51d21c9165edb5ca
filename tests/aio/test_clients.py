"""`kwire.aio` against the embedded broker: the same names and results as the clients for threads."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

import kwire
from kwire import aio, errors, records
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.timing import PATIENT


def test_await_a_delivery_flush_and_close(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            delivery = producer.send("t", b"v", key=b"k", timestamp=5, headers=[("h", b"1")])
            assert not delivery.done()
            metadata = await delivery
            assert (metadata.topic, metadata.partition, metadata.offset, metadata.timestamp) == ("t", 0, 0, 5)
            assert await delivery == metadata == delivery.result()
            later = [producer.send("t", b"%d" % i) for i in range(1000)]
            await producer.flush(timeout=PATIENT)
            assert [delivery.result(0).offset for delivery in later] == list(range(1, 1001))
            producer.send("t", b"last")
        with pytest.raises(errors.ClientClosedError):
            producer.send("t", b"v")

    run(main())
    assert broker.values("t") == [b"v", *(b"%d" % i for i in range(1000)), b"last"]


def test_records_of_one_turn_leave_in_one_batch(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, linger_ms=0) as producer:
            await producer.send("t", b"connected")
            sent = await asyncio.gather(*(producer.send("t", b"%d" % i) for i in range(50)))
            assert [metadata.offset for metadata in sent] == list(range(1, 51))

    run(main())
    assert [batch.count for batch in records.decode(broker.record_set("t")).batches] == [1, 50]


def test_send_many_and_drain_when_the_buffer_is_full(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, buffer_memory=100_000) as producer:
            with pytest.raises(errors.BufferFull, match=r"drain") as full:
                producer.send_many("t", [b"v" * 100] * 2000)
            sent = list(full.value.deliveries)
            while len(sent) < 2000:
                await producer.drain()
                assert producer._accumulator.used <= 50_000
                sent += producer.send_many("t", [b"v" * 100] * min(100, 2000 - len(sent)))
            await producer.flush()
            assert [delivery.result().offset for delivery in sent] == list(range(2000))

    run(main())


def test_poll_and_iterate(run: Run, broker: Broker) -> None:
    async def main() -> None:
        broker.append("t", [b"%d" % i for i in range(5000)])
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["t"])
            first = await consumer.poll(timeout=PATIENT, max_records=10)
            assert first.values() == [b"%d" % i for i in range(10)]
            seen = []
            async for record in consumer:
                seen.append(record.value)
                if len(seen) == 100:
                    break
            assert await consumer.position(("t", 0)) == 110
            consumer.seek(("t", 0), 4000)
            rest: list[bytes | None] = []
            while len(rest) < 1000:
                rest += (await consumer.poll(timeout=PATIENT)).values()
            assert seen == [b"%d" % i for i in range(10, 110)]
            assert rest == [b"%d" % i for i in range(4000, 5000)]
            assert await consumer.end_offsets([("t", 0)]) == {("t", 0): 5000}
            assert await consumer.beginning_offsets([("t", 0)]) == {("t", 0): 0}
            assert await consumer.partitions_for("wide") == [("wide", number) for number in range(8)]

    run(main())


def test_an_iteration_ends_at_until_and_after_wakeup(run: Run, broker: Broker) -> None:
    async def main() -> None:
        broker.append("t", [b"%d" % i for i in range(10)])
        async with aio.Consumer(broker.bootstrap_servers) as consumer:
            consumer.assign([("t", 0)], at={("t", 0): 0}, until={("t", 0): 7})
            assert [record.offset async for record in consumer] == list(range(7))
            assert consumer.done()
            consumer.assign([("t", 0)], at={("t", 0): 7})
            seen = []
            async for record in consumer:
                seen.append(record.offset)
                if record.offset == 9:
                    consumer.wakeup()
            assert seen == [7, 8, 9]

    run(main())


def test_an_empty_poll_returns_in_time(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Consumer(broker.bootstrap_servers) as consumer:
            consumer.subscribe(["t"])
            assert not await consumer.poll()
            assert not await consumer.poll(timeout=0.05)
            consumer.unsubscribe()
            with pytest.raises(errors.ConfigError):
                await consumer.poll()

    run(main())


def test_two_tasks_may_not_use_one_consumer(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Consumer(broker.bootstrap_servers) as consumer:
            consumer.subscribe(["t"])
            waiting = asyncio.create_task(consumer.poll(timeout=PATIENT))
            await asyncio.sleep(0)
            with pytest.raises(errors.ConcurrentUseError, match="another task"):
                await consumer.poll()
            with pytest.raises(errors.ConcurrentUseError, match="another task"):
                consumer.seek(("t", 0), 0)
            consumer.wakeup()
            assert not await waiting

    run(main())


def test_close_ends_a_poll_that_waits(run: Run, broker: Broker) -> None:
    async def main() -> None:
        consumer = aio.Consumer(broker.bootstrap_servers)
        consumer.subscribe(["t"])
        waiting = asyncio.create_task(consumer.poll(timeout=PATIENT))
        await asyncio.sleep(0.05)
        await consumer.close()
        with pytest.raises(errors.ClientClosedError):
            await waiting

    run(main())


def test_admin(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Admin(broker.bootstrap_servers) as admin:
            assert await admin.list_topics() == ["t", "wide"]
            assert (await admin.create_topics({"new": 3}))["new"].num_partitions == 3
            assert await admin.create_topics([]) == {}
            with pytest.raises(errors.BrokerError):
                await admin.create_topics({"new": 3})
            assert set((await admin.describe_topics(["new"]))["new"].partitions) == {0, 1, 2}
            assert (await admin.list_offsets({("t", 0): "latest"}))["t", 0].offset == 0  # type: ignore[index,union-attr]
            await admin.delete_topics(["new"])

    run(main())


@pytest.mark.parametrize("name", ["Producer", "Consumer", "Admin"])
def test_the_same_names_and_arguments(name: str) -> None:
    sync, front = getattr(kwire, name), getattr(aio, name)
    methods = [method for method in dir(sync) if not method.startswith("_") and callable(getattr(sync, method, None))]
    assert len(methods) > 4
    for method in methods:
        ours, theirs = getattr(front, method), getattr(sync, method)
        assert parameters(ours) == parameters(theirs), method
        assert ours.__doc__, method


def parameters(method: Any) -> list[tuple[str, Any]]:
    return [(one.name, one.default) for one in inspect.signature(method).parameters.values()]


def test_a_loop_of_sends_and_drains_lets_other_tasks_run(run: Run, broker: Broker) -> None:
    async def main() -> None:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with aio.Producer(broker.bootstrap_servers, linger_ms=1000) as producer:
            await producer.send("t", b"connected")
            counting = asyncio.create_task(count())
            for _ in range(100_000):
                producer.send("t", b"v")
                await producer.drain()
            counting.cancel()
        assert turns > 5

    run(main())


def test_a_fetch_asks_for_less_where_records_are_compressed_well(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, compression="zstd") as producer:
            for _ in range(100):
                producer.send_many("t", [b"v" * 100] * 2000)
                await producer.drain()
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["t"])
            count = 0
            while count < 200_000:
                records = await consumer.poll(timeout=PATIENT)
                count += len(records)
            (source,) = consumer._fetcher._sources.values()
            assert source.size < 1 << 20

    run(main())
