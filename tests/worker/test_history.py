"""The checks of a history find what they are for."""

from __future__ import annotations

import pytest

from tests.worker.history import Handled, check_commits, check_nothing_is_lost, check_order, repeated

HANDLED = [Handled(0, offset, f"key-{offset % 2}", "a") for offset in range(6)]


def test_a_history_without_fault_passes() -> None:
    check_commits({0: 6, 1: 1}, HANDLED, [(1, 0)])
    check_nothing_is_lost({0: 6}, HANDLED, [])
    again = [HANDLED[0], HANDLED[1], HANDLED[0], HANDLED[2]]
    check_order(again)
    assert repeated(again) == 1


def test_an_offset_past_what_was_handled_is_found() -> None:
    with pytest.raises(AssertionError, match=r"7 is committed in partition 0, but \[6\]"):
        check_commits({0: 7}, HANDLED, [])


def test_a_lost_record_is_found() -> None:
    with pytest.raises(AssertionError, match=r"\[3\] were not handled"):
        check_nothing_is_lost({0: 6}, [row for row in HANDLED if row.offset != 3], [])


def test_a_record_handled_before_one_of_its_key_is_found_and_other_keys_do_not_count() -> None:
    check_order([HANDLED[1], HANDLED[0], HANDLED[3], HANDLED[2]])
    with pytest.raises(AssertionError, match="first handled after 4"):
        check_order([HANDLED[0], HANDLED[4], HANDLED[2]])
