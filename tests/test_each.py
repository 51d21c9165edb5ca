"""A test that tries many values says of which it fails."""

from __future__ import annotations

import inspect

import pytest

from tests.each import case, each


def test_a_failure_names_its_case() -> None:
    with pytest.raises(ValueError, match="why") as caught, case("Fetch", 4, int):
        raise ValueError("why")
    assert caught.value.__notes__ == ["in the case Fetch 4 int"]


def test_every_value_is_tried_and_every_failure_named() -> None:
    tried: list[tuple[str, int]] = []

    @each("number", range(6))
    def test(word: str, number: int) -> None:
        tried.append((word, number))
        assert number % 2 == 0, f"{number} is odd"

    assert list(inspect.signature(test).parameters) == ["word"]
    with pytest.raises(AssertionError, match="1 is odd") as caught:
        test(word="w")
    assert tried == [("w", number) for number in range(6)]
    assert caught.value.__notes__ == ["in the case number=1", "and in 2 more: number=3; number=5"]


def test_several_arguments_are_tried_together() -> None:
    tried: list[tuple[str, int]] = []

    @each(("word", "number"), [("a", 1), ("b", 2)])
    def test(word: str, number: int) -> None:
        tried.append((word, number))

    test()
    assert tried == [("a", 1), ("b", 2)]


def test_a_time_out_ends_all_and_names_its_case() -> None:
    @each("number", range(3))
    def test(number: int) -> None:
        pytest.fail("it took too long")

    with pytest.raises(pytest.fail.Exception) as caught:
        test()
    assert caught.value.__notes__ == ["in the case number=0"]


def test_nothing_to_try_is_no_success() -> None:
    with pytest.raises(AssertionError, match="nothing to try for code"):
        each("code", [])
