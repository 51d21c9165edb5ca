"""The judge of acknowledgements finds each kind of fault, and measures from the kill on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kills.acks import FAILED, Ack, faults, read_acks, wait


def acked(count: int, partition: int = 0) -> list[Ack]:
    return [Ack(partition, number, number, float(number), number + 0.5) for number in range(count)]


def test_records_that_arrive_once_and_in_order_are_no_fault() -> None:
    assert faults([*acked(3), *acked(2, partition=1)], [3, 2], [[0, 1, 2], [0, 1]]) == {}


@pytest.mark.parametrize(
    ("acks", "log", "expected"),
    [
        pytest.param(acked(3), [0, 1], {"lost": 1, "at another offset": 1}, id="lost"),
        pytest.param(acked(3), [0, 1, 2, 2], {"doubled": 1}, id="doubled"),
        pytest.param(acked(3), [0, 2, 1], {"out of order": 1, "at another offset": 2}, id="out-of-order"),
        pytest.param(acked(2), [0, 1, 2], {"not acknowledged": 1}, id="unknown-fate"),
        pytest.param(
            [*acked(2), Ack(0, 2, FAILED, 2.0, 2.5)], [0, 1], {"not acknowledged": 1}, id="failed-and-not-written"
        ),
        pytest.param([*acked(3), acked(3)[1]], [0, 1, 2], {"acknowledged twice": 1}, id="acknowledged-twice"),
    ],
)
def test_each_kind_of_fault_is_counted(acks: list[Ack], log: list[int], expected: dict[str, int]) -> None:
    assert faults(acks, [3], [log]) == expected


def test_a_wait_ends_with_a_record_that_was_sent_after_the_kill_and_acknowledged() -> None:
    acks = [
        Ack(0, 0, 0, 0.9, 1.1),
        Ack(0, 1, FAILED, 1.2, 1.3),
        Ack(0, 2, 1, 1.2, 3.0),
        Ack(0, 3, 2, 1.3, 3.5),
    ]
    assert wait(acks, 1.0) == 2.0
    assert wait(acks, 1.25) == 2.25
    assert wait(acks, 2.0) == float("inf")


def test_a_file_has_the_rows_that_were_written(tmp_path: Path) -> None:
    path = tmp_path / "acks"
    path.write_bytes(b"".join(ack.packed() for ack in acked(3)))
    assert read_acks(path) == acked(3)
