"""Format strings: what kcat 1.7 printed of the same records, byte for byte, and where it is left on purpose."""

from __future__ import annotations

import os
from typing import Any

import pytest

from kwire import records
from kwire.cli.format_strings import compiled, pieces
from kwire.cli.record_columns import Look
from kwire.cli.usage import UsageError
from kwire.cli.value_forms import FORMS

NOW = 1_700_000_000_000
RECORDS: list[Any] = [
    (b"v", b"k", NOW, [("a", b"1"), ("b", None), ("c", b"")]),
    (None, None, NOW + 1, []),
    (b"", b"", NOW + 2, [("x", b"y,z")]),
]


def printed(text: str, look: Look | None = None, given: list[Any] = RECORDS) -> bytes:
    rows = records.decode(records.encode(given))
    return compiled(text, look or Look())("orders", 0, rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            r"%t[%p]@%o %T k=%k %K v=%s %S h=%h %%\n",
            (
                b"orders[0]@0 1700000000000 k=k 1 v=v 1 h=a=1,b=NULL,c= %\n"
                b"orders[0]@1 1700000000001 k= -1 v= -1 h= %\n"
                b"orders[0]@2 1700000000002 k= 0 v= 0 h=x=y,z %\n"
            ),
        ),
        (r"a\tb\r\x41\x0a\65\101\q\%s|", b"a\tb\rA\nAeq\\v|a\tb\rA\nAeq\\|a\tb\rA\nAeq\\|"),
        (r"%R%s\n", b"\x00\x00\x00\x01v\n\xff\xff\xff\xff\n\x00\x00\x00\x00\n"),
        (r"\e%k", b"ekee"),
        ("no token;", b"no token;" * 3),
        ("100%%;%s", b"100%;v100%;100%;"),
        ("grün %k", "grün kgrün grün ".encode()),
    ],
)
def test_as_kcat_prints_it(text: str, expected: bytes) -> None:
    assert printed(text) == expected


def test_where_kcat_is_left() -> None:
    assert printed(r"%k\0\x41f\033[0m", given=RECORDS[:1]) == b"k\x00Af\x1b[0m"
    assert printed("%U|", given=[(b"v", None, NOW), (b"v", None, None)]) == b"2023-11-14T22:13:20.000Z|-|"


def test_null_can_be_told_from_empty() -> None:
    assert printed("%k=%s;", Look(null="NULL")) == b"k=v;NULL=NULL;=;"


def test_arguments_that_are_not_text_are_bytes() -> None:
    latin = os.fsdecode(b"\xfc")
    assert printed(f"{latin}\\{latin}%s;", Look(null=latin)) == b"\xfc\xfcv;\xfc\xfc\xfc;\xfc\xfc;"


def test_bytes_are_printed_as_they_are() -> None:
    assert printed("%k%s", given=[(b"\xff\x00%s", b"\x80")]) == b"\x80\xff\x00%s"


def test_keys_and_values_by_their_forms_have_the_size_that_their_bytes_have() -> None:
    given = [(b"\x00\x00\x00\x07", b"\xff"), (None, None)]
    assert printed("%k %K %s %S;", Look(FORMS["hex"], FORMS["int32"], null="-"), given) == b"ff 1 7 4;- -1 - -1;"


@pytest.mark.parametrize(("text", "named"), [("%z", "'%z'"), ("%", "'%'"), ("%s%", "'%'"), ("%\n", "'%\n'")])
def test_tokens_that_do_not_exist_are_named(text: str, named: str) -> None:
    with pytest.raises(UsageError, match="is none of %s %S %k %K %h %R %t %p %o %T %U %%") as caught:
        pieces(text)
    assert named in str(caught.value)


def test_a_backslash_at_the_end_stays() -> None:
    assert printed("%k\\", given=RECORDS[:1]) == b"k\\"
