"""The image of the embedded broker: what `Containerfile` and its page say, run here without an engine of containers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwire import Producer
from tests.brokers.ports import free_ports
from tests.subprocesses import with_this_kwire
from tests.timing import PATIENT

ROOT = Path(__file__).parents[2]
PORTS = ("9092", "9093", "9094", "19092", "19093", "19094", "29092")


def steps() -> list[tuple[str, str]]:
    """(instruction, its arguments) of each step."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]


def arguments_of(instruction: str) -> list[str]:
    """Of all steps of an instruction, each in one string."""
    return [rest for word, rest in steps() if word == instruction]


def exec_form(instruction: str) -> list[str]:
    found: list[str] = json.loads(arguments_of(instruction)[-1])
    return found


class Container:
    """The image's commands with this environment's kwire, on ports and in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # In threes that follow each other, as the ports of several nodes do.
        first, health = (3 * (port // 3) for port in free_ports(2))
        [other] = free_ports(1)
        taken = [first, first + 1, first + 2, health, health + 1, health + 2, other]
        self._ports = dict(zip(PORTS, map(str, taken), strict=True))
        (folder / "clients").mkdir()
        (folder / "bin").mkdir()
        command = folder / "bin" / "kwire"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kwire "$@"\n')
        command.chmod(0o755)
        self._environment = with_this_kwire(PATH=f"{folder / 'bin'}:{os.environ['PATH']}")

    def here(self, text: str) -> str:
        """The text with the ports and the folder that stand for the image's."""
        moved = re.sub(r"\b\d{4,5}\b", lambda found: self._ports.get(found[0], found[0]), text)
        return moved.replace("/clients", str(self._folder / "clients"))

    @contextmanager
    def running(self, arguments: Sequence[str], under: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
        command = [*under, *map(self.here, [*exec_form("ENTRYPOINT"), *arguments])]
        process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        guard = threading.Timer(PATIENT, process.kill)
        guard.start()
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert "Ctrl-C ends it" in said, said + process.stderr.read()
            yield process
        finally:
            guard.cancel()
            process.kill()
            process.communicate()

    def is_healthy(self) -> bool:
        command = arguments_of("HEALTHCHECK")[-1].partition("CMD ")[2]
        done = subprocess.run(
            ["/bin/sh", "-c", self.here(command)],
            env=self._environment, capture_output=True, timeout=PATIENT, check=False,
        )  # fmt: skip
        return done.returncode == 0

    def becomes_healthy(self) -> bool:
        """Whether it is healthy at last: the files for clients are written after the ports are open."""
        give_up = time.monotonic() + PATIENT / 2
        while not self.is_healthy():
            if time.monotonic() > give_up:
                return False
        return True


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_without_arguments_it_serves_its_port_and_ends_cleanly_on_sigterm(container: Container) -> None:
    with container.running(exec_form("CMD")) as process:
        with Producer(container.here("localhost:9092")) as producer:
            assert producer.send("orders", b"17.50").result(PATIENT).offset == 0
        assert container.is_healthy()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENT) == 0
    assert not container.is_healthy()


@pytest.mark.parametrize(
    "arguments",
    [
        "--advertised unknown.invalid:9092",
        "--advertised localhost:9092 --tls --user alice:secret",
    ],
)
def test_it_is_healthy_whatever_clients_are_told_and_asked_for(arguments: str, container: Container) -> None:
    with container.running(arguments.split()):
        assert container.becomes_healthy()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root, for a PID namespace")
def test_it_ends_cleanly_as_process_number_one_which_signals_reach_only_if_it_handles_them(
    container: Container,
) -> None:
    with container.running(exec_form("CMD"), under=["unshare", "--pid", "--fork", "--kill-child"]) as process:
        [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGTERM)
        assert process.wait(PATIENT) == 0


@pytest.mark.nightly
def test_the_commands_of_the_page_start_it(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    runs = re.findall(r"^docker run .* kwire-broker(.*)$|^ +command: (.*)$", page, flags=re.MULTILINE)
    commands = [shlex.split(first or second) for first, second in runs]
    assert len(commands) == 4
    for number, arguments in enumerate(commands):
        folder = tmp_path / str(number)
        folder.mkdir()
        container = Container(folder)
        with container.running(arguments or exec_form("CMD")):
            assert container.becomes_healthy(), arguments


def test_what_it_copies_is_there_and_nothing_else_is_sent() -> None:
    copied = [name for rest in arguments_of("COPY") if "--from" not in rest for name in rest.split()[:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    let_through = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), flags=re.MULTILINE)
    assert sorted(let_through) == sorted(copied)


@pytest.mark.nightly
def test_the_steps_of_its_build_make_an_environment_with_the_command(tmp_path: Path) -> None:
    """As the image's first stage runs them, but for apt: from what is copied alone."""
    source = tmp_path / "source"
    source.mkdir()
    for rest in arguments_of("COPY"):
        for name in [] if "--from" in rest else rest.split()[:-1]:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("*.so", "*.c", "*.egg-info", "__pycache__")
                shutil.copytree(ROOT / name, source / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-m", "venv", "--upgrade-deps", str(tmp_path / "base")], check=True)
    environment = os.environ | {"PATH": f"{tmp_path / 'base' / 'bin'}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    for command in arguments_of("RUN"):
        if re.match("pip|python", command):
            moved = re.sub(r"(?<![\w/])/(?=kwire\b|wheels\b)", f"{tmp_path}/", command)
            subprocess.run(["/bin/sh", "-ec", moved], cwd=source, env=environment, check=True)
    asked = [str(tmp_path / "kwire" / "bin" / "kwire"), "broker", "--help"]
    told = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    assert "--advertised" in told.stdout
