"""What clients are measured against, each a process of its own on loopback: mock, embedded, kafka; and the tap."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from benchmarks.compare.measure import ROOT, WorkFailedError, worker_environment

KINDS = ("mock", "embedded", "kafka")
KAFKA_RELEASE = "4.4.0"
_START_LIMIT_S = {"mock": 20.0, "embedded": 20.0, "kafka": 120.0, "tap": 20.0}
_STOP_LIMIT_S = 10.0
_KEPT_BYTES = 5 * 1024 * 1024


class Sink:
    """A running sink: its address, and what it says at its end."""

    def __init__(self, kind: str, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=worker_environment(),
        )
        self._complaints: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self.bootstrap = self._first_line(kind)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._complaints = [*self._complaints[-20:], line]

    def _first_line(self, kind: str) -> str:
        lines: queue.Queue[str] = queue.Queue()
        assert self._process.stdout is not None
        threading.Thread(target=lambda out=self._process.stdout: lines.put(out.readline()), daemon=True).start()
        try:
            line = lines.get(timeout=_START_LIMIT_S[kind]).strip()
        except queue.Empty:
            line = ""
        if not line:
            self.stop()
            raise WorkFailedError(f"the sink {kind!r} did not start: {''.join(self._complaints)[-800:]}")
        return line

    def stop(self) -> str:
        """Ends the process (its stdin ends, then SIGTERM, then SIGKILL); what it wrote since its first line."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if not _listens_to_stdin(self._process.args):
            self._process.terminate()
        try:
            self._process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        return self._process.stdout.read()


def _listens_to_stdin(command: object) -> bool:
    return isinstance(command, list) and any(str(part).startswith("benchmarks.compare.") for part in command)


def _command(kind: str, topics: Mapping[str, int], release: str) -> list[str]:
    python = [sys.executable, "-m"]
    named = [f"{name}:{partitions}" for name, partitions in topics.items()]
    if kind == "mock":
        return [*python, "benchmarks.compare.mock_cluster", *named]
    if kind == "embedded":
        options = [option for text in named for option in ("--topic", text)]
        return [
            *python,
            "kwire.cli.main",
            "broker",
            "--release",
            release or "4.4.0",
            "--retention-bytes",
            str(_KEPT_BYTES),
            *options,
        ]
    if kind == "kafka":
        return [*python, "tests.brokers", release or KAFKA_RELEASE]
    raise ValueError(f"{kind!r} is no sink: {', '.join(KINDS)}")


@contextmanager
def running(kind: str, topics: Mapping[str, int], release: str = "") -> Iterator[Sink]:
    """A sink that has these topics (name: partitions)."""
    sink = Sink(kind, _command(kind, topics, release))
    try:
        if kind == "kafka":
            _create_topics(sink.bootstrap, topics)
        yield sink
    finally:
        sink.stop()


def _create_topics(bootstrap: str, topics: Mapping[str, int]) -> None:
    from kwire import Admin

    with Admin(bootstrap) as admin:
        admin.create_topics(dict(topics))


class Tapped:
    """A tap's address while it runs, and the delays in µs once it ended."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.late_us: list[float] = []


@contextmanager
def tapped(bootstrap: str) -> Iterator[Tapped]:
    """A relay in front of the broker at `bootstrap`."""
    sink = Sink("tap", [sys.executable, "-m", "benchmarks.compare.tap", bootstrap])
    tap = Tapped(sink.bootstrap)
    try:
        yield tap
    finally:
        said = sink.stop()
    tap.late_us = json.loads(said)
