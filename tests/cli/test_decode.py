"""`kwire decode` of record batches: every field of every format, damage with its place; gzip, hex and wrong input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kwire import records
from tests.cli.conftest import Kwire


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


def test_every_field_of_every_batch_is_shown(kwire: Kwire, dump: Path) -> None:
    text = kwire("decode", str(dump)).out.decode()
    assert text.count("record batch") == 2
    assert text.count("message, magic") == 3
    assert "zwei \u00fc" in text
    assert json.loads(kwire("decode", "--json", str(dump)).out)["fields"]


def test_hex_and_standard_input(kwire: Kwire) -> None:
    data = records.encode([b"value"])
    shown = kwire("decode", "-", stdin=data).out
    assert b'"value"' in shown
    assert kwire("decode", "--hex", data.hex(" ", 4)).out == shown


def test_damage_is_told_after_what_precedes_it(kwire: Kwire) -> None:
    damaged = records.encode([b"value"]).replace(b"value", b"v?lue")
    outcome = kwire("decode", "-", stdin=records.encode([b"whole"]) + damaged)
    assert outcome.code == 1
    assert b"whole" in outcome.out
    assert b"the checksum is" in outcome.out
    assert kwire("decode", "--no-crc", "-", stdin=damaged).code == 0


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
    assert f"kwire dump {path}" in outcome.err


def test_gzip_is_opened(kwire: Kwire, dump: Path) -> None:
    packed = gzip.compress(dump.read_bytes())
    dump.with_suffix(".gz").write_bytes(packed)
    shown = kwire("decode", str(dump)).out
    assert kwire("decode", str(dump.with_suffix(".gz"))).out == shown
    assert kwire("decode", "-", stdin=packed).out == shown
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
