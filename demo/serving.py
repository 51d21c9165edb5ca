"""The broker of the demonstration: kwire's own in a process of its own, or Apache Kafka as the tests start it."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kwire import testing

KAFKA_RELEASE = "4.4.0"
_STARTED_WITHIN_S = 30.0
_STOPPED_WITHIN_S = 10.0


@contextmanager
def embedded() -> Iterator[tuple[str, str]]:
    """Starts `kwire.testing.Broker` in a child; gives its bootstrap servers and what to call it."""
    child = subprocess.Popen(
        [sys.executable, "-m", "demo.serving"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        servers = _first_line(child)
        yield servers, "kwire.testing.Broker, embedded"
    finally:
        _end(child)


@contextmanager
def kafka() -> Iterator[tuple[str, str]]:
    """Starts Apache Kafka from the cache of the tests (filled by Maven)."""
    from tests.brokers import Cluster  # only here: the embedded way needs no Java for its broker

    with Cluster(KAFKA_RELEASE) as cluster:
        yield cluster.bootstrap_servers, f"Apache Kafka {KAFKA_RELEASE}"


def _first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    line = child.stdout.readline().strip()
    if not line:
        raise RuntimeError(f"the embedded broker did not start: exit code {child.wait(_STARTED_WITHIN_S)}")
    return line


def _end(child: subprocess.Popen[str]) -> None:
    """Closing its input asks the child to end; one that does not is killed."""
    assert child.stdin is not None
    child.stdin.close()
    try:
        child.wait(_STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def serve_until_input_ends() -> None:
    """The child: prints its address, then serves until its parent closes the pipe or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the pipe
    logging.getLogger("kwire").setLevel(logging.ERROR)  # Spark's workers leave without a word; that is no news here
    with testing.Broker() as broker:
        print(broker.bootstrap_servers, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve_until_input_ends()
