"""What consume prints of records, by each format and form."""

from __future__ import annotations

import csv
import json
import os
import sys
import threading
from typing import Any

import pytest

from kwire import records
from kwire.cli.record_output import write_block
from kwire.cli.value_forms import BYTES, FORMS, given
from kwire.testing import Broker
from tests.cli.conftest import Kwire

NOW = 1_700_000_000_000
ODD: list[Any] = [
    (b"plain", b"key", NOW, [("name", b"value"), ("name", None)]),
    (None, None, None),
    (b"", b"", NOW),
    ('grün \u2028 \x00 \x7f "\\'.encode(), b"\n\t", NOW),
    (b"\xff\xfe\x00", b"\x80", NOW, [(b"\xff", b"\xfe"), ("", b"")]),
    (b'{"base64": "AA=="}', b"null", NOW),
    (b"\xed\xa0\x80", b"%s %d %", NOW),
]


def parsed(outcome: Any) -> list[dict[str, Any]]:
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.out.decode().split("\n")[:-1]]


def append(broker: Broker, given: list[Any], partition: int = 0) -> None:
    broker.append("orders", records.encode(given), partition=partition)


@pytest.mark.parametrize(("key_as", "value_as"), [("bytes", "bytes"), ("hex", "base64"), ("base64", "hex")])
def test_a_line_of_json_has_all_of_a_record_byte_for_byte(
    kwire: Kwire, broker: Broker, key_as: str, value_as: str
) -> None:
    append(broker, ODD)
    lines = parsed(kwire("consume", "orders", "-J", "--key-as", key_as, "--value-as", value_as))
    assert all(list(line) == ["topic", "partition", "offset", "timestamp", "key", "value", "headers"] for line in lines)
    back = [
        (
            given(FORMS[value_as], line["value"]),
            given(FORMS[key_as], line["key"]),
            line["timestamp"],
            tuple((given(BYTES, name), given(BYTES, value)) for name, value in line["headers"]),
        )
        for line in lines
    ]
    rows = records.decode(broker.record_set("orders"))
    assert back == [(row.value, row.key, None if row.timestamp < 0 else row.timestamp, row.raw_headers) for row in rows]
    assert [(line["topic"], line["partition"], line["offset"]) for line in lines] == [
        ("orders", 0, n) for n in range(7)
    ]


def test_json_values_stand_in_their_place(kwire: Kwire, broker: Broker) -> None:
    append(broker, [(b'{"a": [1.5, "\\ud83d\\ude00"]}', b"\x00\x00\x00\x07"), (b"null", None), (None, None)])
    lines = parsed(kwire("consume", "orders", "-J", "--key-as", "int32", "--value-as", "json"))
    assert [(line["key"], line["value"]) for line in lines] == [
        (7, {"a": [1.5, "\U0001f600"]}), (None, {"base64": "bnVsbA=="}), (None, None),
    ]  # fmt: skip


def test_csv(kwire: Kwire, broker: Broker) -> None:
    append(broker, [(b'a,"b"\nc', b"k", NOW, [("h", b"1")]), (None, b"", None), (b"\xff", b"x", NOW)])
    outcome = kwire("consume", "orders", "--format", "csv", "--null", "NULL")
    assert list(csv.reader(outcome.out.decode().splitlines(keepends=True))) == [
        ["topic", "partition", "offset", "timestamp", "key", "value", "headers"],
        ["orders", "0", "0", str(NOW), "k", 'a,"b"\nc', '[["h","1"]]'],
        ["orders", "0", "1", "", "", "NULL", ""],
        ["orders", "0", "2", str(NOW), "x", '{"base64": "/w=="}', ""],
    ]


def test_csv_with_any_ends_of_lines_in_its_fields_is_read_back(kwire: Kwire, broker: Broker) -> None:
    values = [b"a\rb", b"\r", b"a\r\nb", b"\n\r", b"a\n", b"\x85\xe2\x80\xa8".decode("latin-1").encode()]
    append(broker, [(value, value, NOW, [("h", value)]) for value in values])
    printed = kwire("consume", "orders", "--format", "csv").out
    assert kwire("produce", "copy", "--format", "csv", stdin=printed).code == 0
    assert broker.values("copy") == values


def test_a_table_has_a_line_for_each_record(kwire: Kwire, broker: Broker) -> None:
    append(broker, [(b"a\nb", "grün".encode(), NOW, [("h", b"1\n2"), ("n", None)]), (b'["\xc3\xbc",\n1]', b"{}", NOW)])
    head, first, second = kwire("consume", "orders", "--format", "table").lines
    assert head.split() == ["topic", "partition", "offset", "timestamp", "key", "value"]
    assert first.split()[4:] == ["gr\\xc3\\xbcn", "a\\nb", "[h=1\\n2,n=null]"]
    assert second.split()[4:] == ["{}", '["\\xc3\\xbc",\\n1]']
    form = kwire("consume", "orders", "--format", "table", "--value-as", "json", "--from", "1").lines
    assert form[1].split()[4:] == ["{}", '["ü",\\n1]']


def test_a_text_for_null_that_is_no_text_is_printed_in_all_formats(kwire: Kwire, broker: Broker) -> None:
    append(broker, [(None, None)])
    for shape in ("--format=value", "--format=csv", "-f%s"):
        for form in ("bytes", "int32"):
            outcome = kwire("consume", "orders", shape, "--value-as", form, "--null", os.fsdecode(b"\xfc"))
            assert (outcome.code, b"\xfc" in outcome.out) == (0, True), shape
    assert kwire("consume", "orders", "--format=table", "--value-as=hex", "--null", os.fsdecode(b"\xfc")).code == 0


def test_values_by_their_form(kwire: Kwire, broker: Broker) -> None:
    append(broker, [(b"\x00\x00\x00\x00\x00\x00\x00\x05", None), (None, None)])
    assert kwire("consume", "orders", "--value-as", "int64", "--null", "-").lines == ["5", "-"]
    assert kwire("consume", "orders", "--value-as", "hex").lines == ["0000000000000005", ""]


# -- what does not fit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [("-J",), ("--format", "csv"), ("--format", "table"), ("-f", r"%s %k\n"), ()])
def test_what_does_not_fit_is_told_when_all_before_it_is_printed(
    kwire: Kwire, broker: Broker, shape: tuple[str, ...]
) -> None:
    append(broker, [(b"00000001", b"1"), (b"00000002", b"2"), (b"bad", b"3"), (b"00000003", b"4")])
    outcome = kwire("consume", "orders", "--value-as", "int64", *shape)
    assert outcome.code == 1
    assert outcome.err == (
        "kwire consume: orders-0, offset 2: the value does not fit --value-as: 3 bytes, not 8; "
        "--on-error keep prints it as base64\n"
    )
    head = 1 if shape and shape[-1] in ("csv", "table") else 0
    assert len(outcome.lines) == head + 2
    kept = kwire("consume", "orders", "--value-as", "int64", "--on-error", "keep", *shape)
    assert (kept.code, len(kept.lines), b"YmFk" in kept.out) == (0, head + 4, True)


def test_the_first_record_that_does_not_fit_is_told_whether_by_key_or_value(kwire: Kwire, broker: Broker) -> None:
    append(broker, [(b"1", b"{}"), (b"1", b"{"), (b"x", b"{}"), (b"1", b"{")])
    both = ("consume", "orders", "--key-as", "json", "--value-as", "json")
    outcome = kwire(*both, "-f", r"%s %k\n")
    assert outcome.lines == ["1 {}"]
    assert "orders-0, offset 1: the key does not fit --key-as: no JSON: Expecting property name" in outcome.err
    assert kwire(*both, "-c", "1").code == 0
    assert kwire(*both, "-c", "2", "-p", "0", "--to", "2").lines == ["1", "1"]
    by_filter = kwire(*both, "--filter", "value > `0`")
    assert (by_filter.code, by_filter.lines) == (1, ["1"])
    assert "offset 1: the key" in by_filter.err


def test_a_group_has_not_committed_what_it_could_not_print(kwire: Kwire, broker: Broker) -> None:
    append(broker, [(b"1", None), (b"x", None), (b"2", None)])
    member = ("consume", "orders", "--group", "g", "--from", "earliest", "-e")
    assert kwire(*member, "--value-as", "json").code == 1
    assert kwire(*member).lines == ["1", "x", "2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--value-as", "int46"], "--value-as: invalid choice: 'int46' (choose from 'bytes', 'text', 'hex',"),
        (["-f", "%z"], "--format-string: '%z' is none of %s"),
        (["-f", "%s", "--format", "json"], "not allowed with argument"),
        (["--filter", "value >"], "is no expression of JMESPath"),
        (["--on-error", "skip"], "--on-error: invalid choice"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", "orders", *arguments)
    assert (outcome.code, said in outcome.err) == (2, True)


# -- the bytes that go out ------------------------------------------------------------------------------------------


class _Standard:
    """A standard output that is a pipe."""

    def __init__(self, number: int) -> None:
        self.buffer = os.fdopen(number, "wb")


@pytest.mark.parametrize("blocking", [True, False])
def test_a_block_larger_than_a_pipe_goes_out_whole(monkeypatch: pytest.MonkeyPatch, blocking: bool) -> None:
    block = bytes(range(256)) * 4096
    ours, theirs = os.pipe()
    os.set_blocking(theirs, blocking)
    found: list[bytes] = []

    def read() -> None:
        while data := os.read(ours, 65536):
            found.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    standard = _Standard(theirs)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", standard)
        write_block(block)
        standard.buffer.close()
    reader.join()
    os.close(ours)
    assert b"".join(found) == block
