"""kwire's codec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Works, run_codec
from benchmarks.compare.contenders.columns import FOUR, four_columns, read_fields
from benchmarks.compare.contenders.sweep import sweep
from benchmarks.compare.contenders.two_threads import share_of_one
from benchmarks.compare.task import Task
from kwire import records
from kwire._codec import crc32c
from kwire.engine.addresses import TopicPartition
from kwire.engine.consumed import ConsumerRecords

four_columns([])

_SHAPES: dict[str, Callable[[bytes], Any]] = {
    "values": lambda data: records.decode(data).values(),
    "columns": lambda data: records.decode(data).to_arrow(FOUR),
}


def codec(task: Task) -> dict[str, Any]:
    """Records, messages and checksums, in process."""
    return run_codec(task, {**_reading(), **_writing(), **_messages(), **sweep(_SHAPES, task.works)})


def threads(task: Task) -> dict[str, float]:
    """Two threads decode to columns."""
    data = inputs.batch()
    return share_of_one(lambda: _SHAPES["columns"](data), task.budget_s)


def _reading() -> Works:
    plain, old, large = inputs.batch(), inputs.batch(magic=1), inputs.batch(size=1000, count=inputs.LARGE_RECORDS)
    headed, small = inputs.batch(headers=True), inputs.small_batches()
    decode, n, many = records.decode, inputs.RECORDS, inputs.LARGE_RECORDS
    packed = {codec: inputs.batch(compression=codec) for codec in inputs.CODECS}
    return {
        "index": (lambda: decode(plain), n),
        "columns": (lambda: decode(plain).to_arrow(FOUR), n),
        "columns-kept": (lambda: [decode(plain).to_arrow() for _ in range(inputs.KEPT)], inputs.KEPT * n),
        "columns-view": (lambda: decode(plain).to_arrow(FOUR, binary_view=True), n),
        "records": (lambda: list(decode(plain)), n),
        "fields": (lambda: read_fields(decode(plain)), n),
        "handed-out": (lambda: read_fields(ConsumerRecords([(TopicPartition("topic", 0), decode(plain))])), n),
        "values": (lambda: decode(plain).values(), n),
        "headers-unread": (lambda: list(decode(headed)), n),
        "magic-1": (lambda: list(decode(old)), n),
        **{f"values-{codec}": (lambda data=data: decode(data).values(), n) for codec, data in packed.items()},
        "records-1k": (lambda: list(decode(large)), many),
        "columns-1k": (lambda: decode(large).to_arrow(FOUR), many),
        "columns-view-1k": (lambda: decode(large).to_arrow(FOUR, binary_view=True), many),
        "small-batches": (lambda: read_fields(decode(small)), n),
        "crc32c": (lambda data=bytes(2**20): crc32c(data), 1),
    }


def _writing() -> Works:
    items, table = inputs.items(), records.decode(inputs.batch()).to_arrow()
    values = [value for value, _, _ in items]
    packable = [(value, key, when, ()) for value, key, when in items]

    def append() -> bytes:
        builder = records.BatchBuilder(max_bytes=2**22)
        add = builder.append
        for value, key, when in items:
            add(value, key, when)
        return builder.build()

    return {
        "append": (append, inputs.RECORDS),
        "encode-values": (lambda: records.encode(values), inputs.RECORDS),
        "encode-arrow": (lambda: records.encode_arrow(table), inputs.RECORDS),
        "encode-gzip": (lambda: records.encode(packable, compression="gzip"), inputs.RECORDS),
    }


def _messages() -> Works:
    made = {"metadata": inputs.metadata_response(), "fetch": inputs.fetch_response(),
            "produce": inputs.produce_request()}
    works: dict[str, Any] = {}
    for name, (message, version) in made.items():
        data = message.encode(version)
        works[f"{name}-encode"] = (lambda m=message, v=version: m.encode(v), 1)
        kind = type(message)
        works[f"{name}-decode"] = (lambda k=kind, d=data, v=version: k.decode(d, v), 1)
    return works


VERBS = {"codec": codec, "threads": threads}
