"""Which folders and files are read, and as which partition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.errors import ConfigError
from kwire.log_files.folders import find_logs
from kwire.log_files.names import is_left_behind, parse_file_name, partition_of_folder
from kwire.log_files.storage import read_until_zeros
from tests.log_files.written import STORAGE, batch, offsets, open_log, read, write_segment

UUID = "oAtiIQ95REujbuzNd_lkLQ"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/orders-0", ("orders", 0)),
        ("/data/a-b.c_d-12/", ("a-b.c_d", 12)),
        (f"/tiered/orders-7-{UUID}", ("orders", 7)),
        (f"/tiered/orders-{UUID}/7", ("orders", 7)),
        ("/data/orders", None),
        ("/data/7", None),
        ("orders-0", ("orders", 0)),
    ],
)
def test_the_partition_of_a_folder(path: str, expected: tuple[str, int] | None) -> None:
    assert partition_of_folder(path) == expected


def test_names_of_files() -> None:
    assert parse_file_name("00000000000000000042.log") == ("00000000000000000042", 42, False, ".log")
    assert parse_file_name(f"42-{UUID}.log") == (f"42-{UUID}", 42, True, ".log")
    assert parse_file_name(f"00000000000000000042-{UUID}.rsm-manifest") is not None
    for name in ("00000000000000000000.log.deleted", "00000000000000000000.log.swap", "notes.log", "42.log"):
        assert parse_file_name(name) is None


def test_folders_that_brokers_leave_behind() -> None:
    assert is_left_behind("orders-0.5b1c3a0e8f8d4f4c9a1e-delete")
    assert is_left_behind("orders-0.5b1c3a0e8f8d4f4c9a1e-future")
    assert is_left_behind("orders-0.5b1c3a0e8f8d4f4c9a1e-stray")
    assert not is_left_behind("orders.v2-delete-0")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A broker's log directory."""
    tmp_path /= "broker"
    for name in ("orders-0", "orders-1", "payments-0", "__consumer_offsets-3", "orders-2.5b1c-delete"):
        write_segment(tmp_path / name, [batch(0)])
    (tmp_path / "orders-0" / f"{0:020d}.log.deleted").write_bytes(batch(0))
    (tmp_path / "orders-0" / f"{10:020d}.log.cleaned").write_bytes(batch(0))
    (tmp_path / "meta.properties").write_text("version=1")
    return tmp_path


def found(*paths: str | Path) -> list[str]:
    return [f"{log.topic}-{log.partition}" for log in find_logs(STORAGE, [str(path) for path in paths])]


def test_a_directory_of_partitions(data: Path) -> None:
    assert found(data) == found(data.parent) == ["orders-0", "orders-1", "payments-0"]
    assert found(data / "__consumer_offsets-3") == ["__consumer_offsets-3"]


def test_patterns_and_lists(data: Path) -> None:
    assert found(data / "orders-*") == ["orders-0", "orders-1"]
    assert found(data / "{orders,payments}-0") == ["orders-0", "payments-0"]
    assert found(data / "*-[1-9]") == ["orders-1"]
    assert found(data / "orders-?", data / "orders-0") == ["orders-0", "orders-1"]
    assert found(data / "*-0" / "*.log") == ["orders-0", "payments-0"]
    for missing in ("nothing", "nothing-*", "orders-0/7.log"):
        with pytest.raises(ConfigError, match="nothing"):
            found(data / missing)


def test_chosen_partitions(data: Path) -> None:
    logs = find_logs(STORAGE, [str(data)], wanted=lambda topic, partition: topic.startswith("_") or partition == 1)
    assert [(log.topic, log.partition) for log in logs] == [("__consumer_offsets", 3), ("orders", 1)]


def test_one_segment(tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", [batch(0)])
    second = write_segment(tmp_path / "orders-0", [batch(10), batch(20)], base=10)
    write_segment(tmp_path / "orders-0", [batch(30)], base=30)
    assert offsets(read(open_log(second))) == list(range(10, 30))
    with pytest.raises(ConfigError, match="not a segment"):
        open_log(second.with_suffix(".index"))


def test_a_folder_with_another_name(tmp_path: Path) -> None:
    write_segment(tmp_path / "copied", [batch(0)])
    with pytest.raises(ConfigError, match="say the options topic and partition"):
        open_log(tmp_path / "copied")
    log = open_log(tmp_path / "copied", place=("orders", 4))
    assert (log.topic, log.partition) == ("orders", 4)


def test_tiered_storage(tmp_path: Path) -> None:
    for folder, name in ((f"orders-0-{UUID}", f"0-{UUID}"), (f"orders-{UUID}/1", f"{0:020d}-{UUID}")):
        path = write_segment(tmp_path / folder, [batch(0), batch(10)])
        path.rename(path.with_name(f"{name}.log"))
        path.with_suffix(".index").rename(path.with_name(f"{name}.index"))
    logs = find_logs(STORAGE, [str(tmp_path)])
    assert [(log.topic, log.partition, log.is_tiered) for log in logs] == [("orders", 0, True), ("orders", 1, True)]
    assert offsets(read(open_log(tmp_path / f"orders-0-{UUID}"), target=1)) == list(range(20))


@pytest.mark.parametrize(("manifest", "kind"), [({"compression": True}, "compression"), ({"encryption": {}}, None)])
def test_chunks_of_tiered_storage(tmp_path: Path, manifest: dict[str, object], kind: str | None) -> None:
    path = write_segment(tmp_path / f"orders-{UUID}" / "1", [batch(0)])
    path = path.rename(path.with_name(f"{0:020d}-{UUID}.log"))
    path.with_suffix(".rsm-manifest").write_text(json.dumps(manifest))
    if kind is None:
        assert offsets(read(open_log(tmp_path))) == list(range(10))
        return
    with pytest.raises(ConfigError, match=rf"{path}: chunks of tiered storage .*says {kind}"):
        open_log(tmp_path)


@pytest.mark.parametrize("manifest", ["", "[]", pytest.param("[" * 4000, id="nested")])
def test_what_is_no_manifest_of_tiered_storage(tmp_path: Path, manifest: str) -> None:
    path = write_segment(tmp_path / f"orders-{UUID}" / "1", [batch(0)])
    path = path.rename(path.with_name(f"{0:020d}-{UUID}.log"))
    path.with_suffix(".rsm-manifest").write_text(manifest)
    with pytest.raises(ConfigError, match=r"\.rsm-manifest: not a manifest of Aiven's plug-in"):
        open_log(tmp_path)


def test_indexes_are_read_up_to_the_zeros_that_fill_them(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "orders-0", [batch(10 * number) for number in range(5000)])
    index = path.with_suffix(".index")
    entries = index.read_bytes()
    info = STORAGE.info(str(index))
    assert info is not None
    assert read_until_zeros(STORAGE, info).rstrip(b"\0") == entries.rstrip(b"\0")
    index.write_bytes(entries + bytes(10_485_760))
    assert len(read_until_zeros(STORAGE, info._replace(size=index.stat().st_size))) < 2 * len(entries)
    assert open_log(path).end_offset == 50_000
