"""`kwire consume --output FILE`, and `kwire produce` from such a file."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from kwire import records
from kwire.cli import table_files
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import started

Row = tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]

BYTES = bytes(range(256))
NAMES = ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]


def _fill(broker: Broker, count: int = 40) -> None:
    for partition in range(3):
        made = [
            records.Record(
                None if n % 7 == 0 else BYTES[: n % 256],
                None if n % 5 == 0 else b"key-%d" % n,
                1_700_000_000_000 + n,
                [("h", b"\xff"), ("h", None)] if n % 3 == 0 else (),
            )
            for n in range(count)
        ]
        broker.append("orders", records.encode(made, compression="lz4"), partition=partition)


def _rows(broker: Broker, topic: str) -> list[list[Row]]:
    return [
        [
            (each.key, each.value, each.timestamp, list(each.headers))
            for each in records.decode(broker.record_set(topic, partition=partition))
        ]
        for partition in range(3)
    ]


def _read(path: Path) -> pa.Table:
    return pq.read_table(path) if path.suffix == ".parquet" else pyarrow.feather.read_table(path)


def _left(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_what_was_consumed_is_produced_as_it_was(
    kwire: Kwire, broker: Broker, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "GROUP_BYTES", 2000)
    broker.create_topic("copy", 3)
    _fill(broker)
    path = tmp_path / name
    outcome = kwire("consume", "orders", "--output", str(path))
    assert (outcome.code, outcome.out, outcome.err) == (0, b"", f"120 records in {path}\n")
    assert _left(tmp_path) == [name]
    table = _read(path)
    assert table.column_names == NAMES
    assert set(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)) == {
        (partition, offset) for partition in range(3) for offset in range(40)
    }
    again = kwire("produce", "copy", str(path))
    assert (again.code, again.err) == (0, "120 records to copy, acknowledged\n")
    assert _rows(broker, "copy") == _rows(broker, "orders")


def test_row_groups_have_a_size(kwire: Kwire, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "GROUP_BYTES", 1000)
    _fill(broker, 100)
    path = tmp_path / "t.parquet"
    assert kwire("consume", "orders", "--output", str(path)).code == 0
    file = pq.ParquetFile(path)
    assert file.metadata.num_row_groups >= 3
    assert file.metadata.num_rows == 300


def test_bounds_partitions_and_filters_choose_the_rows(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    _fill(broker)
    path = tmp_path / "t.parquet"

    def offsets(*given: str) -> list[tuple[int, int]]:
        assert kwire("consume", "orders", "--output", str(path), *given).code == 0
        table = _read(path)
        return list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))

    assert offsets("-p", "1", "--from", "3", "--to", "6") == [(1, 3), (1, 4), (1, 5)]
    assert len(offsets("--count", "7")) == 7
    assert offsets("--from", "latest") == []
    assert sorted(offsets("--filter", "key=key-8")) == [(0, 8), (1, 8), (2, 8)]
    _, headers = _read(path)["key"].to_pylist(), _read(path)["headers"].to_pylist()
    assert headers == [[], [], []]
    assert sorted(offsets("--filter", "key=key-9")) == [(0, 9), (1, 9), (2, 9)]
    assert _read(path)["headers"].to_pylist()[0] == [{"key": "h", "value": b"\xff"}, {"key": "h", "value": None}]


@pytest.mark.parametrize(
    ("form", "value", "kind", "cell"),
    [
        ("bytes", b"\xff", pa.binary(), b"\xff"),
        ("text", b"\xc3\xbc", pa.string(), "\u00fc"),
        ("json", b'{"a": [1]}', pa.string(), '{"a": [1]}'),
        ("hex", b"\0\xff", pa.string(), "00ff"),
        ("int64", b"\xff" * 8, pa.int64(), -1),
        ("uint16-le", b"\1\0", pa.uint16(), 1),
        ("float64", b"\x7f\xf0" + b"\0" * 6, pa.float64(), float("inf")),
    ],
)
def test_a_column_has_the_type_of_its_form(
    kwire: Kwire, broker: Broker, tmp_path: Path, form: str, value: bytes, kind: pa.DataType, cell: Any
) -> None:
    broker.append("orders", records.encode([(value, None), (None, b"null")]))
    path = tmp_path / "t.parquet"
    assert kwire("consume", "orders", "--value-as", form, "--output", str(path)).code == 0
    column = _read(path)["value"]
    assert (column.type, column.to_pylist()) == (kind, [cell, None])
    assert kwire("produce", "orders", "-p", "1", "--value-as", form, str(path)).code == 0
    assert [each.value for each in records.decode(broker.record_set("orders", partition=1))] == [value, None]


def test_a_value_that_does_not_fit_ends_it_without_a_file(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    for form, data in (("text", b"\xff"), ("json", b"{"), ("int32", b"\0")):
        broker.create_topic(form, 1)
        broker.append(form, records.encode([b"1234" if form == "int32" else b"1", data]))
        outcome = kwire("consume", form, "--value-as", form, "--output", str(tmp_path / "t.parquet"))
        assert outcome.code == 1
        assert f"{form}-0, offset 1: the value does not fit --value-as" in outcome.err
        assert _left(tmp_path) == []


def test_a_failure_leaves_an_older_file_as_it_was(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    _fill(broker)
    path = tmp_path / "t.parquet"
    path.write_bytes(b"older")
    broker.faults.mute("Fetch", times=None)
    assert kwire("consume", "orders", "--output", str(path), "--timeout", "1").code == 1
    assert (path.read_bytes(), _left(tmp_path)) == (b"older", ["t.parquet"])


def test_a_folder_that_is_not_there_is_an_error(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    outcome = kwire("consume", "orders", "--output", str(tmp_path / "none" / "t.parquet"))
    assert (outcome.code, outcome.err) == (
        1, f"kwire consume: {tmp_path}/none/t.parquet: No such file or directory\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "t.csv"], "a name that ends in .parquet, .arrow"),
        (["--output", "t.parquet", "--group", "g"], "what is read is committed before the file is whole"),
        (["--output", "t.parquet", "--null", "x"], "--null cannot be combined with --output"),
        (["--output", "t.parquet", "--on-error", "keep"], "--on-error keep cannot be combined with --output"),
        (["--output", "t.parquet", "-J"], "not allowed with argument"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", "orders", *arguments)
    assert outcome.code == 2
    assert said in outcome.err


def test_ctrl_c_ends_with_a_whole_file(broker: Broker, tmp_path: Path) -> None:
    _fill(broker)
    path = tmp_path / "t.parquet"
    with started("consume", "orders", "--follow", "--output", str(path)) as process:
        until = time.monotonic() + 30
        while not _left(tmp_path) and time.monotonic() < until:
            time.sleep(0.02)
        assert not path.exists()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 130
    assert errors.decode() == f"kwire consume: ended by Ctrl-C: 120 records in {path}\n"
    assert (_left(tmp_path), _read(path).num_rows) == (["t.parquet"], 120)


def test_a_process_that_is_killed_leaves_no_file_of_that_name(broker: Broker, tmp_path: Path) -> None:
    _fill(broker)
    with started("consume", "orders", "--follow", "--output", str(tmp_path / "t.parquet")) as process:
        until = time.monotonic() + 30
        while not _left(tmp_path) and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    assert [name.endswith(".part") for name in _left(tmp_path)] == [True]
