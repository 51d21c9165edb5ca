"""Ctrl-C at any moment, and readers that have gone: how each command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kwire import Producer
from kwire.cli.connecting import VARIABLE
from kwire.testing import Broker
from tests.cli.connecting_commands import CALLS, arguments_of, connecting, old_log
from tests.cli.processes import SOURCE, started
from tests.timing import SOON

IMPORTING = """
import builtins, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which what runs in the background of a shell ignores
from kwire.cli.entry import run
before = builtins.__import__
def interrupted(name, *more, **others):
    if name == {name!r}:
        builtins.__import__ = before
        os.kill(os.getpid(), signal.SIGINT)
    return before(name, *more, **others)
builtins.__import__ = interrupted
sys.argv = ["kwire", "topics"]
sys.exit(run())
"""


def test_no_command_is_left_out() -> None:
    assert sorted(CALLS) == sorted(connecting())


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("command", "moment"),
    [
        *((command, 0.4) for command in connecting() if not command.startswith(("tokens", "ping"))),  # are answered
        *((command, moment) for command in ("topics list", "produce", "consume") for moment in (0.15, 0.25, 1.0)),
    ],
)
def test_ctrl_c_ends_a_command_that_waits_for_a_broker(
    mute_broker: Broker, tmp_path: Path, command: str, moment: float
) -> None:
    arguments = arguments_of(command, mute_broker.bootstrap_servers, old_log(tmp_path))
    with started(*arguments, stdin=subprocess.PIPE, apart=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(CALLS[command].stdin)
        process.stdin.flush()
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        code = process.wait(60)
        took = time.monotonic() - began
        errors = process.stderr.read().decode()
    assert (code, "Traceback" in errors) == (130, False), errors
    assert took < SOON


@pytest.mark.parametrize("name", ["kwire.cli.main", "argparse", "kwire.admin"])
def test_ctrl_c_while_modules_are_imported_is_no_traceback(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING.format(name=name)],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": SOURCE, "KWIRE_BOOTSTRAP_SERVERS": "127.0.0.1:1"},
    )
    assert (done.returncode, done.stderr) == (130, "")


def test_ctrl_c_ends_a_command_whose_reader_does_not_read(broker: Broker) -> None:
    with started("produce", "orders", stdin=subprocess.PIPE) as process:
        process.communicate(b"x" * 1000 + b"\n" + b"y" * 999_000, timeout=60)
    with started("consume", "orders") as process:
        assert process.stderr is not None
        time.sleep(1.5)
        assert process.poll() is None, "it waits for its reader"
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == 130
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    "arguments", [("--help",), ("help", "errors"), ("topics",), ("topics", "--help"), ("lag", "g")]
)
def test_a_reader_that_has_gone_is_no_traceback(broker: Broker, arguments: tuple[str, ...]) -> None:
    with started(*arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode in (0, 1)  # 0 where argparse wrote it all, and overlooked that
    assert b"Traceback" not in errors
    assert b"BrokenPipe" not in errors


def _in_a_shell(script: str, broker: Broker) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE, VARIABLE: broker.bootstrap_servers}
    environment.pop("PYTHONUNBUFFERED", None)
    command = ["sh", "-c", f'kwire() {{ "{sys.executable}" -m kwire "$@"; }}; {script}']
    return subprocess.run(
        command, capture_output=True, stdin=subprocess.DEVNULL, text=True, env=environment, check=False
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
@pytest.mark.parametrize("command", ["topics", "help errors", "--version", "consume orders"])
def test_a_disk_that_is_full_is_told_in_a_line(broker: Broker, command: str) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        producer.send("orders", b"a").result()
    done = _in_a_shell(f"kwire {command} > /dev/full", broker)
    told = "kwire: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("kwire topics >&-", ""),
        ("kwire consume orders -J >&-", ""),
        ("kwire produce orders <&-", "0 records to orders, acknowledged\n"),
        ("kwire produce orders <&- 2>&-", ""),
    ],
)
def test_a_stream_that_is_closed_from_the_start_is_empty_or_goes_nowhere(
    broker: Broker, script: str, told: str
) -> None:
    done = _in_a_shell(script, broker)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", told)
