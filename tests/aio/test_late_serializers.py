"""Serializers that a producer on an event loop has to await: order, failures, flush, close, transactions."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Consumer, Producer, aio, errors, registry
from kwire.aio import door, serializing
from kwire.aio.serializing import LateDelivery
from kwire.errors import SerializationError
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.registry.server import RegistryServer, serving
from tests.timing import PATIENT


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with serving() as found:
        yield found


async def slow_json(value: Any, context: Any) -> bytes | None:
    """Takes the longer the smaller the value is."""
    await asyncio.sleep(0.02 / (1 + value))
    if value == 13:
        raise ValueError("unlucky")
    context.headers.append(("by", context.field.encode()))
    return json.dumps(value).encode()


def values(broker: Broker, **settings: Any) -> list[bytes | None]:
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", **settings) as consumer:
        consumer.assign([("t", 0)], until=consumer.end_offsets([("t", 0)]))
        return [record.value for record in consumer]


def test_records_are_sent_in_the_order_of_send(broker: Broker, run: Run) -> None:
    async def main() -> None:
        async with aio.Producer(
            broker.bootstrap_servers, value_serializer=slow_json, key_serializer="string"
        ) as producer:
            sent = [producer.send("t", n, key="k", headers=[("h", b"")]) for n in range(12)]
            assert not sent[0].done()
            with pytest.raises(errors.ConfigError, match="await the delivery"):
                sent[0].result()
            told: list[Any] = []
            sent[3].add_done_callback(told.append)
            assert [(await each).offset for each in sent] == list(range(12))
            assert sent[3].result().offset == 3
            assert "offset 3" in repr(sent[3])
        assert [each.exception() for each in told] == [None]

    run(main())
    assert values(broker) == [b"%d" % n for n in range(12)]


def test_what_cannot_be_serialized_is_the_error_of_its_delivery_and_of_the_flush(broker: Broker, run: Run) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, value_serializer=slow_json) as producer:
            seen = [producer.send("t", n) for n in (1, 13, 2)]
            with pytest.raises(
                SerializationError, match="the value for t cannot be serialized: ValueError: unlucky"
            ) as caught:
                await seen[1]
            assert (caught.value.topic, caught.value.field) == ("t", "value")
            await producer.flush()
            producer.send("t", 13)
            with pytest.raises(errors.DeliveryError, match="1 record could not be serialized") as both:
                await producer.flush()
            assert isinstance(both.value.exceptions[0], SerializationError)
            await producer.flush()

    run(main())
    assert values(broker) == [b"1", b"2"]


def test_close_waits_for_serializers_as_long_as_it_may(broker: Broker, run: Run) -> None:
    async def hangs(value: bytes) -> bytes:
        await asyncio.sleep(3600 if value == b"hang" else 0)
        return value

    async def main() -> None:
        producer = aio.Producer(broker.bootstrap_servers, value_serializer=hangs)
        first, hanging = producer.send("t", b"x"), producer.send("t", b"hang")
        with pytest.raises(errors.KafkaTimeoutError, match="serializers are still busy with 1 record"):
            await producer.flush(timeout=0.2)
        before = asyncio.get_running_loop().time()
        with pytest.raises(errors.DeliveryError):
            await producer.close(timeout=0.2)
        assert asyncio.get_running_loop().time() - before < 2
        assert (await first).offset == 0
        with pytest.raises(errors.ClientClosedError):
            await hanging
        with pytest.raises(errors.ClientClosedError):
            producer.send("t", b"y")

    run(main())


def test_a_transaction_has_what_was_sent_in_it(broker: Broker, run: Run) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, value_serializer=slow_json, transactional_id="x") as producer:
            async with producer.transaction():
                producer.send("t", 1)
            await producer.begin_transaction()
            producer.send("t", 2)
            await producer.abort_transaction()
            async with producer.transaction():
                producer.send("t", 3)

    run(main())
    assert values(broker, isolation_level="read_committed") == [b"1", b"3"]


def test_what_is_sent_outside_of_a_transaction_is_refused_and_not_kept_for_the_next(broker: Broker, run: Run) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, value_serializer=slow_json, transactional_id="x") as producer:
            await producer.init_transactions()
            with pytest.raises(errors.TransactionStateError, match="no transaction is open"):
                producer.send("t", 1)
            async with producer.transaction():
                producer.send("t", 2)

    run(main())
    assert values(broker, isolation_level="read_committed") == [b"2"]


def test_no_more_wait_than_may(broker: Broker, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serializing, "MAX_WAITING", 4)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, value_serializer=slow_json) as producer:
            for n in range(20):
                try:
                    producer.send("t", n if n != 13 else 0)
                except errors.BufferFull:
                    await producer.drain()
                    producer.send("t", n if n != 13 else 0)

    run(main())
    assert len(values(broker)) == 20


def test_records_wait_for_room_in_the_buffer_too(broker: Broker, run: Run) -> None:
    async def padded(value: bytes) -> bytes:
        return value * 20_000

    async def main() -> None:
        settings: Any = {"buffer_memory": 100_000, "batch_size": 30_000}
        async with aio.Producer(broker.bootstrap_servers, value_serializer=padded, **settings) as producer:
            for n in range(30):
                producer.send("t", b"%d" % (n % 10))

    run(main())
    assert [value[:1] for value in values(broker) if value] == [b"%d" % (n % 10) for n in range(30)]


def test_with_a_registry_records_wait_for_the_schema_alone(broker: Broker, server: RegistryServer, run: Run) -> None:
    async def main() -> list[type]:
        write = registry.AvroSerializer(aio.Registry(server.url), '"int"')
        async with aio.Producer(broker.bootstrap_servers, value_serializer=write) as producer:
            kinds = [type(producer.send("t", 1)), type(producer.send("t", 2))]
            await producer.flush()
            with pytest.raises(SerializationError):
                producer.send("t", "no int")
            await (last := producer.send("t", 3))
            return [*kinds, type(last)]

    kinds = run(main())
    assert kinds[:2] == [LateDelivery, LateDelivery]
    assert kinds[2] is not LateDelivery
    assert [value[-1:] for value in values(broker) if value] == [b"\x02", b"\x04", b"\x06"]
    assert server.asked.count("POST /subjects/t-value/versions") == 1


def test_a_registry_that_fails_fails_the_record(broker: Broker, server: RegistryServer, run: Run) -> None:
    async def main() -> None:
        r = aio.Registry("http://127.0.0.1:1", retries=0)
        async with aio.Producer(
            broker.bootstrap_servers, value_serializer=registry.AvroSerializer(r, '"int"')
        ) as producer:
            with pytest.raises(SerializationError, match="RegistryError"):
                await producer.send("t", 1)

    run(main())


def test_interceptors_see_what_was_given_and_what_became_of_it(broker: Broker, run: Run) -> None:
    seen: list[Any] = []

    class Watch:
        def on_send(self, topic: str, record: Any) -> None:
            seen.append(record.value)

        def on_acknowledged(self, metadata: Any, error: Any) -> None:
            seen.append(type(error) if metadata is None else metadata.offset)

    async def main() -> None:
        settings: Any = {"interceptors": [Watch()], "value_serializer": slow_json}
        async with aio.Producer(broker.bootstrap_servers, **settings) as producer:
            await producer.send("t", 5)
            with pytest.raises(SerializationError):
                await producer.send("t", 13)

    run(main())
    assert sorted(map(str, seen)) == sorted(map(str, [5, 0, 13, SerializationError]))


def test_cancelling_who_awaits_cancels_no_record(broker: Broker, run: Run) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, value_serializer=slow_json) as producer:
            delivery = producer.send("t", 0)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(delivery, 0.001)
            assert (await delivery).offset == 0

    run(main())


def test_a_producer_for_threads_refuses_what_has_to_be_awaited(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, value_serializer=slow_json) as producer:
        with pytest.raises(SerializationError, match="has to be awaited"):
            producer.send("t", 1)


def test_what_ends_the_task_that_serializes_is_named(broker: Broker, run: Run) -> None:
    class Stop(BaseException):
        pass

    async def stopping(value: Any, context: Any) -> bytes:
        raise Stop

    async def main() -> None:
        producer = aio.Producer(broker.bootstrap_servers, value_serializer=stopping)
        sent = [producer.send("t", n) for n in range(2)]
        [task] = [each for each in asyncio.all_tasks() if "_work" in repr(each.get_coro())]
        with pytest.raises(Stop):
            await task
        for delivery in sent:
            with pytest.raises(errors.ClientClosedError, match="was ended by Stop"):
                delivery.result()
        await producer.close()

    run(main())


def test_a_close_that_is_cancelled_delivers_what_waits_for_serializers_too(broker: Broker, run: Run) -> None:
    may_go_on = asyncio.Event()

    async def held(value: bytes) -> bytes:
        if value == b"held":
            await may_go_on.wait()
        return value

    async def send_and_cancel() -> None:
        async with (
            asyncio.timeout(0.1),
            aio.Producer(broker.bootstrap_servers, value_serializer=held, linger_ms=3_600_000) as producer,
        ):
            sent.extend(producer.send("t", value) for value in (b"first", b"held", b"last"))
        raise AssertionError("it was not cancelled")

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await send_and_cancel()
        await asyncio.sleep(0.05)
        gc.collect()
        [(_, rest)] = door._unfinished.values()
        assert rest.loss() == "2 records undelivered"
        del rest
        may_go_on.set()
        assert [(await each).offset for each in sent] == [0, 1, 2]

    sent: list[Any] = []
    run(main())
    assert values(broker) == [b"first", b"held", b"last"]


def test_a_producer_whose_close_was_cancelled_takes_no_more_and_can_be_closed_again(broker: Broker, run: Run) -> None:
    may_go_on = asyncio.Event()

    async def held(value: bytes) -> bytes:
        await may_go_on.wait()
        return value

    async def main() -> None:
        producer = aio.Producer(broker.bootstrap_servers, value_serializer=held)
        sent = producer.send("t", b"held")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(producer.close(), 0.05)
        with pytest.raises(errors.ClientClosedError):
            producer.send("t", b"more")
        asyncio.get_running_loop().call_later(0.05, may_go_on.set)
        await producer.close()
        assert (await sent).offset == 0

    run(main())
    assert values(broker) == [b"held"]


def test_a_serializer_that_awaited_what_was_cancelled_fails_its_record_alone(broker: Broker, run: Run) -> None:
    async def cancelled(value: bytes) -> bytes:
        if value == b"bad":
            future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            future.cancel()
            return await future
        return value

    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, value_serializer=cancelled) as producer:
            bad, good = producer.send("t", b"bad"), producer.send("t", b"good")
            with pytest.raises(SerializationError, match="the value for t cannot be serialized: CancelledError"):
                await bad
            assert (await good).offset == 0

    run(main())


def test_a_serializer_that_goes_on_after_it_was_cancelled_decides_nothing_any_more(broker: Broker, run: Run) -> None:
    ended = asyncio.Event()

    async def stubborn(value: bytes) -> bytes:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            ended.set()
        return value

    async def main() -> None:
        faults: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
        producer = aio.Producer(broker.bootstrap_servers, value_serializer=stubborn)
        sent = producer.send("t", b"x")
        [task] = [each for each in asyncio.all_tasks() if "_work" in repr(each.get_coro())]
        with pytest.raises(errors.DeliveryError):
            await producer.close(timeout=0.05)
        await asyncio.wait_for(ended.wait(), PATIENT)
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None
        with pytest.raises(errors.ClientClosedError, match="closed before the record was serialized"):
            await sent
        assert faults == []

    run(main())
