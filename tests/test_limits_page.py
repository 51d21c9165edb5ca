"""The page of limits: it names tests that exist, and leaves no limit out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from scripts.limits_page import SETTINGS, constants, listed, number, rows, shown, words
from scripts.sources import PACKAGE

TESTS = Path(__file__).parent

ROOMS = ("aio", "contrib", "drivers", "engine", "fronts", "legacy", "registry", "spark", "tables", "testing", "worker")

NAMED_AS_A_LIMIT = re.compile(
    r"_?(MAX|LONGEST|MOST|LARGEST)_|.*(_S|_MS|_AT_ONCE|_TRIES|_ATTEMPTS|_BYTES|_KEPT|_AT)$|_?(KEPT|BURST|REMEMBERED)$"
)
"""Constants that say by their names that they bound something."""

OF_THE_WIRE = re.compile(r"_?MAX_(EPOCH|OFFSET|OFFSETS|INT64|NUMBER|TIME|PORT|ID|VARINT|FIELD_NUMBER|TEXT)$|.*_AT$")
"""What a field of Kafka's can hold, and where it stands."""

NO_LIMITS = {name for group in words()["no_limits"] for name in group["names"]}


def functions(path: Path) -> set[str]:
    return set(re.findall(r"^(?:async )?def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE))


@cache
def on_the_page() -> set[str]:
    return {reference for row in rows() for reference in listed(row, "limit")}


def test_each_row_names_tests_that_exist() -> None:
    named = [reference.split("::") for row in rows() for reference in listed(row, "test")]
    known = {path: functions(TESTS / path) for path, _ in named}
    assert [(path, name) for path, name in named if name not in known[path]] == []
    assert [row["what"] for row in rows() if not listed(row, "test")] == []


def test_each_row_names_files_that_exist() -> None:
    assert [path for row in rows() for path in listed(row, "code") if not (PACKAGE / path).exists()] == []


def test_each_row_says_what_bounds_it() -> None:
    assert [row["what"] for row in rows() if not listed(row, "limit") and "words" not in row] == []


def test_each_setting_that_is_a_time_or_a_size_is_on_the_page() -> None:
    sizes = {keyword for keyword, row in SETTINGS.items() if row.kind is int and keyword not in NO_LIMITS}
    assert sorted(sizes - on_the_page()) == []


def test_each_constant_that_is_called_a_limit_is_on_the_page() -> None:
    found = {
        f"{path} {name}"
        for room in ROOMS
        for path in (str(each.relative_to(PACKAGE)) for each in (PACKAGE / room).rglob("*.py"))
        for name in constants(path)
        if NAMED_AS_A_LIMIT.match(name) and not OF_THE_WIRE.match(name)
    }
    assert sorted(found - on_the_page() - NO_LIMITS) == []
    assert sorted((NO_LIMITS - found - SETTINGS.keys()) | (NO_LIMITS & on_the_page())) == []


@pytest.mark.parametrize(
    ("reference", "text", "moved_by"),
    [
        ("buffer_memory", "32 MiB", "`buffer_memory`"),
        ("engine/metadata/refresh.py HEDGE_AFTER_S", "2 s", ""),
        ("worker/work.py Work.max_in_hand", "1,000", "`max_in_hand`"),
        ("_pxi/codec/blocks.h KW_POOL_MOST", "64 MiB", ""),
        ("engine/common/pace.py EVERY_S", "0.1 s", ""),
    ],
)
def test_a_number_is_read_where_it_is_used(reference: str, text: str, moved_by: str) -> None:
    found = number(reference)
    assert (shown(found), found.moved_by) == (text, moved_by)


def test_a_number_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        number("engine/metadata/refresh.py NO_SUCH_LIMIT")
