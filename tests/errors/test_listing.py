"""Counts with their nouns, and the first few of many names."""

from __future__ import annotations

from kwire.errors.listing import counted, first_of


def test_names_beyond_the_count_are_counted() -> None:
    assert first_of([], 2) == ""
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(iter(range(5)), 2) == "0, 1 and 3 more"


def test_the_noun_fits_the_count() -> None:
    assert [counted(count, "record") for count in (0, 1, 2)] == ["0 records", "1 record", "2 records"]
    assert counted(1, "batch", "batches") == "1 batch"
    assert counted(2, "batch", "batches") == "2 batches"
    assert counted(12_345, "row", spec=",") == "12,345 rows"
