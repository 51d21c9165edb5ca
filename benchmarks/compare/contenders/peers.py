"""Codec cases that several peers share: records by kafka-python's interface, which aiokafka kept, and messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.columns import four_columns, read_fields
from benchmarks.compare.contenders.meters import Case, Cases
from benchmarks.compare.rows import RECORDS

_KEPT = 2
_CODEC_IDS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_MAX_BYTES = 2**22

Outputs = dict[str, Callable[[bytes], Any]]
Builder = Callable[[], Any]


def outputs(memory_records: Any) -> Outputs:
    """What is made of a record set, by a peer's class MemoryRecords."""
    read = partial(_read, memory_records)
    return {
        "records": read,
        "values": lambda data: [record.value for record in read(data)],
        "columns": lambda data: four_columns(read(data)),
        "columns-kept": lambda data: [four_columns(read(data)) for _ in range(_KEPT)],
        "fields": lambda data: read_fields(read(data)),
    }


def _read(memory_records: Any, data: bytes) -> list[Any]:
    """The records of all batches, checksums verified, read as the peer's consumer reads them."""
    found: list[Any] = []
    log = memory_records(data)
    batch = log.next_batch()
    while batch is not None:
        if not batch.validate_crc():
            raise SystemExit("the checksum is wrong")
        found += batch
        batch = log.next_batch()
    return found


def reading(make: Outputs, n: int = RECORDS, many: int = inputs.LARGE_RECORDS) -> Cases:
    """Decoding: `n` records of 100 bytes, `many` of 1 KiB."""
    plain, large = partial(inputs.batch, count=n), partial(inputs.batch, size=1000, count=many)
    cases = {
        "columns": Case(make["columns"], plain, n),
        "columns-kept": Case(make["columns-kept"], plain, _KEPT * n),
        "columns-view": Case(make["columns"], plain, n),
        "records": Case(make["records"], plain, n),
        "records-fields": Case(make["fields"], plain, n),
        "values": Case(make["values"], plain, n),
        "headers-unread": Case(make["records"], partial(inputs.batch, headers=True, count=n), n),
        "magic-1": Case(make["records"], partial(inputs.batch, magic=1, count=n), n),
        "records-1k": Case(make["records"], large, many),
        "columns-1k": Case(make["columns"], large, many),
        "small-batches": Case(make["fields"], partial(inputs.batches, inputs.SMALL_BATCH, n), n),
    }
    for codec in inputs.CODECS:
        cases[f"values-{codec}"] = Case(make["values"], partial(inputs.batch, compression=codec, count=n), n)
    return cases


def writing(batch_builder: Any, message_set_builder: Any, n: int = RECORDS) -> Cases:
    """Encoding by a peer's builder classes. One append per record is their only way, so it is in every row."""
    plain = partial(batch_builder, 2, 0, 0, -1, -1, -1, _MAX_BYTES)
    items = partial(inputs.items, count=n)
    cases = {
        "append": Case(partial(_append_each, plain), items, n),
        "append-magic-1": Case(partial(_append_old, partial(message_set_builder, 1, 0, _MAX_BYTES)), items, n),
        "encode-values": Case(partial(_append_each, plain), partial(inputs.bare_items, count=n), n),
        "encode-arrow": Case(partial(_append_each, plain), items, n),
    }
    for codec, number in _CODEC_IDS.items():
        packed = partial(batch_builder, 2, number, 0, -1, -1, -1, _MAX_BYTES)
        fewer = partial(inputs.items, count=inputs.FEWER)
        cases[f"encode-{codec}"] = Case(partial(_append_each, packed), fewer, inputs.FEWER)
    return cases


def _append_each(new_builder: Builder, items: Sequence[tuple[bytes, bytes | None, int]]) -> bytes:
    builder = new_builder()
    append = builder.append
    for number, (value, key, when) in enumerate(items):
        append(number, timestamp=when, key=key, value=value, headers=[])
    return bytes(builder.build())


def _append_old(new_builder: Builder, items: Sequence[tuple[bytes, bytes, int]]) -> bytes:
    builder = new_builder()
    append = builder.append
    for number, (value, key, when) in enumerate(items):
        append(number, timestamp=when, key=key, value=value)
    return bytes(builder.build())


def messages(
    decoders: Mapping[str, Callable[[bytes], Any]],
    encoders: Mapping[str, Callable[[Any], bytes]],
    prepare: Callable[[Any], Any] = lambda message: message,
) -> Cases:
    """Messages in and out; a codec encodes what it decoded itself, after `prepare`."""

    def decoded(name: str) -> Any:
        return prepare(decoders[name](inputs.encoded(name)))

    cases = {}
    for name, decode in decoders.items():
        cases[f"{name}-decode"] = Case(decode, partial(inputs.encoded, name), 1)
        cases[f"{name}-encode"] = Case(encoders[name], partial(decoded, name), 1)
    return cases
