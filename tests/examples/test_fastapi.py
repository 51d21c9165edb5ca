"""The FastAPI service under uvicorn, on asyncio's own event loop and on uvloop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from kwire.testing import Broker
from tests.examples.running import Running, commands_for, free_port, running

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")

LOOPS = ("asyncio", "uvloop")


@contextmanager
def service(broker: Broker, *options: str) -> Iterator[tuple[Running, httpx.Client]]:
    [command] = commands_for("fastapi_service.py")
    port = free_port()
    with running(f"{command} --port {port} {' '.join(options)}", broker) as program:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            program.until(lambda: is_up(client))
            yield program, client


def is_up(client: httpx.Client) -> bool:
    try:
        return bool(client.get("/billed/nobody").is_success)
    except httpx.TransportError:
        return False


def is_healthy(client: httpx.Client) -> bool:
    return bool(client.get("/health").status_code == 200)


@pytest.mark.parametrize("loop", LOOPS)
def test_orders_are_stored_billed_counted_and_delivered_at_the_end(loop: str) -> None:
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    with Broker(topics={"orders": 3, "clicks": 1}) as broker, service(broker, "--loop", loop) as (program, client):
        with ThreadPoolExecutor(8) as callers:
            orders = [{"customer": f"customer-{number % 4}", "cents": number} for number in range(40)]
            answers = list(callers.map(lambda order: client.post("/orders", json=order), orders))
        assert [answer.status_code for answer in answers] == [201] * 40
        places = {(answer.json()["partition"], answer.json()["offset"]) for answer in answers}
        assert len(places) == 40
        expected = sum(range(3, 40, 4))
        program.until(lambda: client.get("/billed/customer-3").json() == expected)
        program.until(lambda: is_healthy(client))
        page = client.get("/metrics").text
        assert 'kwire_producer_record_send_total{client_id="orders-api",topic="orders"} 40.0' in page
        assert 'kwire_consumer_records_consumed_total{client_id="orders-billing",topic="orders"} 40.0' in page
        for number in range(50):
            assert client.post("/clicks", params={"page": f"page-{number}"}).status_code == 202
        assert program.stop() in (0, -signal.SIGTERM)  # uvicorn ends by the signal that it got, once all is closed
        assert broker.values("clicks") == [b'"page-%d"' % number for number in range(50)]
        assert "Application shutdown complete" in program.written()
        assert "Warning" not in program.written()


@pytest.mark.nightly
def test_a_task_that_failed_makes_the_service_unhealthy() -> None:
    with Broker(topics={"orders": 1}) as broker, service(broker) as (program, client):
        broker.append("orders", [b"no JSON"])
        program.until(lambda: client.get("/health").json()["billing"] != "runs")
        answer = client.get("/health")
        assert answer.status_code == 503
        assert "Invalid JSON" in answer.json()["billing"]
        program.stop()
        assert "Application shutdown complete" in program.written()


@pytest.mark.nightly
def test_without_a_broker_it_answers_503_and_recovers() -> None:
    with Broker(topics={"orders": 1}) as broker, service(broker) as (program, client):
        program.until(lambda: is_healthy(client))
        broker.kill(1)
        answer = client.post("/orders", json={"customer": "c", "cents": 1})
        assert answer.status_code == 503
        assert "127.0.0.1" in answer.json()["detail"]
        program.until(lambda: not is_healthy(client))
        broker.revive(1)
        program.until(lambda: is_healthy(client))
        assert client.post("/orders", json={"customer": "c", "cents": 1}).status_code == 201
