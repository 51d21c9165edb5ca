"""The gate on instruction counts: what it says of given counts, how it reads callgrind's files, that its loops run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from benchmarks.compare.processes import ROOT, environment
from benchmarks.instructions import callgrind, verdict
from benchmarks.instructions.__main__ import COMMITTED, main
from benchmarks.instructions.loops import every_loop
from benchmarks.instructions.value_loops import every_decoder

from tests.thorough import THOROUGH


def test_a_rise_within_the_tolerance_passes_and_one_beyond_fails() -> None:
    within, beyond = verdict.lines({"a": 104.0, "b": 106.0}, {"a": 100.0, "b": 100.0}, {})
    assert (within.fails, within.remark) == (False, "")
    assert (beyond.fails, beyond.remark) == (True, "TOO MANY (max: +5%)")
    assert beyond.change == pytest.approx(0.06)
    (unsteady,) = verdict.lines({"a": 112.0}, {"a": 100.0}, {"a": verdict.UNSTEADY})
    assert not unsteady.fails


def test_fewer_instructions_pass_and_are_told() -> None:
    (line,) = verdict.lines({"a": 80.0}, {"a": 100.0}, {})
    assert not line.fails
    assert "--update" in line.remark


def test_a_new_loop_passes_and_a_lost_one_fails() -> None:
    new, lost = verdict.lines({"new": 10.0}, {"lost": 10.0}, {})
    assert (new.name, new.fails, new.remark) == ("new", False, "new: --update commits it")
    assert (lost.name, lost.fails) == ("lost", True)


def test_the_table_lines_up() -> None:
    text = verdict.table(verdict.lines({"to values": 451.44, "other": 1_592_862.0}, {"to values": 400.0}, {}))
    assert text.splitlines() == [
        "loop       instructions  committed  change",
        "to values         451.4      400.0  +12.9%  TOO MANY (max: +5%)",
        "other         1,592,862          -          new: --update commits it",
    ]


def test_callgrind_s_files_are_read_and_the_surroundings_taken_off() -> None:
    file = "version: 1\ndesc: Trigger: {}\nevents: Ir\nsummary: {}\n\nob=(1) x\nfn=(1)\n1 5\ntotals: {}\n"
    texts = [
        file.format("Client Request: columns, 4 x2", 1500, 1501),
        file.format("Program termination", 9, 9),
        file.format("Client Request: columns, 4 x4", 2700, 2701),
    ]
    found = callgrind.read_totals(texts)
    assert found == {"columns, 4": {2: 1500, 4: 2700}}
    assert callgrind.per_unit(found["columns, 4"], 100) == 6.0


def test_every_loop_runs_and_has_a_committed_count() -> None:
    loops = every_loop()
    for loop in loops.values():
        loop.call()
    assert set(json.loads(COMMITTED.read_text())["counts"]) == set(loops)


def test_the_values_of_the_loops_are_decoded_without_a_fault() -> None:
    for decode in every_decoder(100).values():
        columns = decode()
        assert (len(columns), columns.faults) == (100, [])


def test_a_name_that_is_no_loop_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["valeus"]) == 2
    assert "no such loop: valeus; there are: index;" in capsys.readouterr().err


def test_without_valgrind_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["values"]) == 2
    assert main(["values", "--optional"]) == 0
    assert capsys.readouterr().err.count("instructions were not counted: no valgrind") == 2


@pytest.mark.skipif(not THOROUGH, reason="ten seconds: KWIRE_THOROUGH=1")
@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_the_same_loop_counts_the_same_twice() -> None:
    once, again = (callgrind.totals(["values"])["values"] for _ in range(2))
    units = every_loop()["values"].units
    assert callgrind.per_unit(once, units) == pytest.approx(callgrind.per_unit(again, units), rel=0.01)
    assert callgrind.per_unit(once, units) > 50


def test_the_loops_count_under_valgrind_only() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.instructions.counting", "/nowhere/probe.so"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "/nowhere/probe.so" in done.stderr
