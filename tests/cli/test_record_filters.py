"""Which records --filter lets through."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any

import pytest

from kwire import records
from kwire.cli.record_columns import Look
from kwire.cli.record_filters import parse_filter, passing
from kwire.cli.usage import UsageError
from kwire.cli.value_forms import FORMS

RECORDS: list[Any] = [
    (b'{"amount": 50, "who": "a"}', b"eu", 1000, [("trace", b"1")]),
    (b'{"amount": 500, "who": "b"}', b"us", 2000, [("trace", b"2"), ("trace", b"1")]),
    (b"no json", b"eu", 3000),
    (None, None, 4000, [("trace", None)]),
    (b"0", b"=eu", None),
]


def passed(*texts: str, look: Look | None = None, given: Sequence[Any] = RECORDS) -> list[int]:
    """The offsets of the records that pass."""
    choose = passing([parse_filter(text, look or Look()) for text in texts])
    return [row.offset for row in choose("orders", 3, records.decode(records.encode(given)))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key=eu", [0, 2]),
        ("key=", []),
        ("value=no json", [2]),
        ("header.trace=1", [0, 1]),
        ("header.trace=2", [1]),
        ("header.other=1", []),
        ("key=='eu'", [0, 2]),
        ("key~^e|s$", [0, 1, 2]),
        ("value~json", [2]),
        ("value~a.o=?", [0, 1]),
        ("value~", [0, 1, 2, 4]),
        ("header.trace~[2-9]", [1]),
        ("value.amount > `100`", [1]),
        ("value.amount", [0, 1]),
        ("value == 'no json'", [2]),
        ("value == `0`", [4]),
        ("value == null", [3]),
        ("headers[?[0] == 'trace' && [1] == '2']", [1]),
        ("topic == 'orders' && partition == `3` && offset >= `3`", [3, 4]),
        ("timestamp == null", [4]),
        ("contains(value.who, 'b')", [1]),
        ("!value", [3]),
    ],
)
def test_a_filter(text: str, expected: list[int]) -> None:
    assert passed(text) == expected


def test_a_value_of_nought_is_true_and_an_empty_one_is_not() -> None:
    given = [
        (b"0", None),
        (b'""', None),
        (b"[]", None),
        (b"{}", None),
        (b"false", None),
        (b"0.0", None),
        (b"true", None),
    ]
    assert passed("value", given=given) == [0, 5, 6]


def test_arguments_that_are_not_text_are_bytes() -> None:
    latin = os.fsdecode(b"\xfc")
    given = [(b"\xfc", b"\xfc", None, [("\ufffd", b"x"), (b"\xfc", b"\xfc")]), (b"x", b"x")]
    for text in (
        f"key={latin}",
        f"value={latin}",
        f"header.{latin}={latin}",
        f"value~^{latin}",
        f"header.{latin}~{latin}",
    ):
        assert passed(text, given=given) == [0], text


def test_of_several_filters_a_record_passes_all() -> None:
    assert passed("key=eu", "value.amount < `100`") == [0]


def test_forms_say_what_keys_and_values_are() -> None:
    given = [(b"\x00\x00\x00\x07", b"\x00\xff"), (b"\x00\x00\x00\x08", b"\x01")]
    look = Look(FORMS["hex"], FORMS["int32"])
    assert passed("key=00ff", look=look, given=given) == [0]
    assert passed("value=8", look=look, given=given) == [1]
    assert passed("value > `7`", look=look, given=given) == [1]
    assert passed("key~^00f", look=look, given=given) == [0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("value.amount > 100", "numbers stand between backquotes: `100`"),
        ("value.amount >", "is no expression of JMESPath: Invalid jmespath expression: Incomplete expression"),
        ("value[?", "is no expression of JMESPath"),
        ("#", "is no expression of JMESPath: Bad jmespath expression: Unknown token #"),
        ("", "is no expression of JMESPath"),
        ("lenght(value)", r"there is no function lenght\(\)"),
        ("key && length(value, key)", r"length\(\) takes 1, not 2"),
        ("value~(", r"missing \), unterminated subpattern"),
        ("value~a{99999999999}", "the repetition number is too large"),
        ("key~" + "(" * 5000, "it is nested too deeply"),
        ("not_null()", r"not_null\(\) takes 1 or more, not 0"),
    ],
)
def test_bad_expressions_are_told_before_anything_is_read(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parse_filter(text, Look())
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_text_that_the_form_cannot_read_is_told() -> None:
    with pytest.raises(UsageError, match="'x' is no whole number"):
        parse_filter("key=x", Look(FORMS["int64"]))


def test_without_jmespath_the_simple_filters_work_and_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imported = builtins.__import__

    def without(name: str, *more: object) -> object:
        if name.startswith("jmespath"):
            raise ImportError(name)
        return imported(name, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    assert passed("key=eu") == [0, 2]
    with pytest.raises(UsageError, match=r"pip install 'kwire\[shell\]'"):
        parse_filter("value.amount", Look())
