"""Records of segments: bounds, cuts at every batch, damage, ends."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kwire import records
from kwire.errors import CorruptError, TruncatedError, UnknownVersionError
from kwire.log_files.reading import ReadPolicy
from tests.log_files.written import batch, offsets, open_log, read, write_segment

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MIXED = [
    batch(0, magic=0),
    batch(10, magic=0, compression="gzip"),
    batch(20, magic=1),
    batch(30, magic=1, compression="lz4"),
    *(batch(40 + 10 * number, compression=codec) for number, codec in enumerate(CODECS)),
]
ALL = list(range(90))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-3"


@pytest.mark.parametrize("index", [True, False], ids=["indexed", "no index"])
def test_pieces_together_are_the_whole(folder: Path, index: bool) -> None:
    write_segment(folder, MIXED[:5], index=index)
    write_segment(folder, MIXED[5:], base=50, index=index)
    log = open_log(folder)
    assert (log.start_offset, log.end_offset) == (0, 90)
    whole = read(log)
    assert offsets(whole) == ALL
    assert [record.value for record in whole] == [b"%d" % offset for offset in ALL]
    for target in (1, 100, 300, 1000):
        assert read(log, target=target) == whole


@pytest.mark.parametrize("index", [True, False], ids=["indexed", "no index"])
def test_every_pair_of_bounds(folder: Path, index: bool) -> None:
    write_segment(folder, MIXED[:5], index=index)
    write_segment(folder, MIXED[5:], base=50, index=index)
    log = open_log(folder)
    for start in range(0, 91, 7):
        for end in range(start, 91, 5):
            assert offsets(read(log, start, end)) == ALL[start:end]
            assert offsets(read(log, start, end, target=1)) == ALL[start:end]


def test_batches_larger_than_a_read(folder: Path) -> None:
    large = [records.encode([b"x" * 3_000_000], base_offset=number) for number in range(3)]
    write_segment(folder, [*large, batch(3)])
    assert offsets(read(open_log(folder))) == list(range(13))


def test_gaps_and_empty_batches_of_compaction(folder: Path) -> None:
    kept = records.encode(
        [each for each in records.decode(batch(10)) if each.offset in (12, 17)], keep_offsets=True, base_offset=10
    )
    write_segment(folder, [batch(0), kept, batch(100)])
    log = open_log(folder)
    assert offsets(read(log)) == [*range(10), 12, 17, *range(100, 110)]
    assert offsets(read(log, 13, 101, target=1)) == [17, 100]


@pytest.mark.parametrize("tail", [1, 11, 12, 16, 17, 60, 61, 100])
def test_the_last_segment_may_end_within_a_batch(folder: Path, tail: int) -> None:
    write_segment(folder, MIXED, tail=batch(90, 100)[:tail])
    log = open_log(folder)
    assert log.end_offset == 90
    assert offsets(read(log)) == ALL


@pytest.mark.parametrize("zeros", [1, 12, 17, 4096, 3_000_000])
def test_room_allocated_ahead_is_the_end(folder: Path, zeros: int) -> None:
    write_segment(folder, MIXED, tail=bytes(zeros))
    assert offsets(read(open_log(folder), target=200)) == ALL


def test_zeros_before_more_data_are_damage(folder: Path) -> None:
    write_segment(folder, MIXED, tail=bytes(5000) + batch(90))
    with pytest.raises(CorruptError.__mro__[1], match=r"at byte \d+: orders-3"):
        read(open_log(folder))


def test_another_segment_may_not_end_within_a_batch(folder: Path) -> None:
    write_segment(folder, MIXED, tail=batch(90)[:50])
    write_segment(folder, [batch(100)], base=100)
    with pytest.raises(TruncatedError, match=r"00000\.log at byte \d+: orders-3: the segment ends within a batch"):
        read(open_log(folder))
    assert offsets(read(open_log(folder), policy=ReadPolicy("skip"))) == [*ALL, *range(100, 110)]
    assert offsets(read(open_log(folder), policy=ReadPolicy("stop"))) == ALL


def damaged(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]


# The bytes of a batch: its length, its magic, its checksum, a record.
@pytest.mark.parametrize("at", [8, 9, 11, 16, 18, 70], ids=str)
@pytest.mark.parametrize("which", [0, 4, 8])
def test_damage(folder: Path, at: int, which: int, caplog: pytest.LogCaptureFixture) -> None:
    batches = [batch(10 * number) for number in range(9)]
    position = sum(map(len, batches[:which]))
    path = write_segment(folder, batches)
    content = path.read_bytes()
    path.write_bytes(damaged(content, position + at))
    good = [offset for offset in ALL if offset // 10 != which]
    for target in (1 << 40, 1):
        log = open_log(folder)
        if which == 8 and at in (8, 9, 11):  # the last batch, of a length beyond the file's end: as if it were cut
            assert offsets(read(log, target=target)) == good
            continue
        with pytest.raises(Exception, match=rf"{path} at byte {position}: orders-3") as caught:
            read(log, target=target)
        assert caught.value.offset in range(position, position + len(batches[which]))
        with caplog.at_level(logging.WARNING, "kwire.log_files"):
            assert offsets(read(log, target=target, policy=ReadPolicy("skip"))) == good
        assert f"at byte {position}" in caplog.text
    assert offsets(read(open_log(folder), policy=ReadPolicy("stop"))) == ALL[: 10 * which]


def test_checksums_may_be_left_unchecked(folder: Path) -> None:
    path = write_segment(folder, MIXED)
    content = path.read_bytes()
    path.write_bytes(damaged(content, sum(map(len, MIXED[:4])) + 17))
    assert offsets(read(open_log(folder), policy=ReadPolicy(check_crc=False))) == ALL


def test_control_batches_are_left_out(folder: Path) -> None:
    marker = records.encode([(b"\0\0\0\0\0\0", b"\0\0\0\1")], base_offset=10, is_control=True, is_transactional=True)
    write_segment(folder, [batch(0), marker, batch(11)])
    assert offsets(read(open_log(folder))) == [*range(10), *range(11, 21)]
    assert offsets(read(open_log(folder), policy=ReadPolicy(include_control=True))) == list(range(21))


def test_an_index_that_cannot_be_right_is_not_used(folder: Path) -> None:
    path = write_segment(folder, MIXED)
    for content in (b"\xff" * 80, b"abc", bytes(800), b""):
        path.with_suffix(".index").write_bytes(content)
        assert offsets(read(open_log(folder), 33, 71, target=1)) == ALL[33:71]


def test_an_index_of_another_segment_is_noticed(folder: Path) -> None:
    path = write_segment(folder, MIXED)
    path.with_suffix(".index").write_bytes(b"\0\0\0\x0a\0\0\0\x10")
    with pytest.raises(CorruptError, match=r"the next one at byte 16, says the \.index"):
        read(open_log(folder), target=1)


def test_kafka_0_7(folder: Path) -> None:
    folder.mkdir()
    content = b"".join(
        records.encode([b"%d" % number], generation="0.7", compression="gzip" if number % 3 == 0 else "none")
        for number in range(60)
    )
    cut = len(content) // 2
    while records.decode(content[:cut], generation="0.7").consumed != cut:
        cut += 1
    (folder / f"{0:020d}.kafka").write_bytes(content[:cut])
    (folder / f"{cut:020d}.kafka").write_bytes(content[cut:])
    log = open_log(folder)
    assert log.end_offset == len(content)
    whole = records.decode(content, generation="0.7")
    for target in (1 << 40, 50, 1):
        assert [(r.offset, r.value) for r in read(log, target=target)] == [(r.offset, r.value) for r in whole]
    later = [record.offset for record in whole if record.offset >= whole[20].offset]
    assert offsets(read(log, whole[20].offset)) == later


def test_damage_in_the_only_batch(folder: Path) -> None:
    path = write_segment(folder, [batch(0)], index=False)
    path.write_bytes(damaged(path.read_bytes(), 16))
    with pytest.raises(UnknownVersionError, match="at byte 0: orders-3, offset 0"):
        read(open_log(folder))
