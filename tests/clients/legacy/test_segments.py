"""Log files of Kafka 0.7 on disk, read by the code that reads its answers."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from kwire import errors
from kwire.legacy import Position, Segment, segments
from tests.reference.messages_0_7 import message


def written(folder: Path, *contents: bytes) -> Path:
    at = 0
    for content in contents:
        (folder / f"{at:020d}.kafka").write_bytes(content)
        at += len(content)
    return folder


def test_a_partition_is_its_segments_in_order(tmp_path: Path) -> None:
    pair = message(gzip.compress(message(b"c") + message(b"d")), 1, 1)
    folder = written(tmp_path, message(b"a") + message(b"b"), pair, b"")
    found = segments(folder)
    assert [(each.base_offset, each.end_offset) for each in found] == [
        (0, 22),
        (22, 22 + len(pair)),
        (22 + len(pair),) * 2,
    ]
    read = [each for segment in found for each in segment.messages()]
    assert [(each.position, each.value) for each in read] == [
        (Position(0), b"a"),
        (Position(11), b"b"),
        (Position(22), b"c"),
        (Position(22, 1), b"d"),
    ]
    assert [each.value for each in found[1].messages(Position(22, 1))] == [b"d"]
    assert found[0].records().to_arrow()["offset"].to_pylist() == [0, 11]


def test_one_file_may_be_named(tmp_path: Path) -> None:
    folder = written(tmp_path, message(b"a"), message(b"b") + message(b"c")[:-1])
    only = segments(folder / f"{11:020d}.kafka")
    assert [each.value for segment in only for each in segment.messages()] == [b"b"]


def test_what_is_no_partition(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match=r"no segment of Kafka 0\.7"):
        segments(tmp_path)
    (tmp_path / "other.kafka").write_bytes(b"")
    with pytest.raises(errors.ConfigError, match="named after its offset"):
        segments(tmp_path)


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, message(b"a"), message(b"b"), message(b"c"))
    (folder / f"{11:020d}.kafka").unlink()
    with pytest.raises(errors.CorruptError, match=r"00000\.kafka ends at 11, but 0*22\.kafka follows"):
        segments(folder)


def test_a_segment_is_decoded_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is compressed in a segment may be more than one call takes."""
    monkeypatch.setattr(sys.modules[Segment.__module__], "_PIECE", 64)
    wrapped = message(gzip.compress(b"".join(message(b"%d" % number) for number in range(50))), 1, 1)
    plain = [message(b"p" * size) for size in (0, 1, 54, 55, 56, 500)]
    folder = written(tmp_path, b"".join([plain[0], wrapped, *plain[1:], wrapped, message(b"cut")[:-1]]))
    [only] = segments(folder)
    whole = [record.offset for record in only.records()]
    read = list(only.messages())
    assert [each.offset for each in read] == whole
    assert len(read) == 106
    for number, each in enumerate(read):
        assert list(only.messages(each.position)) == read[number:]
    assert list(only.messages(read[-1].next)) == []


def test_damage_names_its_file(tmp_path: Path) -> None:
    bad = bytearray(message(b"b"))
    bad[-1] ^= 1
    [only] = segments(written(tmp_path, message(b"a") + bytes(bad)))
    with pytest.raises(errors.CorruptError, match=r"00000\.kafka, what begins at byte 11: .*checksum") as caught:
        list(only.messages())
    assert (caught.value.record_offset, caught.value.seek_to) == (11, 22)


def test_what_precedes_damage_is_given_and_what_follows_is_one_seek_away(tmp_path: Path) -> None:
    bad = message(b"b")[:-1] + b"?"
    segment, last = segments(written(tmp_path, message(b"a") + bad + message(b"c"), message(b"d")))
    reading = segment.messages()
    assert next(reading).value == b"a"
    with pytest.raises(errors.CorruptError) as caught:
        next(reading)
    assert caught.value.seek_to is not None
    assert [each.value for each in segment.messages(Position(caught.value.seek_to))] == [b"c"]
    assert [each.value for each in last.messages()] == [b"d"]


@pytest.mark.parametrize("length", [0, 4, 9, 22, 60])
def test_a_length_that_cannot_be_right_leads_nowhere(tmp_path: Path, length: int) -> None:
    content = message(b"a") + length.to_bytes(4, "big") + message(b"b")[4:] + message(b"c")
    segment, _ = segments(written(tmp_path, content, message(b"d")))
    with pytest.raises(errors.CodecError) as caught:
        list(segment.messages(is_last=False))
    assert (caught.value.record_offset, caught.value.seek_to) == (11, None)


def test_only_the_last_segment_may_end_within_a_message(tmp_path: Path) -> None:
    [only] = segments(written(tmp_path, message(b"a") + message(b"b")[:-1]))
    reading = only.messages()
    assert next(reading).value == b"a"
    with pytest.raises(StopIteration) as end:
        next(reading)
    assert end.value.value == 11
    with pytest.raises(errors.TruncatedError, match="10 bytes are left, and the message would take 11"):
        list(only.messages(is_last=False))
