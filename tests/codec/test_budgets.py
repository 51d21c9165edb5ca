"""One call takes no more memory than it was allowed, for decompressed content and for the index of records together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kwire import errors, records
from kwire._codec import let_pool_age, pool_statistics, scan_generation, scan_records
from kwire.errors import LimitError
from tests.reference.compression import compress
from tests.reference.messages_0_7 import message as message_0_7
from tests.reference.records import BatchFields, PlainRecord, batch_of_content, encode_batch, message, plain_set

COUNT = 2_000
INDEX = 40 * COUNT
SMALL = [PlainRecord(i, 1, None, b"") for i in range(COUNT)]


def wrapper(offset: int = COUNT - 1) -> bytes:
    inner = plain_set(SMALL, 1)
    return message(offset, None, compress("gzip", inner), magic=1, attributes=1, timestamp=1)


INNER_SIZE = len(plain_set(SMALL, 1))
PLAIN_FORMS: dict[str, Callable[[], bytes]] = {
    "one batch": lambda: encode_batch(SMALL),
    "many batches": lambda: b"".join(encode_batch([record]) for record in SMALL),
    "batches without records": lambda: batch_of_content(b"", 0, 1, BatchFields(base_offset=0, last_offset=0)) * COUNT,
    "a message set": lambda: plain_set(SMALL, 1),
    "messages of different formats": lambda: b"".join(message(i, None, b"", magic=i % 2) for i in range(COUNT)),
}


@pytest.mark.parametrize("form", PLAIN_FORMS)
def test_the_index_of_plain_records_has_a_budget(form: str) -> None:
    wire = PLAIN_FORMS[form]()
    needed = records.decode(wire).index_bytes
    assert needed >= INDEX
    assert len(records.decode(wire, max_decompressed_bytes=needed).batches) >= 1
    with pytest.raises(LimitError, match=f"more than {needed - 1}; max_decompressed_bytes sets it"):
        records.decode(wire, max_decompressed_bytes=needed - 1)


def test_the_index_of_a_compressed_message_counts_beside_its_content() -> None:
    found = records.decode(wrapper())
    needed = found.index_bytes + found.decompressed_bytes
    assert needed >= INDEX + INNER_SIZE
    assert len(records.decode(wrapper(), max_decompressed_bytes=needed)) == COUNT
    with pytest.raises(LimitError, match="max_decompressed_bytes"):
        records.decode(wrapper(), max_decompressed_bytes=needed - 1)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_the_index_of_a_compressed_batch_counts_beside_its_content(codec: str) -> None:
    wire = encode_batch(SMALL, BatchFields(codec=codec))
    found = records.decode(wire)
    needed = found.index_bytes + found.decompressed_bytes
    assert len(records.decode(wire, max_decompressed_bytes=needed)) == COUNT
    with pytest.raises(LimitError, match="max_decompressed_bytes"):
        records.decode(wire, max_decompressed_bytes=needed - 1)


def test_all_batches_of_one_call_share_the_budget() -> None:
    one = records.decode(wrapper())
    needed = one.index_bytes + one.decompressed_bytes
    wire = b"".join(wrapper((number + 1) * COUNT - 1) for number in range(3))
    assert len(records.decode(wire, max_decompressed_bytes=3 * needed)) == 3 * COUNT
    with pytest.raises(LimitError) as caught:
        records.decode(wire, max_decompressed_bytes=3 * needed - 1)
    assert caught.value.field == "batches[2]"
    found, fault = scan_records(wire, max_total_bytes=2 * needed)
    assert len(found) == 2 * COUNT
    assert fault is not None


def test_each_compressed_batch_has_a_budget_of_its_own_too() -> None:
    one = records.decode(wrapper())
    needed = one.index_bytes + one.decompressed_bytes
    wire = wrapper() + wrapper(2 * COUNT - 1)
    assert scan_records(wire, max_decompressed_bytes=needed)[1] is None
    found, fault = scan_records(wire, max_decompressed_bytes=needed - 1)
    assert len(found) == 0
    assert fault is not None


def test_messages_of_0_7_have_the_budget_too() -> None:
    inner = b"".join(message_0_7(b"") for _ in range(COUNT))
    packed = message_0_7(compress("gzip", inner), codec=1)
    for wire in (inner, packed):
        found = records.decode(wire, generation="0.7")
        needed = found.index_bytes + found.decompressed_bytes
        assert len(records.decode(wire, generation="0.7", max_decompressed_bytes=needed)) == COUNT
        with pytest.raises(LimitError, match="max_decompressed_bytes"):
            records.decode(wire, generation="0.7", max_decompressed_bytes=needed - 1)


def test_a_message_of_0_7_without_room_is_left_out_whole() -> None:
    wire = message_0_7(b"first") * 3
    needed = records.decode(wire, generation="0.7").index_bytes
    found, error = scan_generation("0.7", wire, True, 1 << 20, 0, needed - 1)
    assert isinstance(error, LimitError)
    assert [len(found), found.batches[0].count, found.next_offset] == [2, 2, len(wire) // 3 + 1]


def test_what_is_allocated_for_a_compressed_message_is_what_it_needs() -> None:
    let_all_blocks_go()  # a kept one of up to twice the size would do as well
    before = pool_statistics()["live_bytes"]
    found = records.decode(wrapper())
    assert pool_statistics()["live_bytes"] - before <= 1.3 * (found.index_bytes + found.decompressed_bytes)


def let_all_blocks_go() -> None:
    for _ in range(500):
        let_pool_age()


def test_nothing_stays_allocated_after_a_refusal() -> None:
    before = pool_statistics()["live_bytes"]
    with pytest.raises(errors.LimitError):
        records.decode(wrapper(), max_decompressed_bytes=INNER_SIZE + 1)
    assert pool_statistics()["live_bytes"] == before


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_small_compressed_batches_count_with_all_the_memory_that_they_hold(codec: str) -> None:
    wire = b"".join(encode_batch([record], BatchFields(codec=codec)) for record in SMALL)
    before = pool_statistics()["live_bytes"]
    found = records.decode(wire)
    held = pool_statistics()["live_bytes"] - before
    assert held <= found.decompressed_bytes + 1.3 * found.index_bytes
    assert found.decompressed_bytes < 1000 * COUNT
    with pytest.raises(LimitError, match="max_decompressed_bytes"):
        records.decode(wire, max_decompressed_bytes=found.decompressed_bytes)
