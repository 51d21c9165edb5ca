"""Forked contenders: what they measured comes back, their failures are told, and none outlives its limit."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections.abc import Iterator

import pytest
from benchmarks.compare.contenders.codec_loop import Piece, run_codec
from benchmarks.compare.measure import WorkFailedError, run_process
from benchmarks.compare.task import Task
from benchmarks.compare.work import AIOKAFKA, KAFKA_PYTHON, KIO, KWIRE
from benchmarks.compare.worker import module_of
from benchmarks.compare.workers import Workers
from benchmarks.compare.works import WORKS

_RUN = """
import json, sys, time
from benchmarks.compare.worker import run_forked

def measure(task):
    print("words to nobody")
    return {"count": task.count}

def refuse(task):
    raise SystemExit("the sink refused it")

def hang(task):
    time.sleep(600)

verbs = {"measure": measure, "refuse": refuse, "hang": hang}
verb, limit_s = sys.argv[1:]
print(json.dumps(run_forked(verbs, {"verb": verb, "contender": "x", "count": 7}, int(limit_s))))
"""


def forked(verb: str, limit_s: int = 60) -> dict[str, object]:
    """The answer of a small program that forks, for a test process has threads."""
    answer: dict[str, object] = json.loads(run_process([sys.executable, "-c", _RUN, verb, str(limit_s)], 120).output)
    return answer


def test_what_it_measured_comes_back_with_the_cost_of_the_process() -> None:
    measured = forked("measure")["measured"]
    assert isinstance(measured, dict)
    assert measured.pop("process_cpu_s") > 0
    assert measured.pop("process_wall_s") > 0
    assert measured == {"count": 7}


def test_a_failure_is_told_with_what_it_said() -> None:
    error = str(forked("refuse")["error"])
    assert error.startswith("exit code 1 after ")
    assert "SystemExit: the sink refused it" in error


def test_an_alarm_ends_what_hangs() -> None:
    assert str(forked("hang", 1)["error"]).startswith("ended by its limit of 1 s after ")


def test_a_contender_runs_again_and_again_in_processes_of_their_own() -> None:
    with Workers() as workers:
        for _ in range(2):
            measured = workers.run(Task("codec", "kwire", work="encode-gzip", budget_s=0.0))
            assert measured["cpu_ns"] > 0
            assert 10 < measured["bytes_each"] < 100
            assert measured["process_cpu_s"] > 0
        with pytest.raises(WorkFailedError, match="KeyError: 'no-such-work'"):
            workers.run(Task("codec", "kwire", work="no-such-work"))
        assert workers.run(Task("codec", "kwire", work="index", budget_s=0.0))["cpu_ns"] > 0


def test_a_contender_that_is_not_there_is_told() -> None:
    with Workers() as workers, pytest.raises(WorkFailedError, match=r"no_such_codec ended[^$]*ModuleNotFoundError"):
        workers.run(Task("codec", "no-such"))


@pytest.fixture
def thawed() -> Iterator[None]:
    """What is measured freezes the collector's objects, which a test process must not keep."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_costs_are_per_record_of_what_was_given() -> None:
    given: list[int] = []
    piece = Piece(lambda size: given.append(size) or bytes(size), lambda: 300, 100)
    found = run_codec(Task("codec", "x", work="made", budget_s=0.0), {"made": piece})
    assert found["bytes_each"] == 3.0
    assert found["cpu_ns"] >= 0
    assert set(given) == {300}
    assert gc.get_freeze_count() > 0


@pytest.mark.parametrize("contender", [KWIRE, AIOKAFKA, KAFKA_PYTHON, KIO])
def test_every_codec_has_the_works_that_it_is_listed_for(contender: str) -> None:
    module = importlib.import_module(f"benchmarks.compare.contenders.{module_of(contender, 'codec')}")
    assert {work.source for work in WORKS if work.verb == "codec" and contender in work.counts} <= set(module.pieces())
