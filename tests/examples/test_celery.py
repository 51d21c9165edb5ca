"""The Celery tasks in a prefork worker, and what becomes of a producer that its master made."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kwire.testing import Broker
from tests.examples.running import ROOT, commands_for, run, running

pytest.importorskip("celery")

SUBMIT = """
from examples.celery_tasks import click, place
for number in range(20):
    place.delay(f"customer-{number % 3}", number)
    click.delay(f"/page/{number}")
"""

OF_THE_MASTER = """
from examples.celery_tasks import KAFKA, app
from kwire import Producer

producer = Producer(KAFKA)
producer.send("clicks", b"the master's").result(10)

@app.task
def use():
    producer.send("clicks", b"a worker's")
"""


def test_tasks_of_all_processes_deliver_also_those_that_are_replaced_or_stopped(tmp_path: Path) -> None:
    worker, call = commands_for("celery_tasks.py")
    queue = str(tmp_path / "queue")
    with Broker(topics={"orders": 3, "clicks": 1}) as broker:
        with running(
            f"{worker} --max-tasks-per-child 8 --loglevel INFO --without-mingle", broker, CELERY_QUEUE_FOLDER=queue
        ) as program:
            program.until(lambda: " ready." in program.written())
            run(call, broker, CELERY_QUEUE_FOLDER=queue)
            run(f"python -c '{SUBMIT.replace(chr(39), chr(34))}'", broker, CELERY_QUEUE_FOLDER=queue)
            program.until(lambda: program.written().count(" succeeded in ") == 41)
            assert program.stop() == 0
            assert "kwire:" not in program.written()
        orders = [json.loads(value) for value in broker.values("orders")]
        assert sorted(order["cents"] for order in orders) == list(range(20))
        pages = [json.loads(value) for value in broker.values("clicks")]
        assert sorted(pages) == sorted(["/index", *(f"/page/{number}" for number in range(20))])


@pytest.mark.nightly
def test_a_producer_of_the_master_tells_a_task_to_make_its_own(tmp_path: Path) -> None:
    (tmp_path / "of_the_master.py").write_text(OF_THE_MASTER)
    celery = f"celery --workdir {tmp_path} -A of_the_master"
    places = {"CELERY_QUEUE_FOLDER": str(tmp_path / "queue"), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    with Broker(topics={"clicks": 1}) as broker:
        with running(f"{celery} worker --concurrency 1", broker, **places) as program:
            run(f"{celery} call of_the_master.use", broker, **places)
            error = f"this producer belongs to process {program.process.pid}: make a new one after a fork"
            program.until(lambda: f"ClientClosedError('{error}')" in program.written())
        assert b"a worker's" not in broker.values("clicks")
