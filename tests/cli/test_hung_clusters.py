"""Each command on a cluster that does not answer: it ends by its --timeout, with a line that says who and why."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.connecting_commands import CALLS, arguments_of, connecting, old_log

TIMEOUT_S = 0.25
AFTERWARDS_S = 1.0
BUSY_MACHINE_S = 3.0
TOPIC = "orders"
CASES = [
    (command, cluster)
    for command in connecting()
    for cluster in ("silent", "refusing", "half_dead")
    # No tokens without logins; ping asks for no more than is still answered.
    if (command.split()[0], cluster) not in (("tokens", "half_dead"), ("ping", "half_dead"))
]


def test_no_command_is_left_out() -> None:
    assert sorted(CALLS) == sorted(connecting())


@pytest.fixture
def silent() -> Iterator[str]:
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def refusing() -> str:
    """Nobody listens there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def half_dead(mute_broker: Broker) -> str:
    """Says what it can do and what topics there are, and is silent after that."""
    return mute_broker.bootstrap_servers


@pytest.mark.wall_clock
@pytest.mark.parametrize("options", [["--follow"], ["--group", "billing"]])
def test_reading_for_ever_ends_too_where_nothing_can_be_read(kwire: Kwire, half_dead: str, options: list[str]) -> None:
    began = time.monotonic()
    outcome = kwire("consume", TOPIC, *options, "-b", half_dead, "--timeout", str(TIMEOUT_S))
    assert outcome.code == 1
    assert time.monotonic() - began < TIMEOUT_S + AFTERWARDS_S + BUSY_MACHINE_S
    assert f"--timeout {TIMEOUT_S:g}" in outcome.err


@pytest.mark.wall_clock
@pytest.mark.parametrize(("command", "cluster"), CASES)
def test_a_command_ends_by_its_timeout_and_names_broker_and_reason(
    kwire: Kwire, request: pytest.FixtureRequest, tmp_path: Path, command: str, cluster: str
) -> None:
    servers: str = request.getfixturevalue(cluster)
    arguments = arguments_of(command, servers, old_log(tmp_path))
    began = time.monotonic()
    outcome = kwire(*arguments, "--timeout", str(TIMEOUT_S), stdin=CALLS[command].stdin)
    took = time.monotonic() - began
    assert outcome.code == 1
    assert took < TIMEOUT_S + AFTERWARDS_S + BUSY_MACHINE_S
    *_, last = lines = outcome.err.splitlines()
    assert len(lines) <= 2
    assert re.match(rf"kwire {command.split()[0]}: ", last)
    assert f"--timeout {TIMEOUT_S:g}" in last or command == "ping"  # which says of each step how long it had
    if cluster != "half_dead":
        assert servers in last
