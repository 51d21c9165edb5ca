"""Patterns that Java and Python would read differently are refused; the rest choose the same topics."""

import re
import warnings

import pytest

from kwire.errors import ConfigError
from kwire.spark.options.topic_pattern import check_pattern
from tests.expressions import UNREADABLE


@pytest.mark.parametrize(
    "pattern",
    ["sem_[b&&[a-c]]", "[a-z&&[^b]]", "[a-c[x-z]]", "[[:alpha:]]x", r"\[[a&&b]", "a[^[b]]", "[]a&&b]", r"[\]&&a]"],
)
def test_sets_within_sets_are_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="which Java and Python read differently"):
        check_pattern("subscribePattern", pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "sem",
        "em.*",
        "^a$",
        "[a-c]_[^b]",
        r"\[a&&b\]",
        "a&&b",
        r"[\[]x",
        "[a&b]",
        "[]a]",
        "[^]a]",
        "(?i)SEM",
        "a++b",
        "x{2,3}",
    ],
)
def test_what_means_the_same_is_taken(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_pattern("subscribePattern", pattern) == pattern
        re.compile(pattern)


@pytest.mark.parametrize("pattern", [*UNREADABLE, r"\p{Lower}+", r"\Qa.b\E", "(?<name>a)"])
def test_what_python_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"subscribePattern: '.*' is not a regular expression in Python's syntax: "):
        check_pattern("subscribePattern", pattern)
