"""Records through a codec of kafka-python's interface, which aiokafka kept: MemoryRecords and a batch builder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Works
from benchmarks.compare.contenders.columns import four_columns, read_fields

four_columns([])

_GZIP = 1


def read_all(memory_records: Any, data: bytes) -> list[Any]:
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


def reading(memory_records: Any, n: int = inputs.RECORDS, many: int = inputs.LARGE_RECORDS) -> Works:
    """What the codec reads: `n` records of 100 bytes, `many` of 1 KiB."""
    plain, old, large = inputs.batch(count=n), inputs.batch(magic=1, count=n), inputs.batch(size=1000, count=many)
    headed, small = inputs.batch(headers=True, count=n), inputs.small_batches(n)
    packed = {codec: inputs.batch(compression=codec, count=n) for codec in inputs.CODECS}

    def read(data: bytes) -> list[Any]:
        return read_all(memory_records, data)

    return {
        "columns": (lambda: four_columns(read(plain)), n),
        "columns-kept": (lambda: [four_columns(read(plain)) for _ in range(2)], 2 * n),
        "columns-view": (lambda: four_columns(read(plain)), n),
        "records": (lambda: read(plain), n),
        "fields": (lambda: read_fields(read(plain)), n),
        "values": (lambda: [r.value for r in read(plain)], n),
        "headers-unread": (lambda: read(headed), n),
        "magic-1": (lambda: read(old), n),
        **{f"values-{codec}": (lambda data=data: [r.value for r in read(data)], n) for codec, data in packed.items()},
        "records-1k": (lambda: read(large), many),
        "columns-1k": (lambda: four_columns(read(large)), many),
        "small-batches": (lambda: read_fields(read(small)), n),
    }


def shapes(memory_records: Any) -> dict[str, Callable[[bytes], Any]]:
    """What the sweep over sizes makes of a record set."""
    return {"values": lambda data: [record.value for record in read_all(memory_records, data)],
            "columns": lambda data: four_columns(read_all(memory_records, data))}


def writing(builder: Callable[[int], Any], n: int = inputs.RECORDS) -> Works:
    """What it writes; one append for each record is its only way, so it stands in all rows."""
    items = inputs.items(count=n)
    bare = [(value, None, when) for value, _, when in items]

    def encode(records: Sequence[tuple[bytes, bytes | None, int]], compression_type: int = 0) -> bytes:
        made = builder(compression_type)
        add = made.append
        for number, (value, key, when) in enumerate(records):
            add(number, timestamp=when, key=key, value=value, headers=[])
        return bytes(made.build())

    return {
        "append": (lambda: encode(items), n),
        "encode-values": (lambda: encode(bare), n),
        "encode-arrow": (lambda: encode(items), n),
        "encode-gzip": (lambda: encode(items[:inputs.FEWER], _GZIP), min(n, inputs.FEWER)),
    }
