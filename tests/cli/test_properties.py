"""Properties files: Java's rules for names, blanks, comments, continued lines and escapes, and errors without values.

The expected values are those of java.util.Properties 17.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.cli.properties import parse_properties, read_properties
from kwire.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1 ", {"a": "1 "}),
        ("  a:2", {"a": "2"}),
        ("a 3", {"a": "3"}),
        ("a\t\f3", {"a": "3"}),
        ("a = : 3", {"a": ": 3"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("a=1\na=2", {"a": "2"}),
        ("# c\n! d = 1\n \t# e\n\n \na=#1!", {"a": "#1!"}),
        ("# comments do not go on \\\na=1", {"a": "1"}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("a=x,\\\n   y,\\\r\n\tz", {"a": "x,y,z"}),
        ("a=x\\\n# no comment", {"a": "x# no comment"}),
        ("a=x\\\\\nb=1", {"a": "x\\", "b": "1"}),
        ("a=x\\\\\\\nb=1", {"a": "x\\b=1"}),
        ("\\\n\nb=1", {"b": "1"}),
        ("a\\\n\nb=1", {"a": "", "b": "1"}),
        ("\\\n!x\nb=1", {"b": "1"}),
        ("a=x\\", {"a": "x"}),
        ("a\\ b\\=c\\:d=1", {"a b=c:d": "1"}),
        ("a=\\t\\n\\r\\f\\q\\\\\\=", {"a": "\t\n\r\fq\\="}),
        ("a=\\u00e4\\u00E4\\ud83d\\ude00", {"a": "ää😀"}),
        ("\\u0061=1", {"a": "1"}),
        ("a=\\  1", {"a": "  1"}),
        ("", {}),
    ],
)
def test_the_rules_of_java(text: str, expected: dict[str, str]) -> None:
    found = parse_properties(text, "f")
    assert {name: each.value for name, each in found.items()} == expected


def test_lines_are_counted() -> None:
    found = parse_properties("# one\na=1\nb=x\\\n  y\n\nc=3\na=4", "f")
    assert {name: each.line for name, each in found.items()} == {"a": 7, "b": 3, "c": 6}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=1\nsasl.password=\\u12hunter2", r"f, line 2: \u needs four hexadecimal digits"),
        ("sasl.password=hunter2\\u", r"f, line 1: \u needs four hexadecimal digits"),
        ("sasl.password=hunter2\\ud83d", r"f, line 1: \uXXXX of a surrogate pair without its other half"),
        ("\n= hunter2", "f, line 2: there is no name before the value"),
    ],
)
def test_errors_name_file_and_line_but_no_value(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_properties(text, "f")
    assert str(caught.value) == said


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text("sasl.password=schlüssel", encoding)
    assert read_properties(str(path))["sasl.password"].value == "schlüssel"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing: No such file or directory"):
        read_properties(str(tmp_path / "missing"))
