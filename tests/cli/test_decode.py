"""`kwire decode`: records of every format as table, JSON and values; damage told with its place."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwire import records
from tests.cli.conftest import Kwire
from tests.timing import PATIENT

SOURCE = str(Path(__file__).parents[2] / "src")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Four sets of three formats."""
    path = tmp_path / "dump.bin"
    path.write_bytes(
        records.encode([(b"zero", b"k", None)], magic=0)
        + records.encode([(b"one", b"k", 1_700_000_000_000)], magic=1, compression="gzip", base_offset=1)
        + records.encode([("zwei \u00fc".encode(), None, 1_700_000_000_001, [("h", b"1"), ("n", None)])], base_offset=2)
        + records.encode([(b"\xff\x00", None, 5)], base_offset=3, producer_id=9, producer_epoch=1, base_sequence=7)
    )
    return path


def test_json_has_everything(kwire: Kwire, dump: Path) -> None:
    outcome = kwire("decode", "--format", "json", str(dump))
    assert outcome.code == 0
    assert [json.loads(line) for line in outcome.lines] == [
        {"offset": 0, "timestamp": None, "key": "k", "value": "zero"},
        {"offset": 1, "timestamp": 1_700_000_000_000, "key": "k", "value": "one"},
        {
            "offset": 2,
            "timestamp": 1_700_000_000_001,
            "key": None,
            "value": "zwei ü",
            "headers": [["h", "1"], ["n", None]],
        },
        {"offset": 3, "timestamp": 5, "key": None, "value": {"base64": "/wA="}},
    ]


def test_values_are_the_bytes_themselves(kwire: Kwire, dump: Path) -> None:
    assert kwire("decode", "--format", "value", str(dump)).out == b"zero\none\nzwei \xc3\xbc\n\xff\x00\n"


def test_the_table_is_for_reading(kwire: Kwire, dump: Path) -> None:
    head, zero, one, *_, last = kwire("decode", str(dump)).lines
    assert head.split() == ["offset", "timestamp", "key", "value"]
    assert zero.split() == ["0", "-", "k", "zero"]
    assert one.split() == ["1", "2023-11-14T22:13:20.000Z", "k", "one"]
    assert last.endswith("\\xff\\x00")


def test_batches(kwire: Kwire, dump: Path) -> None:
    head, zero, one, _, last = kwire("decode", "--batches", str(dump)).lines
    assert head.split()[:4] == ["position", "bytes", "offsets", "records"]
    assert zero.split()[2:6] == ["0..0", "1", "0", "none"]
    assert one.split()[2:6] == ["1..1", "1", "1", "gzip"]
    assert last.split()[2:] == ["3..3", "1", "2", "none", "9", "1", "7", "-"]


def test_hex_and_standard_input(kwire: Kwire) -> None:
    data = records.encode([b"value"])
    assert kwire("decode", "--format", "value", "--hex", data.hex(" ", 4)).out == b"value\n"
    assert kwire("decode", "--format", "value", "-", stdin=data).out == b"value\n"


def test_a_cut_end_is_told(kwire: Kwire) -> None:
    whole, cut = records.encode([b"a"]), records.encode([b"b"])[:-3]
    outcome = kwire("decode", "--format", "value", "-", stdin=whole + cut)
    assert (outcome.code, outcome.out) == (0, b"a\n")
    assert f"{len(cut)} of {len(whole + cut)} bytes are left over" in outcome.err


def test_damage_is_one_line_with_its_place(kwire: Kwire) -> None:
    damaged = records.encode([b"value"]).replace(b"value", b"v?lue")
    outcome = kwire("decode", "-", stdin=damaged)
    assert outcome.code == 1
    assert outcome.err.startswith("kwire decode: ")
    assert "offset" in outcome.err
    assert outcome.err.count("\n") == 1
    assert kwire("decode", "--no-crc", "--format", "json", "-", stdin=damaged).code == 0


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(records.encode([b"%d" % n for n in range(200_000)]))
    command = [sys.executable, "-m", "kwire.cli.main", "decode", "--format", "value", str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCE}
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENT) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--hex DIGITS"),
        (["file", "--hex", "00"], "--hex DIGITS"),
        (["--hex", "0g"], "non-hexadecimal"),
    ],
)
def test_wrong_usage(kwire: Kwire, arguments: list[str], said: str) -> None:
    outcome = kwire("decode", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert "usage: kwire decode" in outcome.err


def test_a_file_that_is_not_there(kwire: Kwire) -> None:
    outcome = kwire("decode", "/no/such/file")
    assert (outcome.code, outcome.err) == (1, "kwire decode: /no/such/file: No such file or directory\n")


@pytest.mark.parametrize("size", [3, 8, 12, 16])
def test_bytes_that_are_nothing(kwire: Kwire, size: int) -> None:
    outcome = kwire("decode", "-", stdin=b"\x00\xfe\x17\x80rubbish rubbish"[:size])
    assert (outcome.code, outcome.out) == (1, b"")
    assert f"no whole record batch, frame or capture in {size} bytes" in outcome.err or size > 8


def test_a_batch_of_which_only_the_beginning_is_there(kwire: Kwire) -> None:
    outcome = kwire("decode", "-", stdin=records.encode([b"value"])[:30])
    assert (outcome.code, outcome.out) == (1, b"")
    assert "no whole record batch, frame or capture in 30 bytes" in outcome.err


def test_an_empty_segment_is_no_error(kwire: Kwire) -> None:
    assert kwire("decode", "-").code == 0


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex", "snapshot"])
def test_a_file_beside_a_segment(kwire: Kwire, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"00000000000000000000.{suffix}"
    path.write_bytes(bytes(24))
    outcome = kwire("decode", str(path))
    assert (outcome.code, outcome.out) == (1, b"")
    assert "holds no records: decode 00000000000000000000.log beside it" in outcome.err


def test_gzip_is_opened(kwire: Kwire, dump: Path) -> None:
    packed = gzip.compress(dump.read_bytes())
    dump.with_suffix(".gz").write_bytes(packed)
    values = b"zero\none\nzwei \xc3\xbc\n\xff\x00\n"
    assert kwire("decode", "--format", "value", str(dump.with_suffix(".gz"))).out == values
    assert kwire("decode", "--format", "value", "-", stdin=packed).out == values
    cut = kwire("decode", "-", stdin=packed[:-20])
    assert cut.code == 1
    assert "standard input: the gzip data are damaged or cut off" in cut.err


@pytest.mark.parametrize(
    ("head", "command"),
    [(b"\x28\xb5\x2f\xfd", "zstd -dc"), (b"\xfd7zXZ\x00", "xz -dc"), (b"BZh9", "bzip2 -dc")],
)
def test_other_compressions_name_what_opens_them(kwire: Kwire, tmp_path: Path, head: bytes, command: str) -> None:
    path = tmp_path / "trace.pcap.packed"
    path.write_bytes(head + bytes(20))
    outcome = kwire("decode", str(path))
    assert outcome.code == 1
    assert f"{command} {path} | kwire decode -" in outcome.err
