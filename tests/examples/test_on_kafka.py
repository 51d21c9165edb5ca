"""Each program of `examples/`, by the commands of its README, on an Apache Kafka that has no topic yet.

So topics are created by the first record, or the first subscription, and a group waits for its coordinator and for
`group.initial.rebalance.delay.ms`, as where somebody tries a program for the first time.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

import kwire
from kwire import Admin, Producer, errors
from tests.brokers import Cluster
from tests.examples.running import Running, commands_for, free_port, run, running
from tests.timing import PATIENT

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster("4.4.0", overrides={"group.initial.rebalance.delay.ms": "1000"}) as started:
        yield started


@pytest.fixture
def kafka(cluster: Cluster) -> Cluster:
    """The cluster, without what the test before has left behind."""
    with Admin(cluster.bootstrap_servers) as admin:
        groups = [group.group_id for group in admin.list_groups()]
        admin.delete_topics([topic for topic in admin.list_topics() if not topic.startswith("__")])
        give_up = time.monotonic() + PATIENT
        while groups:
            try:
                admin.delete_consumer_groups(groups)
                break
            except errors.broker.NonEmptyGroupError:  # a killed member's, until its session ends
                assert time.monotonic() < give_up
                time.sleep(0.2)
    return cluster


def asked(url: str, body: object = None) -> tuple[int, bytes]:
    request = Request(url, None if body is None else json.dumps(body).encode())
    if body is not None:
        request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=PATIENT) as answer:
        return answer.status, answer.read()


def up(program: Running, url: str) -> str:
    """The address, once something answers there."""

    def answers() -> bool:
        try:
            asked(url)
        except URLError as error:
            return hasattr(error, "code")
        return True

    program.until(answers)
    return url


def values(kafka: Cluster, topic: str) -> list[bytes]:
    """All of a topic; nothing where there is none."""
    with Admin(kafka.bootstrap_servers) as admin:
        if topic not in admin.list_topics():
            return []
    found: list[bytes] = kwire.read(topic, kafka.bootstrap_servers, columns=["value"])["value"].to_pylist()
    return found


def test_the_fastapi_service_stores_and_bills(kafka: Cluster) -> None:
    pytest.importorskip("fastapi")
    [command] = commands_for("fastapi_service.py")
    port = free_port()
    with running(f"{command} --port {port}", kafka) as program:
        url = up(program, f"http://127.0.0.1:{port}")
        assert [asked(f"{url}/orders", {"customer": "a", "cents": cents})[0] for cents in range(1, 6)] == [201] * 5
        program.until(lambda: asked(f"{url}/billed/a")[1] == b"15")
        assert asked(f"{url}/health")[0] == 200
        assert asked(f"{url}/clicks?page=index", {})[0] == 202
        assert program.stop() in (0, -signal.SIGTERM)
        assert "Warning" not in program.written()
    assert values(kafka, "clicks") == [b'"index"']


def test_the_django_shop_sends_and_bills_by_both_of_its_servers(kafka: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("django")
    migrate, runserver, consume, gunicorn = commands_for("django_shop/")
    database = {"DATABASE": str(tmp_path / "shop.sqlite3"), "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    run(migrate, kafka, **database)
    with running(consume, kafka, **database) as billing:
        port = free_port()
        with running(f"{runserver} 127.0.0.1:{port}", kafka, **database) as server:
            url = up(server, f"http://127.0.0.1:{port}")
            assert asked(f"{url}/orders/", {"customer": "a", "cents": 1}) == (201, b'{"number": 1}')
            billing.until(lambda: json.loads(asked(f"{url}/orders/1/")[1])["billed"])
        port = free_port()
        with running(f"{gunicorn} --bind 127.0.0.1:{port}", kafka, **database) as server:
            url = up(server, f"http://127.0.0.1:{port}")
            assert asked(f"{url}/orders/", {"customer": "a", "cents": 2}) == (201, b'{"number": 2}')
            billing.until(lambda: json.loads(asked(f"{url}/orders/2/")[1])["billed"])
            assert server.stop() == 0
        assert billing.stop() == 0
    assert [json.loads(value)["number"] for value in values(kafka, "orders")] == [1, 2]


def test_the_celery_tasks_deliver(kafka: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("celery")
    worker, call = commands_for("celery_tasks.py")
    queue = {"CELERY_QUEUE_FOLDER": str(tmp_path / "queue")}
    with running(f"{worker} --loglevel INFO --without-mingle", kafka, **queue) as program:
        program.until(lambda: " ready." in program.written())
        run(call, kafka, **queue)
        program.until(lambda: " succeeded in " in program.written())
        assert program.stop() == 0
    assert values(kafka, "clicks") == [b'"/index"']


def test_the_gunicorn_service_delivers_before_and_after_a_reload(kafka: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("gunicorn")
    [command] = commands_for("gunicorn_service/")
    port = free_port()
    with running(f"{command} --bind 127.0.0.1:{port}", kafka, HOME=str(tmp_path)) as program:
        url = up(program, f"http://127.0.0.1:{port}")
        program.until(lambda: program.written().count("Booting worker") == 3)
        assert asked(url, "one")[0] == 202
        program.process.send_signal(signal.SIGHUP)
        program.until(lambda: program.written().count("Worker exiting") == 3)
        assert asked(url, "two")[0] == 202
        assert program.stop() == 0
        assert "kwire:" not in program.written()
    assert {b'"one"', b'"two"'} <= set(values(kafka, "clicks"))


def test_the_faststream_service_bills_and_puts_aside(kafka: Cluster) -> None:
    pytest.importorskip("faststream")
    with running(commands_for("faststream_service/")[0], kafka) as program:
        with Producer(kafka.bootstrap_servers, value_serializer="json") as producer:
            producer.send("orders", {"customer": "a", "price": 100.0})
            producer.send("orders", {"customer": "a", "price": -1})
        program.until(lambda: values(kafka, "invoices") and values(kafka, "orders.dead"))
        assert program.stop() == 0
    assert [json.loads(value)["total"] for value in values(kafka, "invoices")] == [119.0]
    assert [json.loads(value)["price"] for value in values(kafka, "orders.dead")] == [-1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_many_processes_add_up_what_they_have_written(kafka: Cluster, method: str) -> None:
    said = run(f"{commands_for('many_processes.py')[0]} --method {method} --processes 2 --orders 20000", kafka)
    assert said.startswith("20,000 orders written; of all in 'orders-of-many' owe\n")
    assert len(said.splitlines()) == 11


def test_the_notebook_runs_to_its_end(kafka: Cluster, tmp_path: Path) -> None:
    for needed in ("nbclient", "ipykernel", "pandas", "polars"):
        pytest.importorskip(needed)
    [command] = commands_for("orders.ipynb")
    run(f"{command} --output {tmp_path / 'run'}", kafka, HOME=str(tmp_path))
    assert sum(json.loads(value)["orders"] for value in values(kafka, "bills")) == 1000
