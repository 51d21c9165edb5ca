"""Runs the commands of `examples/README.md` as its readers do: each in a process group of its own, against a broker."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Protocol, TypeVar

from tests.timing import PATIENT

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

_Found = TypeVar("_Found")


class Kafka(Protocol):
    """The embedded broker, or Apache Kafka."""

    @property
    def bootstrap_servers(self) -> str: ...


def commands_for(program: str) -> list[str]:
    """The commands in the row of `examples/README.md` that begins with this program."""
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| \[`{re.escape(program)}`\].*$", page, re.MULTILINE)
    assert row, f"examples/README.md has no row for {program}"
    return re.findall(r"`([^`]+)`", row[0].split(" | ")[-1])


class Running:
    """A command that runs."""

    def __init__(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self.process = process
        self._output = output

    def written(self) -> str:
        """All that it and its children have written so far."""
        self._output.seek(0)
        return self._output.read().decode()

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to end, as a supervisor does: its exit code."""
        self.process.send_signal(by)
        return self.ended()

    def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        try:
            return self.process.wait(PATIENT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it has not ended:\n{self.written()}") from None

    def until(self, look: Callable[[], _Found | None]) -> _Found:
        """What `look` returns once it is neither None nor false, or raises an OSError no more."""
        give_up = time.monotonic() + PATIENT
        while True:
            try:
                if found := look():
                    return found
            except OSError:
                pass
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.written()}"
            assert time.monotonic() < give_up, f"waited in vain:\n{self.written()}"
            time.sleep(0.02)


@contextmanager
def running(command: str, broker: Kafka, **environment: str) -> Iterator[Running]:
    """The command, from the root of the project; what is left of its processes at the end is killed."""
    with TemporaryFile() as output:
        process = subprocess.Popen(
            shlex.split(command),
            cwd=ROOT,
            env=environment_for(broker) | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield Running(process, output)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def run(command: str, broker: Kafka, **environment: str) -> str:
    """What the command wrote; it must end with 0."""
    with running(command, broker, **environment) as program:
        code = program.ended()
        assert code == 0, program.written()
        return program.written()


def environment_for(broker: Kafka) -> dict[str, str]:
    """With the programs of this Python's environment, the package, and where the broker is."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "src"),
        "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
