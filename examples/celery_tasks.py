"""Celery tasks that write to Kafka: each process of a prefork worker has a producer, which all of its tasks share.

    celery -A examples.celery_tasks worker --concurrency 2
    celery -A examples.celery_tasks call orders.click --args '["/index"]'

A client belongs to the process that made it, so one made when this module is imported would be the worker's master's:
in the processes that it forks Celery's signals make one and close it. They end without Python's own exit, so that
nothing but that close delivers what they still have. To try it, Celery's queue is a folder; name another broker by
CELERY_BROKER_URL.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown

from kwire import KafkaError, Producer

KAFKA = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092")
QUEUE = Path(os.environ.get("CELERY_QUEUE_FOLDER", f"{tempfile.gettempdir()}/orders-queue"))
QUEUE.mkdir(parents=True, exist_ok=True)

app = Celery("orders", broker=os.environ.get("CELERY_BROKER_URL", "filesystem://"))
app.conf.task_ignore_result = True
app.conf.broker_transport_options = {
    "data_folder_in": str(QUEUE),
    "data_folder_out": str(QUEUE),
    "control_folder": str(QUEUE / "control"),
    "polling_interval": 0.1,
}

producer: Producer


@worker_process_init.connect
def open_producer(**_: Any) -> None:
    global producer
    producer = Producer(KAFKA, key_serializer="string", value_serializer="json", linger_ms=100)


@worker_process_shutdown.connect
def close_producer(**_: Any) -> None:
    """When the worker stops, and after --max-tasks-per-child."""
    producer.close(timeout=20)


@app.task(name="orders.place", acks_late=True, autoretry_for=(KafkaError,), retry_backoff=True, max_retries=5)
def place(customer: str, cents: int) -> None:
    """Is done once the order is stored, and tried again by Celery when it was not."""
    producer.send("orders", {"customer": customer, "cents": cents}, key=customer).result(timeout=30)


@app.task(name="orders.click")
def click(page: str) -> None:
    """Is done at once: clicks of many tasks leave together."""
    producer.send("clicks", page)
