"""How a decision is stored, and what a driver may do that finds one."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from kwire import TopicPartition
from kwire._prepared import PreparedTransaction
from kwire.spark.exactly_once.decision_reader import read_decision
from kwire.spark.exactly_once.decisions import (
    MAX_METADATA,
    Decision,
    ExactlyOnceError,
    Job,
    decide,
    decode,
    encode,
    find_last,
    group_of,
    judge,
    parsed,
    parts_and_width,
)

RUN, OTHER, THIRD = (str(uuid.UUID(int=number)) for number in (1, 2, 3))


def job(batch: int | None = 5, run: str = RUN) -> Job:
    return Job(f"p-{uuid.UUID(int=9)}", run, batch)


def transactions(count: int, of: Job) -> list[PreparedTransaction]:
    return [
        PreparedTransaction(of.name_of("0123456789ab", number), 2**40 + number, number % 32767, 1 + number % 2)
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 80, 100, 101, 5000])
@pytest.mark.parametrize("width", [1, 3, 1000])
def test_a_decision_is_read_as_it_was_stored(count: int, width: int) -> None:
    known = decide(None, job(), 123, transactions(count, job()), [OTHER] * 2)
    texts = encode(known, job(), width)
    assert max(map(len, texts)) <= MAX_METADATA
    assert parts_and_width(texts[0]) == (len(texts), width)
    found = decode(texts, job(), "t")
    assert found == known
    assert found.topic == "t"
    assert len(texts) == 1 or count > 80


def test_a_part_holds_about_a_hundred_transactions() -> None:
    assert len(encode(decide(None, job(), 0, transactions(1000, job()), []), job(), 1)) < 13


def test_a_part_of_another_decision_is_refused() -> None:
    old, new = (Decision(number, RUN, 5, 0, RUN, tuple(transactions(300, job()))) for number in (1, 2))
    texts = [encode(new, job(), 3)[0], *encode(old, job(), 3)[1:]]
    with pytest.raises(ExactlyOnceError, match="not those of one decision"):
        decode(texts, job(), "t")


def _changed(**fields: Any) -> str:
    """The only part of a decision with other fields, without those that are `...`."""
    [text] = encode(decide(None, job(), 1, transactions(2, job()), [OTHER]), job(), 1)
    return json.dumps({name: each for name, each in {**json.loads(text), **fields}.items() if each is not ...})


@pytest.mark.parametrize("value", [..., None, "x", True, 1.5, {}, [[]], [5], [["a", 1]], [["a", 1, 2, 3, 4]], 0, -1])
@pytest.mark.parametrize("field", ["number", "run", "batch", "rows", "writers", "ended", "width", "parts", "open"])
def test_what_no_decision_has_is_refused_and_nothing_else_is_raised(field: str, value: Any) -> None:
    stored = {TopicPartition("t", number): _changed(**{field: value}) for number in (0, 1)}
    try:
        topic = find_last(stored)
        if topic is not None:
            decode([stored[TopicPartition(topic, 0)]], job(), topic)
    except ExactlyOnceError:
        return
    numbers = [(name, number) for name in ("number", "batch", "rows") for number in (0, -1)]
    assert (field, value) in [("batch", None), ("run", "x"), ("writers", "x"), *numbers]


def test_a_decision_of_which_most_is_missing_is_not_looked_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def committed(client: None, group: str, **_: Any) -> dict[TopicPartition, str]:
        asked.append(group)
        return {TopicPartition("t", 0): _changed(parts=10**12)} if group == job().scope else {}

    monkeypatch.setattr("kwire._prepared.committed_metadata", committed)
    with pytest.raises(ExactlyOnceError, match="not those of one decision"):
        read_decision(None, job())  # type: ignore[arg-type]
    assert len(asked) <= 2


def test_a_decision_begins_in_partition_0() -> None:
    assert find_last({TopicPartition("t", 1): _changed()}) is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "7", '{"kwire":2}', "something else", pytest.param("[" * 4000, id="nested")]
)
def test_the_offsets_of_something_else_are_refused(text: str) -> None:
    with pytest.raises(ExactlyOnceError, match="used for something else"):
        parsed(text)


def test_places_go_over_the_partitions_and_then_over_groups() -> None:
    assert [group_of("g", place, 2) for place in range(5)] == ["g", "g", "g-1", "g-1", "g-2"]


def test_only_what_has_a_tasks_name_is_a_tasks() -> None:
    known = job()
    assert known.run_of(known.name_of("0123456789ab", 12)) == RUN
    for name in (known.scope, f"{known.scope}-x", f"{known.scope}-{OTHER}-{RUN}-0123456789ab-1", f"x{RUN}"):
        assert known.run_of(name) is None


def test_a_batch_that_was_not_decided_is_to_be_decided() -> None:
    assert not judge(None, job(0))
    assert not judge(decide(None, job(4), 1, [], []), job(5))
    assert not judge(decide(None, job(4, OTHER), 1, [], []), job(5))


def test_a_batch_that_was_decided_is_not_decided_again() -> None:
    assert judge(decide(None, job(5), 1, [], []), job(5))
    assert judge(decide(None, job(5, OTHER), 1, [], []), job(5))


def test_a_checkpoint_that_was_set_back_is_an_error() -> None:
    with pytest.raises(ExactlyOnceError, match=r"batch 57 was already.*it has been set back"):
        judge(decide(None, job(57, OTHER), 1, [], []), job(3))


def test_a_run_that_others_went_on_without_is_over() -> None:
    first = decide(None, job(4), 1, [], [])
    second = decide(first, job(5, OTHER), 1, [], [THIRD])
    assert second.ended_runs == (RUN, THIRD)
    for run in (RUN, THIRD):
        for batch in (5, 6):
            with pytest.raises(ExactlyOnceError, match=f"run {OTHER} has taken over"):
                judge(second, job(batch, run))


def test_taking_a_decision_over_ends_the_run_before_and_others() -> None:
    taken = decide(None, job(5), 1, transactions(2, job()), []).taken_over(OTHER, [THIRD])
    assert (taken.number, taken.run, taken.writers, taken.ended_runs) == (1, OTHER, RUN, (RUN, THIRD))
    assert decode(encode(taken, job(), 1), job(), "t") == taken


def test_the_runs_that_are_over_are_bounded() -> None:
    last = None
    for number in range(40):
        last = decide(last, job(number, str(uuid.UUID(int=number))), 1, [], [])
    assert last is not None
    assert last.ended_runs == tuple(str(uuid.UUID(int=number)) for number in range(23, 39))
    assert len(encode(last, job(), 1)[0]) < MAX_METADATA / 3


def test_a_batch_write_knows_its_own_decision_only() -> None:
    last = decide(None, job(None), 1, [], [])
    assert judge(last, job(None))
    assert not judge(last, job(None, OTHER))
