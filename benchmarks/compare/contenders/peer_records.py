"""Records through a codec of kafka-python's interface, which aiokafka kept: MemoryRecords and a batch builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Piece, Pieces
from benchmarks.compare.contenders.columns import four_columns, read_fields

_GZIP = 1
_KEPT = 2

Shapes = dict[str, Callable[[bytes], Any]]


def shapes(memory_records: Any) -> Shapes:
    """What is made of a record set, by the codec whose class this is."""
    read = partial(_read, memory_records)
    return {
        "records": read,
        "values": lambda data: [record.value for record in read(data)],
        "columns": lambda data: four_columns(read(data)),
        "columns-kept": lambda data: [four_columns(read(data)) for _ in range(_KEPT)],
        "fields": lambda data: read_fields(read(data)),
    }


def _read(memory_records: Any, data: bytes) -> list[Any]:
    """The records of all batches, the checksums verified, as the client's consumer goes through them."""
    found: list[Any] = []
    log = memory_records(data)
    batch = log.next_batch()
    while batch is not None:
        if not batch.validate_crc():
            raise SystemExit("the checksum is wrong")
        found += batch
        batch = log.next_batch()
    return found


def reading(make: Shapes, n: int = inputs.RECORDS, many: int = inputs.LARGE_RECORDS) -> Pieces:
    """What the codec reads: `n` records of 100 bytes, `many` of 1 KiB."""
    plain, large = partial(inputs.batch, count=n), partial(inputs.batch, size=1000, count=many)
    return {
        "columns": Piece(make["columns"], plain, n),
        "columns-kept": Piece(make["columns-kept"], plain, _KEPT * n),
        "columns-view": Piece(make["columns"], plain, n),
        "records": Piece(make["records"], plain, n),
        "fields": Piece(make["fields"], plain, n),
        "values": Piece(make["values"], plain, n),
        "headers-unread": Piece(make["records"], partial(inputs.batch, headers=True, count=n), n),
        "magic-1": Piece(make["records"], partial(inputs.batch, magic=1, count=n), n),
        **{
            f"values-{codec}": Piece(make["values"], partial(inputs.batch, compression=codec, count=n), n)
            for codec in inputs.CODECS
        },
        "records-1k": Piece(make["records"], large, many),
        "columns-1k": Piece(make["columns"], large, many),
        "small-batches": Piece(make["fields"], partial(inputs.in_batches, inputs.SMALL_BATCH, n), n),
    }


def writing(builder: Callable[[int], Any], n: int = inputs.RECORDS) -> Pieces:
    """What it writes; one append for each record is its only way, so it stands in all rows."""
    plain, packed = partial(_append_each, builder, 0), partial(_append_each, builder, _GZIP)
    items, fewer = partial(inputs.items, count=n), partial(inputs.items, count=inputs.FEWER)
    return {
        "append": Piece(plain, items, n),
        "encode-values": Piece(plain, partial(inputs.bare_items, count=n), n),
        "encode-arrow": Piece(plain, items, n),
        "encode-gzip": Piece(packed, fewer, inputs.FEWER),
    }


def _append_each(
    builder: Callable[[int], Any], compression_type: int, records: Sequence[tuple[bytes, bytes | None, int]]
) -> bytes:
    made = builder(compression_type)
    add = made.append
    for number, (value, key, when) in enumerate(records):
        add(number, timestamp=when, key=key, value=value, headers=[])
    return bytes(made.build())
