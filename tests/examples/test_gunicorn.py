"""The WSGI service under gunicorn's prefork workers, and what becomes of a client that was made before the fork."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import pytest

from kwire import Consumer
from kwire.testing import Broker
from tests.examples.running import Running, commands_for, free_port, running
from tests.timing import PATIENT

pytest.importorskip("gunicorn")

PRELOADED = """
from kwire import Consumer, KafkaError, Producer

producer = Producer({servers!r})
producer.send("clicks", b"the master's").result(10)
consumer = Consumer({servers!r})
consumer.partitions_for("clicks")

def app(environ, start_response):
    start_response("200 OK", [])
    for use in (
        lambda: producer.send("clicks", b"a worker's"),
        producer.flush,
        lambda: consumer.partitions_for("clicks"),
        lambda: consumer.poll(timeout=10),
    ):
        try:
            use()
            yield b"used\\n"
        except KafkaError as error:
            yield f"{{type(error).__name__}}: {{error}}\\n".encode()
"""


@contextmanager
def serving(command: str, broker: Broker) -> Iterator[tuple[Running, str]]:
    address = f"127.0.0.1:{free_port()}"
    with TemporaryDirectory() as home, running(f"{command} --bind {address}", broker, HOME=home) as program:
        program.until(lambda: program.written().count("Booting worker") == 3)
        yield program, f"http://{address}"


def posted(url: str, body: bytes) -> int:
    with urlopen(url, body, timeout=PATIENT) as answer:
        return int(answer.status)


def asked(url: str) -> str:
    with urlopen(url, timeout=PATIENT) as answer:
        return str(answer.read().decode())


def test_every_worker_has_a_producer_and_delivers_at_a_reload_and_at_the_end() -> None:
    [command] = commands_for("gunicorn_service/")
    clicks = [b"click %d" % number for number in range(300)]
    with Broker(topics={"clicks": 3}) as broker, serving(command, broker) as (program, url):
        with ThreadPoolExecutor(8) as callers:
            codes = list(callers.map(lambda click: posted(url, click), clicks[:100]))
            program.process.send_signal(signal.SIGHUP)
            codes += callers.map(lambda click: posted(url, click), clicks[100:200])
            program.until(lambda: program.written().count("Worker exiting") == 3)
            codes += callers.map(lambda click: posted(url, click), clicks[200:])
        assert program.stop() == 0
        assert codes == [202] * 300
        assert "kwire:" not in program.written()  # what a producer says that could not deliver
        with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("clicks", partition) for partition in range(3)])
            found = []
            while len(found) < 300:
                found += list(consumer.poll(timeout=PATIENT))
    assert sorted(record.value for record in found) == sorted(clicks)
    worker_of = {record.value: dict(record.headers)["worker"] for record in found}
    assert {worker_of[click] for click in clicks[:100]}.isdisjoint({worker_of[click] for click in clicks[200:]})


def test_clients_of_the_master_tell_its_workers_to_make_their_own(tmp_path: Path) -> None:
    with Broker(topics={"clicks": 1}) as broker:
        (tmp_path / "preloaded.py").write_text(PRELOADED.format(servers=broker.bootstrap_servers))
        with serving(f"gunicorn --preload --workers 3 --chdir {tmp_path} preloaded:app", broker) as (program, url):
            answers = {asked(url) for _ in range(10)}
            master = program.process.pid
            assert program.stop() == 0
        assert broker.values("clicks") == [b"the master's"]
    assert [line for answer in answers for line in answer.splitlines()] == [
        f"ClientClosedError: this {kind} belongs to process {master}: make a new one after a fork"
        for kind in ("producer", "producer", "client", "client")
    ] * len(answers)
