"""The user's test-suite, copied out of the project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kwire.testing import Broker
from tests.examples.running import EXAMPLES, commands_for, run

pytest.importorskip("anyio")


def test_the_suite_passes_where_nothing_but_kwire_and_pytest_is(kwire_session_broker: Broker, tmp_path: Path) -> None:
    [command] = commands_for("pytest_suite/")
    shutil.copytree(EXAMPLES / "pytest_suite", tmp_path / "suite", ignore=shutil.ignore_patterns("__pycache__"))
    elsewhere = command.replace("examples/pytest_suite", f"{tmp_path / 'suite'}")
    assert elsewhere != command
    assert "9 passed" in run(f"{elsewhere} --rootdir {tmp_path} -W error", kwire_session_broker)
