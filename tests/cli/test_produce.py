"""`kwire produce`: what it reads, and what it says of what became of it."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kwire import records
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import started

BYTES = bytes(range(256))


def _found(broker: Broker, topic: str = "orders", partitions: int = 3) -> list[records.Record]:
    return [each for number in range(partitions) for each in records.decode(broker.record_set(topic, partition=number))]


def _pairs(broker: Broker) -> list[tuple[bytes | None, bytes | None]]:
    return [(each.key, each.value) for each in _found(broker)]


# -- lines --------------------------------------------------------------------------------------------------------


def test_bytes_of_lines_are_taken_as_they_are(kwire: Kwire, broker: Broker) -> None:
    assert kwire("produce", "orders", "-p", "1", stdin=BYTES).code == 0
    assert [each.value for each in _found(broker)] == BYTES.split(b"\n")


@pytest.mark.parametrize(
    ("arguments", "given", "expected"),
    [
        (["-K", ":"], b"a:1:2\n:\n", [(b"a", b"1:2"), (b"", b"")]),
        (["-K", r"\t", "-D", ";"], b"a\t1;b\t2\n;", [(b"a", b"1"), (b"b", b"2\n")]),
        (["-D", r"\0"], b"a\nb\0c", [(None, b"a\nb"), (None, b"c")]),
        (["-D", r"\x1e"], b"a\x1eb\x1e", [(None, b"a"), (None, b"b")]),
        (["-D", r"\r\n"], b"a\r\nb\n\r\n", [(None, b"a"), (None, b"b\n")]),
        (["-k", "k"], b"a\nb\n", [(b"k", b"a"), (b"k", b"b")]),
        (["-Z"], b"a\n\nb", [(None, b"a"), (None, None), (None, b"b")]),
        (["-Z", "-K", ":"], b":a\nb:\n", [(None, b"a"), (b"b", None)]),
        (["--null", "NULL", "-K", ":"], b"NULL:a\nb:NULL\nc:\n", [(None, b"a"), (b"b", None), (b"c", b"")]),
        (["--key-as", "int32", "--value-as", "hex", "-K", ":"], b"7:00ff\n", [(b"\0\0\0\7", b"\0\xff")]),
        (["--key-as", "int32", "-k", "7"], b"a\n", [(b"\0\0\0\7", b"a")]),
        (["-k", ""], b"a\n", [(b"", b"a")]),
        (["-k", "\udcff"], b"a\n", [(b"\xff", b"a")]),
        (["-K", r"\xff"], b"a\xffb\n", [(b"a", b"b")]),
    ],
)
def test_keys_and_values_of_lines(
    kwire: Kwire,
    broker: Broker,
    arguments: list[str],
    given: bytes,
    expected: list[tuple[bytes | None, bytes | None]],
) -> None:
    outcome = kwire("produce", "orders", "-p", "0", *arguments, stdin=given)
    assert outcome.code == 0
    assert _pairs(broker) == expected
    assert f"{len(expected)} record" in outcome.err


def test_a_line_without_a_separator_that_is_no_text(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("produce", "orders", "-K", r"\xff", stdin=b"a\n")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "line 1: no '\\udcff' between key and value" in outcome.err


def test_headers_and_a_timestamp_for_all(kwire: Kwire, broker: Broker) -> None:
    given = ("-H", "trace=a=b", "-H", "empty=", "-H", "null", "--timestamp", "2024-05-01T12:00:00+00:00")
    assert kwire("produce", "orders", *given, stdin=b"a\nb\n").code == 0
    for each in _found(broker):
        assert list(each.headers) == [("trace", b"a=b"), ("empty", b""), ("null", None)]
        assert each.timestamp == 1_714_564_800_000


def test_files_are_read_one_after_the_other(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1\n2")
    (tmp_path / "two").write_bytes(b"4\n")
    files = (str(tmp_path / "one"), "-", str(tmp_path / "two"))
    assert kwire("produce", "orders", "-p", "0", *files, stdin=b"3\n").code == 0
    assert [each.value for each in _found(broker)] == [b"1", b"2", b"3", b"4"]


def test_whole_files_are_records(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(BYTES)
    (tmp_path / "none").write_bytes(b"")
    files = (str(tmp_path / "one"), str(tmp_path / "none"))
    assert kwire("produce", "orders", "-p", "0", "-k", "k", "--whole", *files).code == 0
    assert _pairs(broker) == [(b"k", BYTES), (b"k", b"")]


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("a.gz", [], b"one\ntwo"),
        ("a.json.gz", ["--format", "json"], b'{"value": "one"}\n{"value": "two"}\n'),
        ("a.csv", ["--format", "csv"], b"value\none\ntwo\n"),
    ],
)
def test_texts_compressed_by_gzip_are_opened(
    kwire: Kwire, broker: Broker, tmp_path: Path, name: str, arguments: list[str], text: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text[:5]) + gzip.compress(text[5:]))
    assert kwire("produce", "orders", "-p", "0", *arguments, str(path)).code == 0
    assert [each.value for each in _found(broker)] == [b"one", b"two"]


def test_what_is_whole_or_comes_by_standard_input_stays_compressed(
    kwire: Kwire, broker: Broker, tmp_path: Path
) -> None:
    packed = gzip.compress(b"one", mtime=0)
    (tmp_path / "a.gz").write_bytes(packed)
    assert kwire("produce", "orders", "-p", "0", "--whole", str(tmp_path / "a.gz")).code == 0
    assert kwire("produce", "orders", "-p", "0", "-D", r"\0\0\0\0\0\0\0", stdin=packed).code == 0
    assert [each.value for each in _found(broker)] == [packed, packed]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(BYTES * 9)[:-9], "the gzip data are damaged or cut off"),
        (b"\x28\xb5\x2f\xfd...", "is compressed: zstd -dc "),
        (bz2.compress(b"one"), "is compressed: bzip2 -dc "),
    ],
)
def test_a_compressed_text_that_cannot_be_opened(
    kwire: Kwire, broker: Broker, tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "a").write_bytes(content)
    outcome = kwire("produce", "orders", str(tmp_path / "a"))
    assert outcome.code == 1
    assert told in outcome.err


def test_a_text_that_begins_as_bzip2_is_sent(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"BZh is a name\n")
    assert kwire("produce", "orders", str(tmp_path / "a")).code == 0
    assert [each.value for each in _found(broker)] == [b"BZh is a name"]


def test_a_file_that_is_not_there_is_told_before_anything_is_sent(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1\n")
    outcome = kwire("produce", "orders", str(tmp_path / "one"), str(tmp_path / "two"))
    assert (outcome.code, outcome.err) == (1, f"kwire produce: {tmp_path}/two: No such file or directory\n")
    assert _found(broker) == []
    assert kwire("produce", "orders", str(tmp_path)).err.endswith(": Is a directory\n")


def test_a_million_bytes_in_one_line_are_one_record(kwire: Kwire, broker: Broker) -> None:
    assert kwire("produce", "orders", stdin=b"x" * 1_000_000 + b"\nshort\n").code == 0
    assert sorted(len(each.value or b"") for each in _found(broker)) == [5, 1_000_000]


# -- JSON and CSV --------------------------------------------------------------------------------------------------


def test_what_consume_prints_as_json_goes_back_as_it_was(kwire: Kwire, broker: Broker) -> None:
    broker.create_topic("copy", 3)
    for partition in range(3):
        made = [
            records.Record(value, key, 1_700_000_000_000 + n, [("h", b"\xff"), ("h", None)] if n % 2 else ())
            for n, (key, value) in enumerate([(b"k", b"v"), (None, None), (BYTES, b""), (b"", "\u00fc\n".encode())])
        ]
        broker.append("orders", records.encode(made), partition=partition)
    lines = kwire("consume", "orders", "--format", "json").out
    assert kwire("produce", "copy", "--format", "json", stdin=lines).code == 0
    seen = [
        [(each.key, each.value, each.timestamp, list(each.headers)) for each in _found(broker, topic)]
        for topic in ("orders", "copy")
    ]
    assert seen[0] == seen[1]
    assert len(seen[0]) == 12


def test_a_header_whose_name_is_no_text_comes_back(kwire: Kwire, broker: Broker) -> None:
    line = b'{"value": "v", "headers": [[{"base64": "/w=="}, "x"]]}\n'
    assert kwire("produce", "orders", "--format", "json", stdin=line).code == 0
    (found,) = _found(broker)
    assert list(found.raw_headers) == [(b"\xff", b"x")]


@pytest.mark.parametrize(("form", "text"), [("json", '{"value": "a"}\n{"value": "b"}\n'), ("csv", "value\na\nb\n")])
def test_a_mark_of_byte_order_in_front_is_no_part_of_json_and_csv(
    kwire: Kwire, broker: Broker, form: str, text: str
) -> None:
    assert kwire("produce", "orders", "-p", "0", "--format", form, stdin=text.encode("utf-8-sig")).code == 0
    assert [each.value for each in _found(broker)] == [b"a", b"b"]


def test_json_goes_to_the_topics_that_it_names_where_asked(kwire: Kwire, broker: Broker) -> None:
    broker.create_topic("audit", 1)
    lines = b'{"topic": "audit", "value": "a"}\n{"value": "b"}\n'
    assert kwire("produce", "orders", "--format", "json", "--own-topics", stdin=lines).code == 0
    assert [each.value for each in _found(broker, "audit", 1)] == [b"a"]
    assert [each.value for each in _found(broker)] == [b"b"]
    assert kwire("produce", "orders", "--format", "json", stdin=lines).code == 0
    assert len(_found(broker, "audit", 1)) == 1


def test_what_is_not_to_be_taken_from_json(kwire: Kwire, broker: Broker) -> None:
    line = b'{"partition": 7, "timestamp": 5, "headers": [["h", "v"]], "key": "own", "value": "v"}\n'
    ignored = [part for what in ("partition", "timestamp", "headers") for part in ("--ignore", what)]
    given = ("--format", "json", *ignored, "-k", "key", "-H", "a=b", "--timestamp", "6")
    assert kwire("produce", "orders", *given, stdin=line).code == 0
    (found,) = _found(broker)
    assert (found.key, found.timestamp, list(found.headers)) == (b"key", 6, [("a", b"b")])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "no JSON: "),
        (b"[1]", "a JSON object is needed"),
        (b'{"key": "k"}', "no value: null is one for a record without"),
        (b'{"vlaue": "v"}', "vlaue (did you mean value?) is not one of"),
        (b'{"value": 5}', "value: a text is expected, not 5"),
        (b'{"value": "v", "partition": -1}', "partition: a number from 0 is expected"),
        (b'{"value": "v", "timestamp": "late"}', "timestamp: 'late' is neither milliseconds since 1970 nor a time"),
        (b'{"value": "v", "headers": ["a"]}', "headers: pairs of name and value are expected"),
        (b'{"value": "\xff"}', "no UTF-8 text: byte 11 is 0xff"),
    ],
)
def test_a_fault_in_json_is_told_with_its_line_and_what_stands_before_it_is_written(
    kwire: Kwire, broker: Broker, line: bytes, said: str
) -> None:
    outcome = kwire("produce", "orders", "--format", "json", stdin=b'{"value": "a"}\n\n%s\n{"value": "b"}\n' % line)
    assert outcome.code == 1
    assert outcome.err.startswith(f"kwire produce: standard input, line 3: {said}")
    assert outcome.err.endswith("; before that 1 record was acknowledged\n")
    assert [each.value for each in _found(broker)] == [b"a"]


def test_columns_of_csv(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_bytes(
        b"\xef\xbb\xbfid,total,timestamp,partition,header.trace,note\r\n"
        b'1,"17,50\nEUR",1700000000000,2,t,x\r\n'
        b"\r\n"
        b"\xff,18,2023-11-14T22:13:21+00:00,,NULL,\r\n"
    )
    given = ("--format", "csv", "--key-column", "id", "--value-column", "total", "--null", "NULL", str(path))
    outcome = kwire("produce", "orders", *given)
    assert (outcome.code, outcome.err) == (0, "kwire produce: not used: note\n2 records to orders, acknowledged\n")
    found = {each.key: (each.value, each.timestamp, list(each.headers)) for each in _found(broker)}
    assert found == {
        b"1": (b"17,50\nEUR", 1_700_000_000_000, [("trace", b"t")]),
        b"\xff": (b"18", 1_700_000_001_000, [("trace", None)]),
    }
    assert records.decode(broker.record_set("orders", partition=2))[0].key == b"1"


def test_csv_of_consume_is_produced_as_it_was(kwire: Kwire, broker: Broker) -> None:
    broker.create_topic("copy", 3)
    made: list[Any] = [
        records.Record(b'a,"b"\n', b"k", 1_700_000_000_000, [("h", b"v"), ("h", None)]),
        (None, b"n", 5, ()),
    ]
    broker.append("orders", records.encode(made), partition=1)
    lines = kwire("consume", "orders", "--format", "csv", "--null", "NULL").out
    assert kwire("produce", "copy", "--format", "csv", "--null", "NULL", stdin=lines).code == 0
    seen = [
        [(each.key, each.value, each.timestamp, list(each.headers)) for each in _found(broker, topic)]
        for topic in ("orders", "copy")
    ]
    assert seen[0] == seen[1]
    assert len(seen[0]) == 2


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (b"", [], "standard input is empty: its first line is to name the columns"),
        (b"id,total\n1,2\n", [], "standard input, line 1: no column value: --value-column names another; there are id"),
        (b"id,value\n", ["--key-column", "ID"], "line 1: no column ID"),
        (b"value,value\n", [], "line 1: two columns value"),
        (b"value,key\na\n", [], "line 2: 1 field, not 2; before that 0 records were acknowledged"),
        (b"value,\x1b[31mx\na,b,c\n", [], r"not used: \x1b[31mx"),
        (b"\x1b[31mx\na\n", [], r"there are \x1b[31mx; before"),
        (b'value\na\n"b\nc"\nd,e\n', [], "line 5: 2 fields, not 1; before that 2 records were acknowledged"),
        (b'value\na\n"b', [], "line 3: unexpected end of data; before that 1 record was acknowledged"),
        (b"value,partition\na,x\n", [], "line 2: partition: 'x' is no number from 0"),
    ],
)
def test_a_fault_in_csv_is_told_with_its_line(
    kwire: Kwire, broker: Broker, text: bytes, arguments: list[str], said: str
) -> None:
    outcome = kwire("produce", "orders", "--format", "csv", *arguments, stdin=text)
    assert outcome.code == 1
    assert said in outcome.err


# -- what became of it ---------------------------------------------------------------------------------------------


def test_records_that_were_not_written_are_told_by_line(kwire: Kwire, broker: Broker) -> None:
    lines = b"".join(b"%d\n" % n if n % 2 else b"x" * 2000 + b"\n" for n in range(1, 15))
    outcome = kwire("produce", "orders", "-X", "max.request.size=1000", stdin=lines)
    assert outcome.code == 3
    told = outcome.err.splitlines()
    reason = "a record of 2036 bytes is larger than max.request.size=1000"
    assert told[0] == f"kwire produce: standard input, line 2 was not written: {reason}"
    assert told[4].startswith("kwire produce: standard input, line 10 was not written")
    assert told[5:] == ["kwire produce: 2 more not written", "7 records to orders, acknowledged, 7 not written"]


def test_records_that_the_broker_refuses_are_told_by_line(kwire: Kwire, broker: Broker) -> None:
    broker.faults.error("Produce", 87, times=1)
    outcome = kwire("produce", "orders", "-p", "0", "-X", "batch.size=1", "--rate", "5", stdin=b"a\nb\n")
    assert outcome.code == 3
    assert "standard input, line 1 was not written: " in outcome.err
    assert "INVALID_RECORD" in outcome.err
    assert [each.value for each in _found(broker)] == [b"b"]


def test_nothing_more_is_read_once_no_record_can_come_through(kwire: Kwire, broker: Broker) -> None:
    broker.faults.error("Produce", 29, times=None)
    outcome = kwire("produce", "orders", "--rate", "20", stdin=b"line\n" * 200)
    assert outcome.code == 1
    assert "the first: standard input, line 1: " in outcome.err
    assert "TOPIC_AUTHORIZATION_FAILED" in outcome.err


def test_a_rate_is_kept(kwire: Kwire, broker: Broker) -> None:
    begun = time.monotonic()
    assert kwire("produce", "orders", "--rate", "100", stdin=b"line\n" * 50).code == 0
    assert time.monotonic() - begun > 0.4


def test_without_acknowledgement_none_is_claimed(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("produce", "orders", "--acks", "0", "--partitioner", "round_robin", stdin=b"a\nb\n")
    assert (outcome.code, outcome.err) == (0, "2 records to orders, sent without acknowledgement\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--whole", "--format", "csv"], "--whole cannot be combined with --format"),
        (["--format", "json", "-K", ":"], "--key-separator is for lines, not for json"),
        (["--format", "json", "-Z"], "--null is for lines and csv and whole, not for json"),
        (["--key-column", "id"], "--key-column is for csv and parquet and arrow, not for lines"),
        (["-k", "a", "-K", ":"], "--key cannot be combined with --key-separator"),
        (["-D", ""], "--delimiter is empty"),
        (["-K", r"\q"], r"there are \n, \r, \t, \0, \xNN and \\"),
        (["-H", "=a"], "--header: write NAME=VALUE"),
        (["-k", "x", "--key-as", "int32"], "--key: 'x' is no whole number"),
        (["--timestamp", "soon"], "'soon' is neither milliseconds since 1970 nor a time"),
        (["--timestamp", "9" * 5000], "is neither milliseconds since 1970 nor a time"),
        (["--timestamp", "1969-12-31T23:59:59+00:00"], "'1969-12-31T23:59:59+00:00' is before 1970"),
        (["-X", "transactional.id=a"], "name it by --transactional-id"),
        (["--acks", "0", "--transaction"], "acks"),
        (["-p", "-1"], "argument -p/--partition"),
        (["-k"], "argument -k/--key: expected one argument"),
        (["--rate", "0"], "argument --rate"),
        (["--rate", "inf"], "argument --rate"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("produce", "orders", *arguments, stdin=b"a\n")
    assert outcome.code == 2
    assert said in outcome.err
    assert _found(broker) == []


def test_a_file_is_not_among_what_is_required(kwire: Kwire) -> None:
    assert kwire("produce").err.endswith("kwire produce: error: the following arguments are required: TOPIC\n")


# -- transactions --------------------------------------------------------------------------------------------------


def _committed(broker: Broker) -> list[bytes]:
    from kwire import Consumer

    with Consumer(broker.bootstrap_servers, isolation_level="read_committed", auto_offset_reset="earliest") as consumer:
        places = [("orders", n) for n in range(3)]
        ends = consumer.end_offsets(places)
        consumer.assign(places, until={(place.topic, place.partition): end for place, end in ends.items()})
        found: list[bytes] = []
        while not consumer.done():
            found += [value for value in consumer.poll(timeout=5.0).values() if value is not None]
    return sorted(found)


def test_a_transaction_of_everything(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("produce", "orders", "--transaction", stdin=b"a\nb\n")
    assert (outcome.code, outcome.err) == (0, "2 records to orders, committed in 1 transaction\n")
    assert _committed(broker) == [b"a", b"b"]


def test_a_fault_aborts_the_transaction_and_nothing_can_be_seen(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("produce", "orders", "--transactional-id", "t", "-K", ":", stdin=b"k:a\nb\n")
    assert outcome.code == 1
    assert outcome.err == (
        "kwire produce: standard input, line 2: no ':' between key and value; "
        "the transaction was aborted, nothing of it can be seen\n"
    )
    assert _committed(broker) == []


def test_a_record_that_is_refused_aborts_the_transaction(kwire: Kwire, broker: Broker) -> None:
    given = ("--transaction", "-X", "max.request.size=1000")
    outcome = kwire("produce", "orders", *given, stdin=b"a\n" + b"x" * 2000 + b"\n")
    assert outcome.code == 1
    assert "the first: standard input, line 2: a record of 2036 bytes is larger than max.request.size" in outcome.err
    assert "the transaction was aborted" in outcome.err
    assert _committed(broker) == []


def test_a_transaction_for_each_file(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"a:1\n")
    (tmp_path / "two").write_bytes(b"b:2\nc\n")
    files = (str(tmp_path / "one"), str(tmp_path / "two"))
    outcome = kwire("produce", "orders", "--transaction-per-file", "-K", ":", *files)
    assert outcome.code == 1
    assert outcome.err.endswith("nothing of it can be seen; before it 1 transaction committed\n")
    assert _committed(broker) == [b"1"]


# -- Ctrl-C --------------------------------------------------------------------------------------------------------


def _interrupted(*arguments: str, given: bytes, broker: Broker) -> tuple[float, int, str]:
    """Seconds until it ended, exit code and standard error of the command, interrupted once its input is written."""
    with started(*arguments, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()
        until = time.monotonic() + 30
        while len(_found(broker)) < given.count(b"\n") and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        process.wait(timeout=30)
        took = time.monotonic() - begun
        _, errors = process.communicate()
    return took, process.returncode, errors.decode()


def test_ctrl_c_says_how_many_were_acknowledged(broker: Broker) -> None:
    took, code, errors = _interrupted("produce", "orders", given=b"a\nb\nhalf", broker=broker)
    assert (code, errors) == (130, "kwire produce: ended by Ctrl-C: 2 records were acknowledged\n")
    assert took < 2


def test_ctrl_c_aborts_a_transaction(broker: Broker) -> None:
    _, code, errors = _interrupted("produce", "orders", "--transaction", given=b"a\nb\n", broker=broker)
    assert (code, errors) == (
        130, "kwire produce: ended by Ctrl-C: 0 records were committed, the transaction was aborted\n"
    )  # fmt: skip
    assert _committed(broker) == []


def test_ctrl_c_waits_for_no_broker_that_hangs(broker: Broker) -> None:
    broker.faults.mute("Produce", times=None)
    with started("produce", "orders", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"a\nb\n")
        process.stdin.flush()
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=5)
    assert process.returncode == 130
    assert errors == b"kwire produce: ended by Ctrl-C: 0 records were acknowledged; 2 more may have been written\n"


def test_ctrl_c_tells_a_transaction_that_a_broker_does_not_end(broker: Broker) -> None:
    broker.faults.mute("EndTxn", times=None)
    given = ("produce", "orders", "--transactional-id", "t")
    took, code, errors = _interrupted(*given, given=b"a\n", broker=broker)
    assert (code, errors) == (
        130,
        "kwire produce: ended by Ctrl-C: the transaction is still open; to end it: kwire transactions terminate t\n",
    )
    assert took < 2


def test_ctrl_c_counts_right_in_the_middle_of_many(broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"".join(b"%099d\n" % n for n in range(300_000)))
    with started("produce", "orders", *[str(path)] * 40) as process:
        until = time.monotonic() + 30
        while not broker.record_set("orders") and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    found = re.fullmatch(
        r"kwire produce: ended by Ctrl-C: (\d+) records were acknowledged(?:; (\d+) more may have been written)?\n",
        errors.decode(),
    )
    assert process.returncode == 130
    assert found is not None
    acknowledged, unknown = int(found[1]), int(found[2] or 0)
    written = sum(
        records.decode(broker.record_set("orders", partition=n)).batches[-1].last_offset + 1 for n in range(3)
    )
    assert 0 < acknowledged <= written <= acknowledged + unknown


def test_json_lines_can_be_written_by_hand(kwire: Kwire, broker: Broker) -> None:
    lines = [{"value": None, "headers": {"a": "b"}}, {"value": {"base64": "AAE="}, "timestamp": "2024-05-01T12:00:00Z"}]
    given = "\n".join(map(json.dumps, lines)).encode()
    assert kwire("produce", "orders", "-p", "0", "--format", "json", stdin=given).code == 0
    first, second = _found(broker)
    assert (first.value, list(first.headers)) == (None, [("a", b"b")])
    assert (second.value, second.timestamp) == (b"\0\1", 1_714_564_800_000)
