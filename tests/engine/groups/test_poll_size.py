"""How many records a poll of a member returns, after how long the program took with those before."""

from __future__ import annotations

from kwire.engine.consumer.poll_size import FIRST, PollSize


def work(size: PollSize, seconds_per_record: float, polls: int, now: float = 0.0) -> float:
    for _ in range(polls):
        size.begin(now)
        size.end(size.limit, now)
        now += size.limit * seconds_per_record
    size.begin(now)
    return now


def test_a_fast_program_soon_gets_as_many_as_there_are() -> None:
    size = PollSize(300.0, 16384)
    assert size.limit == FIRST
    work(size, 1e-6, 3)
    assert size.limit == 16384


def test_a_slow_program_gets_what_it_works_off_in_time() -> None:
    size = PollSize(300.0, 16384)
    work(size, 0.1, 1)
    assert size.limit == 30
    work(size, 1000.0, 1)
    assert size.limit == 1


def test_a_short_interval_makes_smaller_polls() -> None:
    size = PollSize(1.0, 16384)
    work(size, 0.001, 1)
    assert size.limit == 100


def test_it_grows_again_when_the_program_becomes_fast() -> None:
    size = PollSize(300.0, 16384)
    now = work(size, 0.1, 2)
    work(size, 1e-6, 6, now)
    assert size.limit == 16384


def test_polls_that_returned_nothing_say_nothing() -> None:
    size = PollSize(300.0, 16384)
    size.begin(0.0)
    size.end(0, 0.0)
    size.begin(1000.0)
    assert size.limit == FIRST
