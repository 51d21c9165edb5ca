"""The first few of many names."""

from __future__ import annotations

from kwire.errors.listing import first_of


def test_names_beyond_the_count_are_counted() -> None:
    assert first_of([], 2) == ""
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(iter(range(5)), 2) == "0, 1 and 3 more"
