"""What plans are made of may be any Python objects: an exception, never a plan that reads outside of a column."""

from __future__ import annotations

from typing import Any

import pytest

from kwire._values import AvroPlan, ColumnLayout, CsvPlan, ProtobufPlan, TextPlan
from kwire.errors import ConfigError
from tests.subprocesses import run_python

LAYOUT = ColumnLayout([("", "+s", (1,)), ("a", "l", ())])


@pytest.mark.parametrize("name", ["separator", "quote", "escape", "null"])
def test_csv_without_one_of_its_texts_is_refused(name: str) -> None:
    given: dict[str, Any] = {name: None}
    with pytest.raises(TypeError, match=name):
        CsvPlan(TextPlan(LAYOUT), [1], **given)


class Changes:
    """A number that is another one when it is looked at again."""

    def __init__(self) -> None:
        self.asked = 0

    def __int__(self) -> int:
        self.asked += 1
        return 1 if self.asked == 1 else 1 << 20


def test_a_place_that_changes_is_looked_at_once() -> None:
    place: Any = Changes()
    CsvPlan(TextPlan(LAYOUT), [place])
    assert place.asked == 1


def test_children_of_an_avro_step_that_lie_about_their_number() -> None:
    """With the debugging allocator, which looks at what lies behind each block when that is freed."""
    code = """
        from kwire._values import AvroPlan, ColumnLayout
        class Lies(list):
            def __len__(self):
                return 1
        layout = ColumnLayout([("", "+s", (1,)), ("a", "l", ())])
        try:
            AvroPlan(layout, [("record", 0, Lies([1] * 5000), 0, None, ""), ("long", 1, (), 1, None, "")])
        except Exception as error:
            print(type(error).__name__)
        print("alive")
    """
    assert run_python(code, PYTHONMALLOC="debug").endswith("alive\n")


class Odd(str):
    """A text whose `encode` returns what is no bytes."""

    def encode(self, *how: object) -> Any:
        return None


def test_names_are_written_by_their_characters_whatever_their_encode_returns() -> None:
    layout = ColumnLayout([("", "+s", (1,)), ("a", "u", ())])
    AvroPlan(layout, [("record", 0, (1,), 0, None, ""), ("enum", 1, (), 0, (Odd("A"), None), "")])
    field = (1, "enum", 16, 1, 0, -1, None, [(0, Odd("ZERO"))], Odd("UNKNOWN_"), "a")
    ProtobufPlan(layout, [(0, [field])])
    with pytest.raises(TypeError):
        ProtobufPlan(layout, [(0, [(*field[:8], 5, "a")])])


def test_a_step_of_the_wrong_size_is_refused() -> None:
    with pytest.raises((ConfigError, ValueError)):
        AvroPlan(LAYOUT, [("record", 0, (1,))])  # type: ignore[list-item]
