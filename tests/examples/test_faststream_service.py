"""FastStream on kwire, by the service in `examples/faststream_service/`, with the embedded broker."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("faststream", reason="FastStream is not installed: pip install --group examples")

from examples.faststream_service import app as service
from examples.faststream_service.broker import KwireBroker
from faststream import BaseMiddleware, Context, FastStream
from faststream.exceptions import FeatureNotSupportedException, StopConsume
from faststream.specification import AsyncAPI
from pydantic import BaseModel

from kwire import records
from kwire.testing import Broker
from tests.timing import PATIENT

ROOT = Path(__file__).parents[2]


class Click(BaseModel):
    """What is sent here."""

    page: str


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(topics={"orders": 2, "invoices": 1, "orders.dead": 1, "clicks": 1, "answers": 1}) as started:
        yield started


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENT):
        while not condition():
            await asyncio.sleep(0.01)


def sizes(kafka: Broker) -> dict[str, int]:
    """How many records were written to each topic."""
    return {topic: len(kafka.values(topic)) for topic in ("invoices", "orders.dead")}


def with_broker(kafka: Broker, work: Callable[[KwireBroker], Awaitable[None]], **options: Any) -> None:
    """Runs `work` with a broker whose subscribers it declares and starts."""

    async def run() -> None:
        broker = KwireBroker(kafka.bootstrap_servers, **options)
        try:
            await work(broker)
        finally:
            await broker.stop()

    asyncio.run(run())


def test_the_service_bills_orders_as_a_process_and_ends_on_sigterm(kafka: Broker) -> None:
    orders = [{"customer": f"customer-{number % 3}", "price": number + 1.0} for number in range(20)]
    kafka.append("orders", [json.dumps(each).encode() for each in orders[:10]])
    kafka.append("orders", [json.dumps(each).encode() for each in orders[10:]], partition=1)
    kafka.append("orders", [b'{"customer": "customer-1", "price": -1}'])
    command = [sys.executable, "-m", "faststream", "run", "examples.faststream_service.app:app"]
    environment = os.environ | {
        "KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    }
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        asyncio.run(until(lambda: process.poll() is not None or sizes(kafka) == {"invoices": 20, "orders.dead": 1}))
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=PATIENT)
    finally:
        process.kill()
    assert process.returncode == 0, said
    written = records.decode(kafka.record_set("invoices"))
    invoices = [json.loads(each.value or b"") for each in written]
    assert sorted(each["total"] for each in invoices) == [round(1.19 * (number + 1), 2) for number in range(20)]
    assert {each.key for each in written} == {b"customer-0", b"customer-1", b"customer-2"}
    assert {dict(each.headers)["content-type"] for each in written} == {b"application/json"}
    [dead] = records.decode(kafka.record_set("orders.dead"))
    assert dict(dead.headers)["kwire.error.type"].endswith(b"ValidationError")


def test_what_was_handled_is_committed_when_the_service_ends(kafka: Broker) -> None:
    seen: list[str] = []

    async def work(broker: KwireBroker) -> None:
        @broker.subscriber("clicks", group_id="counting")
        async def count(click: Click) -> None:
            seen.append(click.page)

        await broker.start()
        await broker.publish(Click(page=f"/{len(seen)}"), "clicks")
        before = len(seen)
        await until(lambda: len(seen) > before)

    with_broker(kafka, work)
    with_broker(kafka, work)
    assert seen == ["/0", "/1"]


def test_a_handler_that_raises_is_called_again_and_middlewares_see_every_call(kafka: Broker) -> None:
    calls: list[str] = []

    class Noted(BaseMiddleware):
        async def consume_scope(self, call_next: Any, msg: Any) -> Any:
            calls.append(f"{msg.message_id} {msg.headers['from']}")
            return await call_next(msg)

    async def work(broker: KwireBroker) -> None:
        @broker.subscriber("clicks", group_id="trying", retries=2, backoff=0.01)
        async def fail_twice(click: Click) -> None:
            if len(calls) < 3:
                raise RuntimeError("not yet")

        await broker.start()
        await broker.publish({"page": "/"}, "clicks", headers={"from": "test"})
        await until(lambda: len(calls) == 3)

    with_broker(kafka, work, middlewares=[Noted])
    assert calls == ["clicks-0-0 test"] * 3


def test_answers_go_to_the_topic_that_a_message_asks_for(kafka: Broker) -> None:
    async def work(broker: KwireBroker) -> None:
        @broker.subscriber("clicks", group_id="answering")
        async def answer(click: Click, key: bytes = Context("message.raw_message.key")) -> dict[str, str]:
            return {"of": click.page, "key": key.decode()}

        answers = broker.subscriber("answers", group_id="asking", auto_offset_reset="earliest")
        await broker.start()
        assert await broker.ping(PATIENT)
        placed = await broker.publish(Click(page="/a"), "clicks", key=b"k", reply_to="answers", correlation_id="7")
        assert (placed.topic, placed.offset) == ("clicks", 0)
        message = await answers.get_one(timeout=PATIENT)
        assert message is not None
        assert (await message.decode(), message.correlation_id) == ({"of": "/a", "key": "k"}, "7")
        with pytest.raises(FeatureNotSupportedException):
            await broker.request(Click(page="/b"), "clicks")

    with_broker(kafka, work)


def test_stop_consume_ends_that_subscriber_and_commits(kafka: Broker) -> None:
    seen: list[str] = []

    async def work(broker: KwireBroker) -> None:
        @broker.subscriber("clicks", group_id="stopping", concurrency=1)
        async def stop_at_second(click: Click) -> None:
            seen.append(click.page)
            if len(seen) == 2:
                raise StopConsume

        publisher = broker.publisher("clicks")
        [subscriber] = broker.subscribers
        await broker.start()
        for number in range(5):
            await publisher.publish(Click(page=f"/{number}"), key=b"k")
        await until(lambda: not subscriber.running)

    with_broker(kafka, work)
    assert seen[:2] == ["/0", "/1"]


def test_the_asyncapi_page_has_topics_and_the_shape_of_messages() -> None:
    page = AsyncAPI(service.broker).to_specification().to_jsonable()
    assert {each["address"] for each in page["channels"].values()} == {"orders", "invoices"}
    assert page["servers"]["development"]["protocol"] == "kafka"
    assert {"Order", "Invoice"} <= set(page["components"]["schemas"])


def test_a_worker_that_cannot_go_on_ends_the_service(kafka: Broker) -> None:
    async def run() -> None:
        broker = KwireBroker(kafka.bootstrap_servers)

        @broker.subscriber("clicks", group_id="refused", retries=0)
        async def fail(click: Click) -> None:
            raise RuntimeError("no dead letters")

        await asyncio.wait_for(FastStream(broker).run(), PATIENT)

    kafka.append("clicks", [b'{"page": "/"}'])
    asyncio.run(run())
    assert kafka.offsets("clicks") == (0, 1)
