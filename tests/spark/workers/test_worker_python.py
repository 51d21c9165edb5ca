"""Which Python a source runs in, and that users hear of it: without Spark, and in a session with two Pythons."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pyspark_kwire
import pyspark_kwire_log
from kwire.spark import KwireDataSource, KwireLogDataSource
from kwire.spark.source_checks import tell_which_python
from kwire.testing import Broker

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("kind", [pyspark_kwire.DefaultSource, pyspark_kwire_log.DefaultSource])
@pytest.mark.parametrize(
    ("driver", "workers", "is_told"),
    [
        ("/a/python", "/b/python", True),
        ("jupyter", "./environment/bin/python", True),
        ("/a/python", "/a/python", False),
        ("/a/python", None, False),
        (None, "/a/python", False),
    ],
)
def test_two_pythons_are_told(
    kind: type,
    driver: str | None,
    workers: str | None,
    is_told: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name, value in (("PYSPARK_DRIVER_PYTHON", driver), ("PYSPARK_PYTHON", workers)):
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    tell_which_python(kind({}))
    expected = [f"not in PYSPARK_PYTHON, {workers}. Call kwire.spark.register(spark) first"] if is_told else []
    assert len(caplog.messages) == len(expected)
    assert all(text in message for text, message in zip(expected, caplog.messages, strict=True))


@pytest.mark.parametrize("kind", [KwireDataSource, KwireLogDataSource])
def test_a_source_that_is_registered_says_nothing(
    kind: type, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "/a/python")
    monkeypatch.setenv("PYSPARK_PYTHON", "/b/python")
    tell_which_python(kind({}))
    assert not caplog.messages


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_source_that_is_found_runs_in_the_drivers_python(tmp_path: Path) -> None:
    """As docs/spark.md says; a relative path is that of each process' own folder."""
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    for name in ("driver", "environment"):
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\nTEST_PYTHON={name} exec {sys.executable} "$@"\n')
        path.chmod(0o755)
    own |= {"PYSPARK_DRIVER_PYTHON": str(tmp_path / "driver"), "PYSPARK_PYTHON": "./environment"}
    with Broker(topics=["t"]) as broker:
        broker.append("t", [b"1"])
        command = [sys.executable, "-m", "tests.spark.workers.which_python_program", broker.bootstrap_servers, "t"]
        done = subprocess.run(
            command, env=os.environ | own, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
        )
    assert "found: driver\n" in done.stdout, done.stderr[-6000:]
    assert "registered: environment\n" in done.stdout, done.stderr[-6000:]
    assert done.stderr.count("runs it in PYSPARK_DRIVER_PYTHON") == 1
