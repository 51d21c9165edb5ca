"""The pool of blocks: what was received and let go of is used again, within bounds."""

from __future__ import annotations

import ctypes
import gc
import mmap
import threading
from pathlib import Path as File
from random import Random
from typing import Any

import pytest

from kwire._codec import PLAIN_MEMORY, FrameReceiver, let_pool_age, pool_statistics
from kwire.protocol import ProduceRequest
from tests.codec.test_accumulator import TOPIC, Path
from tests.guarded import runs_in_a_process

pytestmark = pytest.mark.shared_memory
MEBIBYTE = 1 << 20
MOST_POOLED = 64 * MEBIBYTE


def receive_frame(size: int) -> None:
    """A frame that large comes, and is dropped."""
    receiver = FrameReceiver(1 << 30)
    receiver.feed(size.to_bytes(4, "big"))
    assert len(receiver.buffer()) >= size


def pooled_mebibytes() -> int:
    """Rounded down: what else the process lets go of meanwhile is small."""
    return pool_statistics()["pooled_bytes"] // MEBIBYTE


@pytest.mark.parametrize("size", [2, 9, 28, 50])
def test_a_frame_as_large_as_a_fetch_leaves_its_block_for_the_next(size: int) -> None:
    for other in range(1, 120, 7):
        receive_frame(other * MEBIBYTE)
    receive_frame(size * MEBIBYTE)
    pooled = pooled_mebibytes()
    assert pooled >= size
    for _ in range(5):
        receive_frame(size * MEBIBYTE)
        assert abs(pooled_mebibytes() - pooled) <= 1


def test_a_block_that_is_a_little_larger_will_do() -> None:
    receive_frame(30 * MEBIBYTE)
    pooled = pooled_mebibytes()
    receive_frame(24 * MEBIBYTE)
    assert abs(pooled_mebibytes() - pooled) <= 1


def test_small_blocks_are_kept_for_the_next_small_batches() -> None:
    path = Path(batch_size=16_384)
    path.send(TOPIC, b"")
    path.know(300)
    for _ in range(2):
        send_and_end(path, [b"v"] * 300)
    before = memory()
    assert pool_statistics()["pooled_bytes"] >= 300 * 256
    send_and_end(path, [b"v"] * 300)
    assert memory() == before


def send_and_end(path: Path, values: list[bytes]) -> None:
    """Each to a partition of its own; then all batches have a result."""
    for partition, value in enumerate(values):
        path.send(TOPIC, value, partition=partition)
    for batch in path.drain():
        path.accumulator.complete(batch, 0, -1, None)


def memory() -> int:
    """Of all blocks, whether they are held or kept."""
    found = pool_statistics()
    return found["live_bytes"] + found["pooled_bytes"]


def test_sizes_of_the_past_make_room() -> None:
    for _ in range(2):
        receive_frame(20 * MEBIBYTE)
        receive_frame(30 * MEBIBYTE)
    receive_frame(50 * MEBIBYTE)
    assert 50 * MEBIBYTE <= pool_statistics()["pooled_bytes"] <= MOST_POOLED


def test_the_pool_is_bounded() -> None:
    for size in range(1, 120, 7):
        receive_frame(size * MEBIBYTE)
        assert pool_statistics()["pooled_bytes"] <= MOST_POOLED


def test_what_a_burst_needed_goes_back_little_by_little() -> None:
    let_pool_age()
    for size in (20, 24):
        receive_frame(size * MEBIBYTE)
    kept = [pooled_mebibytes()]
    while kept[-1] and len(kept) < 500:
        let_pool_age()
        kept.append(pooled_mebibytes())
    assert kept[-1] == 0
    assert kept[0] >= 44


def test_what_is_asked_for_again_and_again_is_kept() -> None:
    receive_frame(28 * MEBIBYTE)
    for _ in range(3):
        let_pool_age()
        receive_frame(28 * MEBIBYTE)
        assert pooled_mebibytes() >= 28


NESTED = 3_000


def release_nested_buffers() -> None:
    """Each Buffer pins a memoryview of the one around it; the stack is that of a small thread."""
    innermost: Any = encode_nested(NESTED)
    for _ in range(NESTED):
        innermost = ProduceRequest.decode(memoryview(innermost), 0).topic_data[0].partition_data[0].records
    assert bytes(innermost) == b"innermost"
    holder = [innermost]
    del innermost
    threading.stack_size(256 * 1024)
    releasing = threading.Thread(target=holder.clear)
    releasing.start()
    releasing.join()
    assert pool_statistics()["live_blocks"] == 0


def encode_nested(levels: int) -> bytes:
    topic = ProduceRequest.TopicProduceData
    content = b"innermost"
    for _ in range(levels):
        partition = topic.PartitionProduceData(index=0, records=content)
        content = ProduceRequest(topic_data=[topic(name="t", partition_data=[partition])]).encode(0)
    return content


def test_buffers_of_buffers_are_released_without_recursion() -> None:
    runs_in_a_process(release_nested_buffers)


CHUNK = 256 * 1024
STATM = File("/proc/self/statm")
SMAPS = File("/proc/self/smaps")


def resident_bytes() -> int:
    gc.collect()
    return int(STATM.read_text().split()[1]) * mmap.PAGESIZE


def chunks(count: int) -> list[memoryview]:
    """Blocks that are cut from sheets, once there are enough of them, each filled with its number."""
    found = []
    for number in range(count):
        room = FrameReceiver(1 << 20).buffer()
        assert len(room) == CHUNK
        room[:] = bytes([number % 251]) * CHUNK
        found.append(room)
    return found


def test_pieces_of_sheets_are_used_again_in_any_order() -> None:
    rng = Random(7)
    kept: list[memoryview] = []
    for turn in range(5):
        kept += chunks(60)
        held = [bytes(room) for room in kept]
        gone = set(rng.sample(range(len(kept)), 40 + turn))
        kept = [room for number, room in enumerate(kept) if number not in gone]
        let_pool_age()
        chunks(20)
        left = [content for number, content in enumerate(held) if number not in gone]
        assert [bytes(room) for room in kept] == left


def let_sheets_go() -> None:
    held = chunks(200)
    full = resident_bytes()
    few = held[::8]
    held.clear()
    while pool_statistics()["pooled_bytes"]:
        let_pool_age()
    assert full - resident_bytes() > 150 * CHUNK, (full, resident_bytes())
    assert [room[0] for room in few] == [number % 251 for number in range(0, 200, 8)]
    few.clear()
    while pool_statistics()["pooled_bytes"]:
        let_pool_age()
    assert full - resident_bytes() > 180 * CHUNK, (full, resident_bytes())


@pytest.mark.skipif(PLAIN_MEMORY or not STATM.exists(), reason="no sheets, or no /proc to read resident memory from")
def test_pages_of_a_piece_go_back_while_its_sheet_is_held() -> None:
    runs_in_a_process(let_sheets_go)


def flags_of_memory(room: memoryview) -> set[str]:
    """What the system is told of the pages that it lies in: "hg" asks for large ones, "nh" forbids them."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    inside = False
    for words in map(str.split, SMAPS.read_text().splitlines()):
        begin, _, end = words[0].partition("-")
        if end:
            inside = int(begin, 16) <= address < int(end, 16)
        elif inside and words[0] == "VmFlags:":
            return set(words[1:])
    raise AssertionError(f"{address:x} is in no mapping")


def let_pieces_go() -> None:
    held = chunks(200)
    few = held[::8]
    large = [number for number, room in enumerate(few) if "hg" in flags_of_memory(room)]
    assert len(large) >= len(few) - 3, "no sheets"
    held.clear()
    while pool_statistics()["pooled_bytes"]:
        let_pool_age()
    assert [number for number in large if "nh" not in flags_of_memory(few[number])] == []


@pytest.mark.skipif(PLAIN_MEMORY or not SMAPS.exists(), reason="no sheets, or no /proc to read of them")
def test_a_sheet_with_holes_is_not_made_one_large_page_again() -> None:
    runs_in_a_process(let_pieces_go)
