"""The table of rows is sound, and the contenders can do what it says of them."""

from __future__ import annotations

import importlib
from operator import attrgetter
from typing import Any

import pytest
from benchmarks.compare import processes
from benchmarks.compare.contenders.meters import Case
from benchmarks.compare.contenders.task import Task
from benchmarks.compare.measure import Plan, _client_task
from benchmarks.compare.processes import module_of
from benchmarks.compare.rows import (
    AIOKAFKA,
    BARE,
    CONTENDERS,
    GROUPS,
    KAFKA_PYTHON,
    KIO,
    KWIRE,
    ROWS,
    choose,
    left_out,
)
from benchmarks.compare.rows import row_named as row

from kwire import records

CODECS = (KWIRE, AIOKAFKA, KAFKA_PYTHON, KIO)
HEADINGS = (processes.ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
PLAN = Plan(1, True, "mock", CONTENDERS, lambda text: None)


def module(contender: str, task: str) -> Any:
    return importlib.import_module(f"benchmarks.compare.contenders.{module_of(contender, task)}")


def test_names_are_unique_and_no_group_is_named_like_a_row() -> None:
    names = [each.name for each in ROWS]
    assert len({*names, *GROUPS}) == len(names) + len(GROUPS)


def test_rows_have_targets_for_what_they_measure() -> None:
    for each in ROWS:
        assert KWIRE in each.records
        assert {*each.peer_min, *each.peer_max} <= {*each.records}, each.name
        assert all(row(name).metric == each.metric for name in each.row_max), each.name


def test_a_floor_adds_up_what_is_measured_in_the_same_unit_and_its_reason_stands_under_a_heading() -> None:
    for each in ROWS:
        for contender, name in each.floor.items():
            part = row(name or each.name)
            assert contender in part.records, each.name
            assert (part.metric, part.unit, part.scale) == (each.metric, each.unit, each.scale), each.name
        if each.floor or each.reasoned:
            assert f"\n### {each.reasoned.replace('-', ' ').capitalize()}\n" in HEADINGS, each.name


def test_rows_of_the_same_run_are_run_alike() -> None:
    run = attrgetter("task", "options", "release", "max_rounds", "quick", "records")
    for each in ROWS:
        assert run(each) == run(row(each.run)), each.name


@pytest.mark.parametrize("contender", CONTENDERS)
def test_a_contender_has_the_tasks_of_its_rows(contender: str) -> None:
    for task in {each.task for each in ROWS if contender in each.records}:
        assert callable(getattr(module(contender, task), task))


@pytest.mark.parametrize("contender", [*CODECS, BARE])
def test_a_codec_has_the_cases_of_its_rows(contender: str) -> None:
    rows = {each.run for each in ROWS if each.task == "codec" and contender in each.records}
    assert rows <= {*module(contender, "codec").cases()}


@pytest.mark.parametrize("contender", CODECS[1:])
def test_all_codecs_encode_the_same_messages_and_records(contender: str) -> None:
    theirs, ours = module(contender, "codec").cases(), module(KWIRE, "codec").cases()
    for name in ("metadata-encode", "fetch-encode", "produce-encode"):
        assert encoded(theirs[name]) == encoded(ours[name])
    for name in {"append", "append-magic-1", "encode-zstd"} & {*theirs}:
        expected = records.decode(encoded(ours[name])).values()[: theirs[name].records]
        assert records.decode(encoded(theirs[name])).values() == expected


def encoded(case: Case) -> bytes:
    return bytes(case.run(case.setup()))


def test_every_row_against_a_broker_makes_a_task() -> None:
    tasks = [_client_task(each, KWIRE, PLAN) for each in ROWS if PLAN.broker_of(each)]
    on_asyncio = {"aio_produce", "aio_consume", "aio_round_trip", "loop_stops"}
    on_threads = {"produce", "consume", "round_trip", "send_and_compute", "first_record"}
    in_groups = {"group_join", "group_consume", "group_read", "commits", "transactions", "subscribe_many"}
    of_tables = {"read_table", "write_table"}
    assert {task.name for task in tasks} == on_threads | on_asyncio | in_groups | of_tables
    assert all(task.count and task.topic for task in tasks)
    assert _client_task(row("consume-1k"), KWIRE, PLAN) == Task(
        "consume", KWIRE, topic="in-1024-50000", count=50_000, size=1024, output="values"
    )


def test_a_topic_that_java_compresses_is_read_by_all_rows_that_ask_for_it() -> None:
    alone, members = (_client_task(row(name), KWIRE, PLAN) for name in ("nodes-columns-lz4", "nodes-group-lz4"))
    assert alone.topic == members.topic == "in-100-500000-lz4-java"
    assert _client_task(row("nodes-columns-zstd"), KWIRE, PLAN).topic == "in-100-500000-zstd-java"


def test_rows_are_chosen_by_name_or_group() -> None:
    chosen = [each.name for each in choose(["import-records", "memory"])]
    assert chosen == ["memory-produce", "memory-consume", "import-records"]
    assert choose([]) == list(ROWS)
    with pytest.raises(ValueError, match="'prodcue' is neither a row nor a group"):
        choose(["prodcue"])


def test_a_quick_run_says_what_it_leaves_out() -> None:
    assert left_out(choose([], quick=True)) == "sweep, kafka, memory"
    assert left_out([each for each in ROWS if each.name != "consume-1k"]) == "consume 1 KiB to values"
    assert {each.group for each in choose(["memory"], quick=True)} == {"memory"}
