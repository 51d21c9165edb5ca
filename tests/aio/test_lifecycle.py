"""Which loop a client belongs to, and what becomes of it when that ends, or when nobody closes it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import kwire
from kwire import aio, errors, records
from kwire.testing import Broker
from tests.aio.conftest import LOOPS, Run
from tests.timing import PATIENT

CLIENTS: list[Callable[..., Any]] = [aio.Producer, aio.Consumer, aio.Admin]


async def use(client: Any) -> None:
    """Some exchange with the broker."""
    if isinstance(client, aio.Producer):
        await client.send("t", b"v")
    elif isinstance(client, aio.Consumer):
        assert await client.end_offsets([("t", 0)]) == {("t", 0): 0}
    else:
        assert "t" in await client.list_topics()


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_belongs_to_the_loop_of_its_first_use(kind: Callable[..., Any], run: Run, broker: Broker) -> None:
    clients: list[Any] = []

    async def first() -> None:
        clients.append(kind(broker.bootstrap_servers))
        await use(clients[0])

    async def second() -> None:
        with pytest.raises(errors.ConcurrentUseError, match=r"belongs to the event loop of its first use.*make one"):
            await use(clients[0])
        with pytest.raises(errors.ConcurrentUseError, match="event loop"):
            async with clients[0]:
                pass

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        run(first())
        run(second())
        clients.clear()
        gc.collect()


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_needs_a_running_loop(kind: Callable[..., Any], broker: Broker) -> None:
    client = kind(broker.bootstrap_servers)
    use_now: dict[Any, Callable[[], Any]] = {
        aio.Producer: lambda: client.send("t", b"v"),
        aio.Consumer: lambda: client.subscribe(["t"]),
        aio.Admin: lambda: client.list_topics().send(None),
    }
    with pytest.raises(errors.ConcurrentUseError, match="inside a coroutine"):
        use_now[kind]()


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_of_another_loop_closes_what_it_has(kind: Callable[..., Any], run: Run, broker: Broker) -> None:
    clients: list[Any] = []

    async def first() -> None:
        clients.append(kind(broker.bootstrap_servers))
        await use(clients[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        run(first())
        run(clients[0].close())
        assert not clients[0]._driver.has_resources
        clients.clear()
        gc.collect()


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", ["Producer", "Consumer", "Admin"])
def test_a_loop_that_ends_under_a_client_is_warned_of(kind: str, loop: str, broker: Broker) -> None:
    code = f"""
        import asyncio
        from tests.aio.conftest import LOOPS
        from tests.aio.test_lifecycle import use
        from kwire import aio

        async def main():
            client = aio.{kind}({broker.bootstrap_servers!r})
            await use(client)
            return client

        with asyncio.Runner(loop_factory=LOOPS[{loop!r}]) as runner:
            client = runner.run(main())
        del client
        print("ended")
    """
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout == "ended\n"
    assert f"ResourceWarning: <{kind}" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_ends_after_a_close_was_cancelled_is_warned_of(loop: str) -> None:
    code = f"""
        import asyncio
        from tests.aio.conftest import LOOPS
        from kwire import aio

        async def main():
            producer = aio.Producer("127.0.0.1:1")
            producer.send_many("t", [b"a", b"b"])
            closing = asyncio.ensure_future(producer.close())
            await asyncio.sleep(0.01)
            closing.cancel()
            await asyncio.wait([closing])
            assert not producer._driver.closed

        with asyncio.Runner(loop_factory=LOOPS[{loop!r}]) as runner:
            runner.run(main())
        print("ended")
    """
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout == "ended\n"
    assert "the event loop of a producer ended with 2 records undelivered, as its close() was cancelled" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_that_is_dropped_warns_and_closes_its_connections(
    kind: Callable[..., Any], run: Run, broker: Broker
) -> None:
    async def main() -> None:
        client = kind(broker.bootstrap_servers)
        await use(client)
        driver = client._driver
        with pytest.warns(ResourceWarning, match="was not closed"):  # noqa: PT031
            del client
            gc.collect()
        while driver.has_resources:
            await asyncio.sleep(0.001)

    run(main())


def test_a_producer_that_is_dropped_delivers_what_it_has(run: Run, broker: Broker) -> None:
    async def main() -> None:
        producer = aio.Producer(broker.bootstrap_servers)
        deliveries = producer.send_many("t", [b"a", b"b"])
        with pytest.warns(ResourceWarning, match=r"2 records undelivered: await flush\(\) or close\(\)"):  # noqa: PT031
            del producer
            gc.collect()
        assert [(await delivery).offset for delivery in deliveries] == [0, 1]

    run(main())


def test_a_fork_is_told_to_make_its_own(broker: Broker) -> None:
    code = f"""
        import asyncio, os
        from kwire import aio, errors
        from tests.aio.test_lifecycle import use

        async def main():
            clients = [kind({broker.bootstrap_servers!r}) for kind in (aio.Consumer, aio.Producer, aio.Admin)]
            for client in clients:
                await use(client)
            if os.fork() == 0:
                told = 0
                for client in clients:
                    try:
                        await use(client)
                    except errors.ClientClosedError as error:
                        told += "after a fork" in str(error)
                os._exit(10 + told)
            _, status = os.wait()
            for client in clients:
                await client.close()
            print(os.waitstatus_to_exitcode(status))

        asyncio.run(main())
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "13\n", ran.stderr


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_pickles_as_its_configuration(kind: Callable[..., Any], run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with pickle.loads(pickle.dumps(kind(broker.bootstrap_servers, client_id="c"))) as client:
            assert client.settings.client_id == "c"
            await use(client)
        await client.close()
        with pytest.raises(errors.ClientClosedError):
            await use(client)

    run(main())


def test_an_exception_in_the_block_passes_after_a_flush(run: Run, broker: Broker) -> None:
    async def main() -> None:
        with pytest.raises(ZeroDivisionError):  # noqa: PT012
            async with aio.Producer(broker.bootstrap_servers) as producer:
                producer.send("t", b"v")
                raise ZeroDivisionError

    run(main())
    assert records.decode(broker.record_set("t")).values() == [b"v"]


def test_what_a_close_has_to_say_is_a_note_on_the_exception(run: Run) -> None:
    async def main() -> None:
        with pytest.raises(ZeroDivisionError) as raised:  # noqa: PT012
            async with aio.Producer("127.0.0.1:1", delivery_timeout_ms=50, request_timeout_ms=40) as producer:
                producer.send("t", b"v")
                raise ZeroDivisionError
        assert "could not be delivered" in raised.value.__notes__[0]

    run(main())


def test_a_callback_that_raises_is_logged(run: Run, broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            delivery = producer.send("t", b"v")
            told: list[int] = []
            delivery.add_done_callback(lambda d: 1 // 0)
            delivery.add_done_callback(lambda d: told.append(d.result(0).offset))
            delivery.add_done_callback(lambda d: producer.send("t", b"from a callback"))
            await delivery
            await asyncio.sleep(0.01)
            assert told == [0]
            await producer.flush()

    with caplog.at_level(logging.ERROR, logger="kwire.clients"):
        run(main())
    assert [record.getMessage() for record in caplog.records] == ["a delivery callback raised"]
    assert records.decode(broker.record_set("t")).values() == [b"v", b"from a callback"]


def test_to_wait_without_await_is_refused(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            delivery = producer.send("t", b"v")
            with pytest.raises(errors.ConcurrentUseError, match="await the delivery"):
                delivery.result()
            with pytest.raises(errors.KafkaTimeoutError):
                delivery.result(timeout=0)
            await delivery

    run(main())


def test_send_from_another_thread_is_refused(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            await producer.send("t", b"v")
            for _ in range(2):
                with pytest.raises(errors.ConcurrentUseError):
                    await asyncio.get_running_loop().run_in_executor(None, producer.send, "t", b"w")
                producer.send("t", b"v")

    run(main())


def test_wakeup_comes_from_any_thread(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Consumer(broker.bootstrap_servers) as consumer:
            consumer.subscribe(["t"])
            waiting = asyncio.create_task(consumer.poll(timeout=PATIENT))
            await asyncio.sleep(0.01)
            await asyncio.get_running_loop().run_in_executor(None, consumer.wakeup)
            assert not await waiting

    run(main())


def test_a_delivery_of_a_producer_of_threads_can_be_awaited(run: Run, broker: Broker) -> None:
    async def main() -> None:
        with kwire.Producer(broker.bootstrap_servers) as producer:
            assert (await producer.send("t", b"v")).offset == 0
            sent = producer.send_many("t", [b"w"] * 100)
            assert [metadata.offset for metadata in await asyncio.gather(*sent)] == list(range(1, 101))
            waiting = asyncio.ensure_future(producer.send("t", b"x"))
            await asyncio.sleep(0)
            waiting.cancel()
            producer.flush()

    run(main())


def test_no_thread_is_begun(broker: Broker) -> None:
    code = f"""
        import asyncio, threading
        from kwire import aio
        from tests.aio.test_lifecycle import use

        async def main():
            for kind in (aio.Consumer, aio.Producer, aio.Admin):
                async with kind({broker.bootstrap_servers!r}) as client:
                    await use(client)
                    print(threading.active_count())

        asyncio.run(main())
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert ran.stdout == "1\n1\n1\n", ran.stderr


def test_close_ends_a_call_of_an_admin_that_waits(run: Run, broker: Broker) -> None:
    async def main() -> None:
        broker.faults.mute("Metadata")
        admin = aio.Admin(broker.bootstrap_servers)
        asking = asyncio.create_task(admin.list_topics())
        await asyncio.sleep(0.05)
        await admin.close()
        with pytest.raises(errors.KafkaError, match="closed"):
            await asking

    run(main())
