"""Segments in any order, twice, overlapping or lost: the bytes of a stream, each once, and the gaps."""

from __future__ import annotations

import random

import pytest

from kwire.cli.capture.framing import Frame, Framer, Lost
from kwire.cli.capture.packets import Endpoint, Segment
from kwire.cli.capture.streams import Gap, Piece, Stream

ENDS = (Endpoint(b"\x0a\0\0\1", 1), Endpoint(b"\x0a\0\0\2", 2))
FIRST = 0xFFFF_FF00


def segment(at: int, payload: bytes, *, missing: int = 0, time_ns: int = 0) -> Segment:
    """`at` counts from the first byte of the stream; the payload begins at byte 1000 + at of the file."""
    sequence = (FIRST + 1 + at) & 0xFFFF_FFFF
    return Segment(time_ns, *ENDS, sequence, payload, missing, 1000 + at, False, True, False, False)


def started() -> Stream:
    stream = Stream()
    stream.synchronize(FIRST)
    return stream


def test_order_repeats_and_overlaps_do_not_matter() -> None:
    text = bytes(range(256)) * 3
    rng = random.Random(3)
    for _ in range(300):
        pieces = []
        at = 0
        while at < len(text):
            size = rng.randint(1, 60)
            pieces.append(segment(max(0, at - rng.randint(0, 10)), b""))
            begin = pieces[-1].at - 1000
            pieces[-1] = segment(begin, text[begin : at + size])
            at += size
        order = sorted(pieces, key=lambda piece: piece.at + rng.random() * 200)
        order += rng.choices(pieces, k=5)
        stream = started()
        given = [item for piece in order for item in stream.take(piece)]
        assert all(isinstance(item, Piece) for item in given)
        assert b"".join(item.data for item in given if isinstance(item, Piece)) == text
        for item in given:
            assert isinstance(item, Piece)
            assert text[item.at - 1000 : item.at - 1000 + len(item.data)] == item.data
        assert list(stream.end()) == []


def test_a_hole_is_a_gap_when_a_second_has_passed() -> None:
    stream = started()
    assert [*stream.take(segment(0, b"ab"))] == [Piece(b"ab", 0, 1000)]
    assert [*stream.take(segment(5, b"fg", time_ns=10))] == []
    assert [*stream.take(segment(7, b"hi", time_ns=900_000_000))] == []
    assert [*stream.take(segment(9, b"j", time_ns=1_100_000_000))] == [
        Gap(3, 1_100_000_000), Piece(b"fg", 10, 1005), Piece(b"hi", 900_000_000, 1007),
        Piece(b"j", 1_100_000_000, 1009),
    ]  # fmt: skip


def test_a_hole_is_a_gap_when_much_waits_behind_it() -> None:
    stream = started()
    given = [item for n in range(300) for item in stream.take(segment(10 + n, b"x"))]
    assert given[0] == Gap(10, 0)
    assert len(given) >= 250
    stream = started()
    given = [item for n in range(5) for item in stream.take(segment(10 + n * 2**20, bytes(2**20)))]
    assert given[0] == Gap(10, 0)


def test_what_waits_at_the_end_is_given_out() -> None:
    stream = started()
    assert [*stream.take(segment(4, b"ef")), *stream.take(segment(9, b"j"))] == []
    assert [*stream.end()] == [Gap(4, 0), Piece(b"ef", 0, 1004), Gap(3, 0), Piece(b"j", 0, 1009)]


def test_bytes_that_were_cut_off_are_gaps_in_their_place() -> None:
    stream = started()
    assert [*stream.take(segment(0, b"ab", missing=3)), *stream.take(segment(5, b"f"))] == [
        Piece(b"ab", 0, 1000), Gap(3, 0), Piece(b"f", 0, 1005),
    ]  # fmt: skip
    assert [*stream.take(segment(0, b"ab", missing=3)), *stream.take(segment(5, b"fg", missing=1))] == [
        Piece(b"g", 0, 1006), Gap(1, 0),
    ]  # fmt: skip


def frame(number: int, size: int) -> bytes:
    return size.to_bytes(4, "big") + bytes([number]) + bytes(size - 1)


def framer(max_frame: int = 1 << 20) -> Framer:
    made = Framer(lambda head: head[4] < 100, lambda head: 0 < head[4] < 100, max_frame)
    made.synchronized = True
    return made


def pieces(data: bytes, size: int, at: int = 0) -> list[Piece | Gap]:
    return [Piece(data[n : n + size], n, at + n) for n in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_frames_are_cut_wherever_the_segments_end(size: int) -> None:
    whole = [frame(n + 1, 10 + 3 * n) for n in range(12)]
    data = b"".join(whole)
    cutter = framer()
    found = [item for piece in pieces(data, size, at=500) for item in cutter.take(piece)]
    assert [item.data for item in found if isinstance(item, Frame)] == whole
    for item in found:
        assert isinstance(item, Frame)
        for offset in range(len(item.data)):
            place = 500 + data.index(item.data) + offset
            assert item.offset_of(place) == offset
        assert item.offset_of(499) is None


def test_a_gap_inside_a_frame_costs_only_that_frame() -> None:
    first, second, third = frame(1, 40), frame(2, 40), frame(3, 40)
    cutter = framer()
    items = [Piece(first + second[:20], 0, 0), Gap(10, 1), Piece(second[30:] + third, 2, 0)]
    found = [part for item in items for part in cutter.take(item)]
    assert [(part.data, part.missing) for part in found if isinstance(part, Frame)] == [
        (first, 0), (second[:20], 24), (third, 0),
    ]  # fmt: skip


def test_after_a_gap_that_hides_where_frames_end_the_next_is_searched() -> None:
    first, second, third, fourth = frame(1, 40), frame(2, 40), frame(3, 40), frame(4, 40)
    cutter = framer()
    items = [Piece(first + second[:20], 0, 0), Gap(40, 1), Piece(third[16:] + fourth + frame(5, 30), 2, 0)]
    found = [part for item in items for part in cutter.take(item)]
    frames = [part for part in found if isinstance(part, Frame)]
    assert [part.data for part in frames] == [first, second[:20], fourth, frame(5, 30)]
    lost = [part for part in found if isinstance(part, Lost)]
    assert sum(part.captured for part in lost) == len(third) - 16
    assert sum(part.size for part in lost) == 40 - 24 + len(third) - 16


def test_a_size_that_cannot_be_meant_takes_no_memory_and_ends_no_stream() -> None:
    cutter = framer()
    for size in (2**30, 2**31 - 1, 0xFFFFFFFF):
        bad = size.to_bytes(4, "big") + b"\xee" * 60
        found = [*cutter.take(Piece(bad + frame(7, 40), 0, 0)), *cutter.take(Piece(frame(8, 40), 0, 0))]
        assert [part.data for part in found if isinstance(part, Frame)] == [frame(7, 40), frame(8, 40)]
        assert cutter.head == b""


def test_the_beginning_of_a_frame_at_the_end_is_given_out_as_it_is() -> None:
    cutter = framer()
    assert [*cutter.take(Piece(frame(1, 40)[:30], 0, 0))] == []
    (part,) = cutter.end()
    assert isinstance(part, Frame)
    assert (part.data, part.missing) == (frame(1, 40)[:30], 14)


def test_noise_is_neither_held_nor_taken_for_frames() -> None:
    cutter = Framer(lambda _: True, lambda _: False, 1 << 20)
    for _ in range(20):
        assert [part for part in cutter.take(Piece(bytes(10_000), 0, 0)) if isinstance(part, Frame)] == []
        assert len(cutter.head) <= 14
    (lost,) = cutter.end()
    assert isinstance(lost, Lost)
    assert lost.size == 20 * 10_000
