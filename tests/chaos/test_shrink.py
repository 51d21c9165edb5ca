"""The search for fewer faults finds those that matter, in few tries; seeds draw the same schedule for ever."""

import pytest

from tests.chaos.schedule import HABITS, KINDS, draw
from tests.chaos.shrink import shrink


@pytest.mark.parametrize("guilty", [{3}, {0, 7}, {1, 4, 6}, set(range(8))])
def test_the_faults_that_break_it_together_are_found(guilty: set[int]) -> None:
    assert shrink(list(range(8)), lambda numbers: guilty <= set(numbers), tries=100) == sorted(guilty)


def test_no_more_is_tried_than_allowed_and_what_was_found_by_then_counts() -> None:
    tried: list[list[int]] = []

    def breaks(numbers: list[int]) -> bool:
        tried.append(numbers)
        return 5 in numbers

    assert shrink(list(range(8)), breaks, tries=3) == [4, 5]
    assert len(tried) == 3


def test_a_seed_draws_one_schedule_and_all_seeds_every_kind_of_fault_and_client() -> None:
    schedules = [draw(seed) for seed in range(200)]
    assert schedules == [draw(seed) for seed in range(200)]
    assert {fault.kind for schedule in schedules for fault in schedule.faults} == set(KINDS)
    clients = {(client.role, client.form) for schedule in schedules for client in schedule.clients}
    assert clients == {
        (role, form)
        for role in ("writer", "member", "transactor", "copier", "sharer")
        for form in ("threads", "asyncio")
    }
    drawn = {(client.role, client.given.get("habit")) for schedule in schedules for client in schedule.clients}
    assert drawn >= {(role, habit) for role, habits in HABITS.items() for habit in habits}
    assert {
        client.given["topic"] for schedule in schedules for client in schedule.clients if client.role == "sharer"
    } == {
        "written",
        "transacted",
    }
    assert {schedule.logs_in for schedule in schedules} == {"", "tokens", "passwords"}
    assert all(fault.at + 1 < schedule.seconds for schedule in schedules for fault in schedule.faults)


def test_a_schedule_keeps_the_faults_that_are_named() -> None:
    schedule = draw(3)
    assert schedule.keeping([0, 2]).faults == (schedule.faults[0], schedule.faults[2])
    assert schedule.keeping([]).clients == schedule.clients
