"""The event loop's driver where brokers, networks and programs misbehave: nothing lost, doubled or held up."""

from __future__ import annotations

import asyncio
import random
import select
import socket
import time
from typing import Any
from unittest.mock import Mock, patch

import pytest

from kwire import aio, errors
from kwire.testing import Broker
from kwire.testing.answers import b03_metadata
from tests.aio.conftest import Run, raised
from tests.timing import PATIENT, SOON


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_connections_that_end_lose_and_double_nothing(run: Run, tls: bool) -> None:
    rng = random.Random(4)
    sent = [b"%d" % number for number in range(3000)]
    read: list[bytes | None] = []

    async def produce(broker: Broker) -> None:
        async with aio.Producer(broker.bootstrap_servers, linger_ms=1, **broker.client_settings) as producer:
            for value in sent:
                producer.send("t", value)
                if rng.random() < 0.05:
                    await asyncio.sleep(rng.random() * 0.01)

    async def consume(broker: Broker) -> None:
        settings = {"auto_offset_reset": "earliest", **broker.client_settings}
        async with aio.Consumer(broker.bootstrap_servers, **settings) as consumer:
            consumer.subscribe(["t"])
            async for record in consumer:
                read.append(record.value)
                if len(read) == len(sent):
                    return

    async def main(broker: Broker) -> None:
        working = asyncio.gather(produce(broker), consume(broker))
        for _ in range(10):
            await asyncio.sleep(0.05)
            broker.close_connections()
        await working

    with Broker(topics={"t": 1}, tls=tls) as broker:
        run(main(broker))
        assert broker.values("t") == read == sent


def test_a_broker_that_hangs_up_in_an_answer(run: Run, broker: Broker) -> None:
    broker.append("t", [b"v" * 1000] * 100)

    async def main() -> None:
        broker.faults.truncate("Fetch", 50_000)
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["t"])
            assert (await consumer.poll(timeout=PATIENT)).values() == [b"v" * 1000] * 100

    run(main())


def test_a_slow_broker_holds_back_only_its_own_requests(run: Run, broker: Broker) -> None:
    """What the socket does not take stays in the connection; the loop turns, and other connections go on."""

    async def main() -> None:
        with Broker(topics={"t": 1}) as other:
            async with (
                aio.Producer(broker.bootstrap_servers, send_buffer_bytes=4096, linger_ms=0) as slow,
                aio.Producer(other.bootstrap_servers, linger_ms=0) as quick,
            ):
                await slow.send("t", b"connected")
                broker.faults.delay("Produce", 25)
                deliveries = slow.send_many("t", [b"v" * 900_000] * 10)
                for _ in range(20):
                    await asyncio.sleep(0)
                assert not deliveries[-1].done()
                for _ in range(50):
                    await quick.send("t", b"v")
                await asyncio.to_thread(broker.wait_for_waiting, timeout=PATIENT)
                assert not deliveries[-1].done()
                assert any(sock.paused for sock in slow._driver._sockets.values())
                broker.clock.advance(25)
                await slow.flush()
                assert [delivery.result().offset for delivery in deliveries] == list(range(1, 11))

    run(main())


def test_records_without_acknowledgement_are_all_written(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, acks=0, send_buffer_bytes=4096) as producer:
            assert (await producer.send("t", b"0")).offset == -1
            for number in range(1, 500):
                producer.send("t", b"%d" % number * 300)
                await producer.drain()

    run(main())
    assert broker.values("t") == [b"0", *(b"%d" % number * 300 for number in range(1, 500))]


def test_bytes_that_are_not_kafka_close_the_connection(run: Run) -> None:
    async def main() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await reader.read()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with aio.Admin(f"127.0.0.1:{port}") as admin:
            await raised(lambda: admin.list_topics(timeout=0.5), "not a Kafka broker")
        server.close()
        await asyncio.sleep(0.01)

    run(main())


def test_a_port_where_nothing_listens_is_told(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        async def main() -> None:
            async with aio.Admin(f"127.0.0.1:{port}") as admin:
                await raised(lambda: admin.list_topics(timeout=0.3), "Connection refused")

        run(main())


def test_a_name_that_nobody_knows_is_told(run: Run) -> None:
    async def main() -> None:
        async with aio.Admin("no-such-host.invalid:9092,127.0.0.1:1") as admin:
            with pytest.raises(errors.ConnectError, match="cannot be resolved") as failed:
                await admin.list_topics(timeout=1)
            kinds = {address: cause.kind for address, cause in failed.value.causes.items()}
            assert kinds == {"no-such-host.invalid:9092": "unresolved", "127.0.0.1:1": "refused"}

    run(main())


def test_a_name_is_looked_up_beside_the_loop(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Admin(f"localhost:{broker.bootstrap_servers.rpartition(':')[2]}") as admin:
            assert await admin.list_topics() == ["t", "wide"]

    run(main())


def test_a_step_that_is_cut_is_recovered_from(run: Run, broker: Broker) -> None:
    """As Ctrl-C does on loops that do not catch it: the next step begins anew, and what was in flight is sent again."""

    class CutError(BaseException):
        """Not an Exception, as KeyboardInterrupt."""

    async def main() -> None:
        def cut(now: float) -> None:
            raise CutError

        async with aio.Producer(broker.bootstrap_servers, linger_ms=0) as producer:
            await producer.send("t", b"0")
            for number in range(1, 20):
                delivery = producer.send("t", b"%d" % number)
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                with pytest.raises(CutError):
                    producer._driver.step(cut)
                assert (await delivery).offset == number

    run(main())
    assert broker.values("t") == [b"%d" % number for number in range(20)]


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_recovery_that_is_cut_itself_is_gone_through_again(
    run: Run, broker: Broker, error: type[BaseException]
) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, linger_ms=0) as producer:
            await producer.send("t", b"0")
            driver, core = producer._driver, producer._core
            recover, failures = core.recover, [error] * 3

            def cut(now: float) -> None:
                if failures:
                    raise failures.pop()
                recover(now)

            with patch.object(core, "recover", cut):
                for _ in range(3):
                    with pytest.raises(error):
                        driver.step(cut)
                assert core.dirty
                delivery = producer.send("t", b"1")
                assert (await delivery).offset == 1

    run(main())
    assert broker.values("t") == [b"0", b"1"]


def test_what_the_loop_could_not_be_given_for_lack_of_memory_it_is_given_by_a_later_step(
    run: Run, broker: Broker
) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, linger_ms=0) as producer:
            await producer.send("t", b"0")
            driver, loop = producer._driver, asyncio.get_running_loop()
            told: list[str] = []

            def refuse(*given: object, **how: object) -> None:
                raise MemoryError

            with patch.object(driver, "_schedule_callbacks", refuse), pytest.raises(MemoryError):
                driver.step(lambda now: driver.core.after_step.append(lambda: told.append("callback")))
            driver.step(lambda now: None)
            await asyncio.sleep(0)
            assert told == ["callback"]

            def ring(seconds: float) -> None:
                driver.core._timers.call_at(time.monotonic() + seconds, lambda now: told.append("timer"))

            driver.step(lambda now: ring(2 * PATIENT))
            driver._loop = Mock(wraps=loop, call_later=refuse)
            with pytest.raises(MemoryError):
                driver.step(lambda now: ring(0.01))
            driver._loop = loop
            driver.step(lambda now: None)
            while "timer" not in told:
                await asyncio.sleep(0.01)
            assert told == ["callback", "timer"]

    run(main())


def test_a_loop_that_stood_still_reads_before_it_calls_anything_late(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Admin(broker.bootstrap_servers, request_timeout_ms=1000) as admin:
            await admin.list_topics()
            for _ in range(3):
                asking = asyncio.ensure_future(admin.list_topics())
                await asyncio.sleep(0)
                time.sleep(1.2)
                sockets = [each.transport.get_extra_info("socket") for each in admin._driver._sockets.values()]
                assert select.select(sockets, [], [], PATIENT)[0]
                await asking
        assert broker.request_count("ApiVersions") <= 2

    run(main())


def test_many_clients_on_one_loop(run: Run, broker: Broker) -> None:
    async def main() -> None:
        producers = [aio.Producer(broker.bootstrap_servers, linger_ms=0) for _ in range(50)]

        async def work(producer: aio.Producer) -> None:
            async with producer:
                for _ in range(20):
                    await producer.send("t", b"v")

        await asyncio.gather(*map(work, producers))

    run(main())
    assert len(broker.values("t")) == 1000


def test_a_flush_and_a_drain_that_wait_end_with_a_close(run: Run) -> None:
    async def main() -> None:
        settings: dict[str, Any] = {"buffer_memory": 4000, "delivery_timeout_ms": 60_000}
        producer = aio.Producer("127.0.0.1:1", **settings)
        producer.send_many("t", [b"v" * 100] * 15)
        waiting = [asyncio.ensure_future(work) for work in (producer.flush(), producer.drain())]
        await asyncio.sleep(0.01)
        began = time.monotonic()
        with pytest.raises(errors.DeliveryError):
            await producer.close(timeout=0.1)
        done, _ = await asyncio.wait(waiting, timeout=SOON)
        assert len(done) == 2
        for each in waiting:
            each.exception()
        assert time.monotonic() - began < SOON

    run(main())


async def awaited(delivery: aio.Delivery) -> object:
    return await delivery


@pytest.mark.parametrize("port", [-1, 65536, 2**31 - 1])
def test_a_port_that_cannot_be_is_an_error_of_that_address(
    port: int, run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    truth = b03_metadata.answer

    def lie(context: Any) -> Any:
        response = truth(context)
        response.brokers[0].port = port
        return response

    async def main(broker: Broker) -> None:
        settings: dict[str, Any] = {"delivery_timeout_ms": 500, "request_timeout_ms": 400, "linger_ms": 0}
        async with aio.Producer(broker.bootstrap_servers, **settings) as producer:
            monkeypatch.setattr(b03_metadata, "answer", lie)
            await raised(lambda: awaited(producer.send("t", b"v")), f"could not connect: 127.0.0.1:{port}: ")
            monkeypatch.undo()
            await producer.send("t", b"w")

    with Broker(topics={"t": 1}) as broker:
        run(main(broker))
    assert [record for record in caplog.records if record.exc_info] == []
