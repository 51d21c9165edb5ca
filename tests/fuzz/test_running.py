"""What runs of the fuzzer leave to those that follow: their sum, and no more inputs than there is time for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fuzz import running
from tests.fuzz.corpus import packed, unpack
from tests.fuzz.targets import all_targets


def _result(target: str, kind: str, seconds: float, executions: int) -> running.Result:
    return running.Result(target, kind, seconds, executions, 0, 0.0, 0, 0, None)


def test_executions_of_all_runs_are_added_up(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(running, "FOUND", tmp_path / "found")
    assert running.told_sums() == "0 executions in all runs: 0 asan, 0 plain"
    one = _result("jaas", "plain", 2.0, 3000)
    for result in (one, one, replace(one, kind="asan", executions=5)):
        running._add_up(result)
    assert running.told_sums() == "6,005 executions in all runs: 5 asan, 6,000 plain"
    assert running.sums()["jaas plain"] == [6000, 4.0]


def test_what_was_found_takes_a_part_of_the_time(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(running, "FOUND", tmp_path)
    target = all_targets()["driven-clients"]
    unpack((b"%d" % number for number in range(500)), tmp_path / target.name)
    assert len(running._some_found(target, "plain", 10)) == 500  # nothing is known of its speed
    running._add_up(_result(target.name, "plain", 10.0, 100))
    drawn = running._some_found(target, "plain", 10)
    assert len(drawn) == 30
    assert set(drawn) < set(packed(tmp_path / target.name))
    assert len(running._some_found(target, "plain", 1000)) == 500
    assert len(running._some_found(target, "plain", 1)) == 20
