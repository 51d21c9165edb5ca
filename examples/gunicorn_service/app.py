"""A WSGI service that hands what is posted to Kafka: any framework's app sends from its views just so.

    gunicorn -c examples/gunicorn_service/gunicorn.conf.py examples.gunicorn_service.app:app

The threads of a worker share its producer. It cannot be made when this module is imported: with --preload that happens
in gunicorn's master, and a client belongs to the process that made it. `gunicorn.conf.py` makes it after the fork.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kwire import KafkaError, Producer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

KAFKA = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092")

producer: Producer


def open_producer() -> None:
    global producer
    producer = Producer(KAFKA, linger_ms=50, compression="lz4")


def close_producer() -> None:
    """Delivers what requests have left behind."""
    producer.close(timeout=20)


def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    click = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    try:
        producer.send("clicks", click, headers=[("worker", b"%d" % os.getpid())], nowait=True)
    except KafkaError as error:  # the buffer is full: better to say so than to hold up every thread
        start_response("503 Service Unavailable", [("Content-Type", "text/plain")])
        return [str(error).encode()]
    start_response("202 Accepted", [])
    return []
