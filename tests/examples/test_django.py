"""The Django project: its server in one process and under gunicorn's forks, and its command that consumes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwire.testing import Broker
from tests.examples.running import Running, commands_for, free_port, run, running

httpx = pytest.importorskip("httpx")
pytest.importorskip("django")

MIGRATE, RUNSERVER, CONSUME, GUNICORN = commands_for("django_shop/")
NUMBERS = range(1, 41)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the programs are told of a database of this test."""
    return {"DATABASE": str(tmp_path / "shop.sqlite3"), "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}


@contextmanager
def shop(command: str, broker: Broker, database: dict[str, str]) -> Iterator[tuple[Running, httpx.Client]]:
    """A server, at the port that the command ends with."""
    with running(command, broker, **database) as program:
        address = f"http://127.0.0.1:{command.rpartition(':')[2]}"
        with httpx.Client(base_url=address, timeout=60) as client:
            program.until(lambda: answers(client))
            yield program, client


def answers(client: httpx.Client) -> bool:
    try:
        return bool(client.get("/orders/0/").status_code == 404)
    except httpx.TransportError:
        return False


def place(client: httpx.Client, cents: int) -> int:
    return int(client.post("/orders/", json={"customer": f"customer-{cents % 4}", "cents": cents}).status_code)


def is_billed(client: httpx.Client, number: int) -> bool:
    return bool(client.get(f"/orders/{number}/").json()["billed"])


def numbers_in(broker: Broker) -> list[int]:
    return sorted(json.loads(value)["number"] for value in broker.values("orders"))


def test_orders_are_sent_after_their_commit_and_billed_by_the_command(database: dict[str, str]) -> None:
    with Broker(topics={"orders": 3, "orders.dead": 1}) as broker:
        broker.append("orders", [b'{"number": 4711, "customer": "nobody", "cents": 1}'])
        run(MIGRATE, broker, **database)
        with shop(f"{RUNSERVER} --noreload 127.0.0.1:{free_port()}", broker, database) as (server, client):
            with running(CONSUME, broker, **database) as billing:
                assert place(client, 100_001) == 500
                with ThreadPoolExecutor(4) as callers:
                    assert set(callers.map(lambda cents: place(client, cents), NUMBERS)) == {201}
                server.until(lambda: all(is_billed(client, number) for number in NUMBERS))
                billing.until(lambda: broker.values("orders.dead"))
                assert billing.stop() == 0
                assert "all that was begun is billed" in billing.written()
        assert numbers_in(broker) == [*NUMBERS, 4711]


def test_each_worker_of_a_preloaded_server_makes_its_producer_and_delivers_at_its_end(database: dict[str, str]) -> None:
    with Broker(topics={"orders": 3}) as broker:
        run(MIGRATE, broker, **database)
        with shop(f"{GUNICORN} --bind 127.0.0.1:{free_port()}", broker, database) as (server, client):
            with ThreadPoolExecutor(4) as callers:
                assert set(callers.map(lambda cents: place(client, cents), NUMBERS)) == {201}
            client.close()  # its connections would be waited for
            assert server.stop() == 0
            assert "kwire:" not in server.written()
        assert numbers_in(broker) == [*NUMBERS]
