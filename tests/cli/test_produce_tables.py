"""`kwire produce` from Parquet and Arrow files."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from kwire import records
from kwire.cli import table_formats
from kwire.cli.produce_input import Columns, InputError, Shape
from kwire.cli.produce_tables import Arrow, Parquet, Table
from kwire.testing import Broker
from tests.cli.conftest import Kwire

Row = tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TABLE = pa.table(
    {
        "key": pa.array(["a", None, "c"]),
        "value": pa.array([b"\xff", b"", None], pa.binary()),
        "timestamp": pa.array([1_700_000_000_000, 1_700_000_000_001, 1_700_000_000_002], pa.timestamp("ms", "UTC")),
        "headers": pa.array([[("h", b"v"), ("h", None)], [], None], HEADERS),
        "partition": pa.array([2, 2, 0], pa.int64()),
        "offset": pa.array([7, 8, 9]),
    }
)
ROWS: list[Row] = [
    (b"a", b"\xff", 1_700_000_000_000, [("h", b"v"), ("h", None)]),
    (None, b"", 1_700_000_000_001, []),
    (b"c", None, 1_700_000_000_002, []),
]


def _rows(broker: Broker, partition: int, topic: str = "orders") -> list[Row]:
    return [
        (each.key, each.value, each.timestamp, list(each.headers))
        for each in records.decode(broker.record_set(topic, partition=partition))
    ]


def _values(broker: Broker, topic: str = "orders", partitions: int = 3) -> list[bytes | None]:
    return [row[1] for number in range(partitions) for row in _rows(broker, number, topic)]


def _parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=2)


def _stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    ("name", "write"),
    [("t.parquet", _parquet), ("t.feather", pyarrow.feather.write_feather), ("t.arrow", _stream)],
)
@pytest.mark.parametrize("is_piped", [False, True])
def test_columns_become_records(
    kwire: Kwire, broker: Broker, tmp_path: Path, name: str, write: Any, is_piped: bool
) -> None:
    path = tmp_path / name
    write(TABLE, path)
    form = "parquet" if name.endswith("parquet") else "arrow"
    given: tuple[str, ...] = ("--format", form) if is_piped else (str(path),)
    outcome = kwire("produce", "orders", *given, stdin=path.read_bytes() if is_piped else b"")
    assert (outcome.code, outcome.err) == (0, "3 records to orders, acknowledged\n")
    assert _rows(broker, 2) == ROWS[:2]
    assert _rows(broker, 0) == ROWS[2:]


def test_options_go_over_columns(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    _parquet(TABLE, path)
    given = ("-k", "k", "--timestamp", "5", "-H", "a=b", "-p", "1")
    assert kwire("produce", "orders", *given, str(path)).code == 0
    expected = [(b"k", value, 5, [*headers, ("a", b"b")]) for _, value, _, headers in ROWS]
    assert _rows(broker, 1) == expected
    ignored = [part for what in ("partition", "timestamp", "headers") for part in ("--ignore", what)]
    assert kwire("produce", "orders", *ignored, str(path)).code == 0
    found = [row for number in range(3) for row in _rows(broker, number)]
    assert [row[3] for row in found if row[3] and row[3][-1] != ("a", b"b")] == []


def test_columns_by_other_names_and_of_other_types(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int16()),
            "text": pa.array(["00ff", "01"]).dictionary_encode(),
            "at": pa.array([datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), None]),
            "header.x": ["y", None],
            "note": ["", ""],
        }
    )
    _parquet(table, path)
    given = ("--key-column", "id", "--value-column", "text", "--timestamp-column", "at", "-p", "0")
    outcome = kwire("produce", "orders", *given, "--key-as", "int64", "--value-as", "hex", str(path))
    assert (outcome.code, outcome.err) == (0, "kwire produce: not used: note\n2 records to orders, acknowledged\n")
    first, second = _rows(broker, 0)
    assert first == (b"\0" * 7 + b"\1", b"\0\xff", 1_700_000_000_000, [("x", b"y")])
    assert (second[0], second[1], second[3]) == (b"\0" * 7 + b"\2", b"\1", [("x", None)])
    assert second[2] > 1_700_000_000_000


def test_rows_go_to_the_topics_that_they_name_where_asked(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("audit", 1)
    path = tmp_path / "t.arrow"
    pyarrow.feather.write_feather(pa.table({"topic": ["audit", None, "audit"], "value": ["a", "b", "c"]}), path)
    assert kwire("produce", "orders", "--own-topics", str(path)).code == 0
    assert (_values(broker, "audit", 1), _values(broker)) == ([b"a", b"c"], [b"b"])


def test_rows_that_are_too_large_are_told_and_the_others_written(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    _parquet(pa.table({"value": ["x" * 2000, "a", "x" * 2000, "b"]}), path)
    outcome = kwire("produce", "orders", "-p", "0", "-X", "max.request.size=1000", str(path))
    assert outcome.code == 3
    reason = "was not written: a record of 2036 bytes is larger than max.request.size=1000"
    assert outcome.err.splitlines() == [
        f"kwire produce: {path}, row 1 {reason}",
        f"kwire produce: {path}, row 3 {reason}",
        "2 records to orders, acknowledged, 2 not written",
    ]
    assert _values(broker) == [b"a", b"b"]


def test_rows_that_the_broker_refuses_are_told(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    _parquet(pa.table({"value": ["a", "b"]}), path)
    broker.faults.error("Produce", 87, times=1)
    outcome = kwire("produce", "orders", "-p", "0", "--rate", "4", "-X", "batch.size=1", str(path))
    assert outcome.code == 3
    assert f"{path}, row 1 was not written: " in outcome.err


def test_many_rows_in_a_transaction(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"value": [str(n) for n in range(50_000)]}), path)
    outcome = kwire("produce", "orders", "--transaction", str(path))
    assert (outcome.code, outcome.err) == (0, "50000 records to orders, committed in 1 transaction\n")


@pytest.mark.parametrize(
    ("table", "arguments", "said"),
    [
        (pa.table({"a": ["x"]}), [], ": no column value: --value-column names another; there are a"),
        (pa.table({"value": [1]}), [], ": the column value is int64: --value-as says how to write it"),
        (pa.table({"value": [1, 300]}), ["--value-as", "int8"], ", row 2: value: 300 does not fit into 8 bits"),
        (pa.table({"value": ["a"], "partition": [-2]}), [], ": -2 is no partition"),
        (pa.table({"value": ["a"], "partition": ["x"]}), [], ": the column of partitions is string"),
        (pa.table({"value": ["a"], "timestamp": [1.5]}), [], ": the column of timestamps is double"),
        (pa.table({"value": ["a", "b"], "timestamp": [1, -7]}), [], ", row 2: a timestamp below -1 ms"),
        (pa.table({"value": ["a"], "headers": ["x"]}), [], "cannot be a record's headers"),
    ],
)
def test_columns_that_are_no_records_are_told(
    kwire: Kwire, broker: Broker, tmp_path: Path, table: pa.Table, arguments: list[str], said: str
) -> None:
    path = tmp_path / "t.parquet"
    _parquet(table, path)
    outcome = kwire("produce", "orders", *arguments, str(path))
    assert outcome.code == 1
    assert outcome.err.startswith(f"kwire produce: {path}")
    assert said in outcome.err


def test_pyarrow_is_imported_for_tables_only() -> None:
    asked = "import sys, kwire.cli.produce_writing, kwire.cli.consume_file; print('pyarrow' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_without_pyarrow_it_says_what_to_install(
    kwire: Kwire, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    _parquet(TABLE, path)
    monkeypatch.setattr(table_formats, "find_spec", lambda name: None)
    for command in (("produce", "orders", str(path)), ("consume", "orders", "--output", str(path))):
        outcome = kwire(*command)
        assert outcome.code == 1
        assert outcome.err.endswith("Parquet and Arrow files need pyarrow: pip install 'kwire[arrow]'\n")


def test_a_file_of_another_kind_is_told(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    for form in ("parquet", "arrow"):
        path = tmp_path / f"t.{form}"
        path.write_bytes(b"lines\nof text\n" * 3)
        outcome = kwire("produce", "orders", str(path))
        assert (outcome.code, outcome.err.count("\n")) == (1, 1)
        assert outcome.err.startswith(f"kwire produce: {path}: ")


def test_a_file_that_is_cut_off_is_told(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    whole = io.BytesIO()
    with pa.ipc.new_stream(whole, TABLE.schema) as writer:
        writer.write_table(TABLE)
    outcome = kwire("produce", "orders", "--format", "arrow", stdin=whole.getvalue()[:-60])
    assert outcome.code == 1
    assert outcome.err.startswith("kwire produce: standard input: ")


class _Watched(io.BufferedReader):
    """An input that knows which threads have read it."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self.threads: set[int] = set()

    def read(self, size: int | None = -1, /) -> bytes:
        self.threads.add(threading.get_ident())
        return super().read(size)


@pytest.mark.parametrize(
    ("kind", "write"), [(Parquet, _parquet), (Arrow, pyarrow.feather.write_feather), (Arrow, _stream)]
)
@pytest.mark.parametrize("lost", [0, 20])
def test_no_thread_of_arrow_holds_the_input_which_would_abort_the_program_at_its_end(
    tmp_path: Path, kind: type[Table], write: Callable[[pa.Table, Path], None], lost: int
) -> None:
    path = tmp_path / "t"
    write(TABLE, path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size - lost])
    with _Watched(path) as stream:
        with suppress(InputError):
            blocks = kind(Shape(), Columns(), lambda _: None).blocks(stream, "t")
            assert sum(len(rows) for rows in blocks) == len(TABLE)
        assert stream.threads <= {threading.get_ident()}
