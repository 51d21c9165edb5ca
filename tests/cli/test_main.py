"""`kwire` and `python -m kwire`: how a command is found, and the exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwire import __version__
from tests.cli.conftest import Kwire

SOURCE = str(Path(__file__).parents[2] / "src")


def test_python_dash_m(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kwire", "--version"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": SOURCE}
    )
    assert done.stdout == f"kwire {__version__}\n"


@pytest.mark.parametrize("command", ["broker", "topics", "produce", "consume", "copy", "decode"])
def test_an_unknown_option_shows_the_usage_of_its_command(kwire: Kwire, command: str) -> None:
    needed = {"produce": ["t"], "consume": ["t"], "copy": ["--from", "f", "--to", "h/t"]}.get(command, [])
    outcome = kwire(command, *needed, "--no-such-option")
    assert outcome.code == 2
    assert outcome.err.startswith(f"usage: kwire {command} ")
    told = f"kwire {'topics list' if command == 'topics' else command}: error: unrecognized arguments: --no-such-option"
    assert outcome.err.endswith(f"{told}\n")


def test_an_unknown_command(kwire: Kwire) -> None:
    outcome = kwire("nonsense")
    assert outcome.code == 2
    assert outcome.err.startswith("usage: kwire ")


@pytest.mark.parametrize("option", ["-b", "--bootstrap-servers=h:1", "--", "-Xsasl.password=secret"])
def test_options_in_front_of_the_command_are_told_where_they_belong(kwire: Kwire, option: str) -> None:
    outcome = kwire(option, "localhost:9092", "topics")
    assert outcome.code == 2
    assert "kwire: error: the command comes first and its options after it, as in: kwire topics -b" in outcome.err
    assert "secret" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "is_told"),
    [("consume -t orders", True), ("topics --describe --topic orders", True),
     ("consume orders --no-such-option", False), ("groups describe billing --topic orders", False)],
)  # fmt: skip
def test_a_topic_given_as_to_kcat_is_told_how_it_is_given_here(kwire: Kwire, arguments: str, is_told: bool) -> None:
    outcome = kwire(*arguments.split())
    assert outcome.code == 2
    assert ("; a topic is named without an option\n" in outcome.err) is is_told
