"""`kwire.aio.Producer` with a transactional_id."""

# ruff: noqa: PT012 - a transaction is a block

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import aio, errors
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.errors import ProducerFencedError, TransactionError, TransactionStateError
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.timing import PATIENT

GROUP = ConsumerGroupMetadata.outside("g")


@pytest.fixture(params=[1, 2])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(topics={"t": 1, "in": 1}, features={"transaction.version": request.param}) as running:
        yield running


def made(broker: Broker, **given: Any) -> aio.Producer:
    return aio.Producer(broker.bootstrap_servers, transactional_id="tx", **given)


async def committed(broker: Broker, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    async with aio.Consumer(
        broker.bootstrap_servers, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        consumer.assign([("t", 0)])
        while len(found) < count:
            found += (await consumer.poll(timeout=1)).values()
        found += (await consumer.poll(timeout=0.2)).values()
    return found


def test_a_block_commits_or_aborts(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with made(broker) as producer:
            async with producer.transaction():
                producer.send("t", b"a")
                await producer.send_offsets_to_transaction({("in", 0): 3}, GROUP)
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction():
                    await producer.send("t", b"gone")
                    raise ZeroDivisionError
            async with producer.transaction():
                producer.send("t", b"b")
        assert await committed(broker, 2) == [b"a", b"b"]

    run(main())


def test_javas_names(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with made(broker) as producer:
            with pytest.raises(TransactionStateError):
                producer.send("t", b"never")
            await producer.init_transactions()
            await producer.begin_transaction()
            producer.send("t", b"a")
            await producer.commit_transaction()
            await producer.begin_transaction()
            await producer.send("t", b"gone")
            await producer.abort_transaction()
        assert await committed(broker, 1) == [b"a"]

    run(main())


def test_a_cancelled_block_aborts(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with made(broker) as producer:
            await producer.init_transactions()

            async def block() -> None:
                async with producer.transaction():
                    await producer.send("t", b"gone")
                    sent.set()
                    await asyncio.sleep(PATIENT)

            sent = asyncio.Event()
            task = asyncio.create_task(block())
            await sent.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with producer.transaction():
                producer.send("t", b"kept")
        assert await committed(broker, 1) == [b"kept"]

    run(main())


def test_a_cancelled_commit_goes_on(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with made(broker) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.send("t", b"v")
            broker.faults.delay("EndTxn", 60)
            task = asyncio.create_task(producer.commit_transaction())
            await asyncio.to_thread(broker.wait_for_waiting, timeout=PATIENT)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            broker.clock.advance(60)
            await producer.commit_transaction()
        assert await committed(broker, 1) == [b"v"]

    run(main())


def test_fencing_and_failed_records(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with made(broker) as first, made(broker) as second:
            await first.init_transactions()
            broker.faults.error("Produce", errors.broker.InvalidRecordError)
            with pytest.raises(TransactionError) as caught:
                async with first.transaction():
                    first.send("t", b"bad")
            assert caught.value.abortable
            with pytest.raises(ProducerFencedError):
                async with first.transaction():
                    await first.send("t", b"old")
                    await second.init_transactions()
                    first.send("t", b"more")
            async with second.transaction():
                second.send("t", b"new")
        assert await committed(broker, 1) == [b"new"]

    run(main())


def test_closing_aborts_what_is_open(run: Run, broker: Broker) -> None:
    async def main() -> None:
        producer = made(broker)
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("t", b"open")
        await producer.close()
        async with made(broker) as another, another.transaction():
            another.send("t", b"next")
        assert await committed(broker, 1) == [b"next"]

    run(main())
