"""FrameReceiver: frames out of a stream cut anywhere, sizes that lie, and bytes that outlive their receiver."""

from __future__ import annotations

import ctypes
import gc
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors
from kwire._codec import FrameReceiver, pool_statistics
from tests.guarded import runs_in_a_process

CHUNK_SIZE = 256 * 1024


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


@given(st.lists(st.binary(max_size=400), max_size=20), st.lists(st.integers(1, 300), min_size=1, max_size=20))
def test_frames_come_out_whole_wherever_the_stream_is_cut(bodies: list[bytes], cuts: list[int]) -> None:
    stream, receiver, seen, at, turn = framed(*bodies), FrameReceiver(1000), [], 0, 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        seen += receiver.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    assert [bytes(frame) for frame in seen] == bodies
    assert receiver.pending == 0


def test_receives_into_the_buffer_given_out() -> None:
    receiver = FrameReceiver()
    stream = framed(b"a" * 300_000, b"b")
    seen = []
    while stream:
        room = receiver.buffer()
        count = min(len(room), 70_000, len(stream))
        room[:count] = stream[:count]
        seen += receiver.received(count)
        stream = stream[count:]
    assert [len(frame) for frame in seen] == [300_000, 1]


@pytest.mark.parametrize("size", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_size_that_lies_is_refused_before_any_allocation(size: int) -> None:
    receiver = FrameReceiver(1000)
    receiver.buffer()
    before = pool_statistics()["live_bytes"]
    with pytest.raises(errors.FrameError, match=str(size)):
        receiver.feed(struct.pack(">i", size))
    assert pool_statistics()["live_bytes"] <= before


def test_an_answer_of_a_web_server_is_called_that() -> None:
    with pytest.raises(errors.FrameError, match="a web server answers at this port"):
        FrameReceiver().feed(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_a_size_written_over_after_it_was_received_leaves_room_for_more() -> None:
    receiver = FrameReceiver(1000)
    room = receiver.buffer()
    room[:7] = b"\0\0\0\x09abc"
    assert receiver.received(7) == []
    for size in range(4):
        room[3] = size
        assert len(receiver.buffer()) > 0
    room[3] = 9
    assert [bytes(frame) for frame in receiver.feed(b"defghi")] == [b"abcdefghi"]


def test_frames_stay_valid_after_their_receiver() -> None:
    receiver = FrameReceiver()
    [frame] = receiver.feed(framed(b"kept"))
    part = frame[1:3]
    del receiver, frame
    FrameReceiver().feed(framed(b"over" * 1000))
    assert bytes(part) == b"ep"


def test_a_frame_stays_where_it_is_while_its_last_bytes_come_one_by_one() -> None:
    """Copying it once more for each of them would cost the square of what the sender chooses."""
    runs_in_a_process(receive_last_bytes_one_by_one)  # where no larger block waits in the pool


def receive_last_bytes_one_by_one() -> None:
    for size in (CHUNK_SIZE - 4, (1 << 20) - 4, (20 << 20) - 4):
        receiver = FrameReceiver()
        receiver.feed(struct.pack(">i", size))
        receiver.feed(bytes(size - 100))
        begin = address(receiver.buffer())
        for number in range(99):
            assert address(receiver.buffer()) == begin + number
            assert receiver.received(1) == []
        receiver.buffer()
        assert [len(frame) for frame in receiver.received(1)] == [size]


def address(room: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(room))


def live_blocks() -> int:
    gc.collect()  # what other tests left behind must not go meanwhile
    return int(pool_statistics()["live_blocks"])


def receive(receiver: FrameReceiver, stream: bytes) -> list[memoryview]:
    """As a socket that has all of it would: as much at a time as there is room for."""
    seen: list[memoryview] = []
    while stream:
        room = receiver.buffer()
        count = min(len(room), len(stream))
        room[:count] = stream[:count]
        del room
        seen += map(memoryview, receiver.received(count))
        stream = stream[count:]
    return seen


def test_a_block_that_nobody_holds_is_filled_again_from_its_start() -> None:
    before = live_blocks()
    receiver = FrameReceiver()
    rooms = set()
    for number in range(50):
        assert receive(receiver, framed(bytes([number]) * 20_000)) == [bytes([number]) * 20_000]
        rooms.add(len(receiver.buffer()))
    assert len(rooms) == 1
    assert live_blocks() <= before + 1


def test_what_is_held_is_not_written_over() -> None:
    receiver = FrameReceiver()
    sizes = [10, 300_000, 20, 30, 2_000_000, 1_500_000, 1_900_000, 40, 70_000, 900_000] * 3
    bodies = [bytes([number]) * size for number, size in enumerate(sizes)]
    kept = [frame for body in bodies for frame in receive(receiver, framed(body))]
    assert kept == bodies


def test_a_frame_like_the_last_one_is_received_where_it_stays() -> None:
    receiver = FrameReceiver()
    body = bytes(1_200_000)
    first = receive(receiver, framed(body))
    room = receiver.buffer()
    assert len(room) >= len(body) + 4
    room[:4] = framed(body)[:4]
    assert receiver.received(4) == []
    assert len(receiver.buffer()) == len(room) - 4
    del first


def receive_a_full_response() -> None:
    """In a process of its own, where no block of another size is kept."""
    before = pool_statistics()["live_bytes"]
    receiver = FrameReceiver()
    receiver.feed(((2 << 20) + 8_000).to_bytes(4, "big"))
    assert len(receiver.buffer()) >= (2 << 20) + 8_000
    assert pool_statistics()["live_bytes"] - before <= 5 << 19


def test_the_head_of_a_full_response_does_not_double_its_block() -> None:
    runs_in_a_process(receive_a_full_response)


def test_after_small_frames_a_large_block_is_let_go() -> None:
    receiver = FrameReceiver(1 << 30)
    receive(receiver, framed(bytes(40 << 20)))
    for _ in range(10):
        receive(receiver, framed(b"small"))
    assert len(receiver.buffer()) <= 1 << 20


def test_blocks_are_given_back() -> None:
    gc.collect()  # what other tests left behind must not go meanwhile
    before = pool_statistics()["live_blocks"]
    receiver = FrameReceiver()
    frames = receiver.feed(framed(b"x" * 1_000_000, b"y"))
    assert pool_statistics()["live_blocks"] > before
    del receiver, frames
    assert pool_statistics()["live_blocks"] <= before


@pytest.mark.parametrize("size", [-1, 1001, 0x7FFFFFFF])
def test_frames_before_a_size_that_lies_are_given_first(size: int) -> None:
    receiver = FrameReceiver(1000)
    stream = framed(b"one", b"two") + struct.pack(">i", size)
    room = receiver.buffer()
    room[: len(stream)] = stream
    assert [bytes(frame) for frame in receiver.received(len(stream))] == [b"one", b"two"]
    assert isinstance(receiver.fault, errors.FrameError)
    with pytest.raises(errors.FrameError, match=str(size)):
        receiver.received(0)
    with pytest.raises(errors.FrameError):
        receiver.buffer()


def test_fed_frames_before_a_size_that_lies_are_given_first() -> None:
    receiver = FrameReceiver(1000)
    stream = framed(b"one") + struct.pack(">i", -1)
    assert [bytes(frame) for frame in receiver.feed(stream)] == [b"one"]
    with pytest.raises(errors.FrameError):
        receiver.feed(b"more")
