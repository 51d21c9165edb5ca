"""kwire's codec."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Piece, Pieces, run_codec
from benchmarks.compare.contenders.columns import FOUR, read_fields
from benchmarks.compare.contenders.sweep import sweep
from benchmarks.compare.contenders.two_threads import share_of_one
from benchmarks.compare.task import Task
from kwire import records
from kwire._codec import crc32c
from kwire.engine.addresses import TopicPartition
from kwire.engine.consumer_records import ConsumerRecords
from kwire.records import decode
from kwire.schema.messages import Message

_PLACE = TopicPartition("topic", 0)

inputs.prepare()


def codec(task: Task) -> dict[str, float]:
    """One piece of work, in process."""
    return run_codec(task, pieces())


def pieces() -> Pieces:
    """Records, messages and checksums."""
    return {**_reading(), **_writing(), **_messages(), **sweep(_SHAPES)}


def threads(task: Task) -> dict[str, float]:
    """Two threads decode to columns."""
    data = inputs.batch()
    return share_of_one(lambda: _columns(data), task.budget_s)


def _values(data: bytes) -> list[bytes | None]:
    return decode(data).values()


def _records(data: bytes) -> list[Any]:
    return list(decode(data))


def _columns(data: bytes) -> Any:
    return decode(data).to_arrow(FOUR)


def _views(data: bytes) -> Any:
    return decode(data).to_arrow(FOUR, binary_view=True)


_SHAPES: dict[str, Callable[[bytes], Any]] = {"values": _values, "columns": _columns}


def _reading() -> Pieces:
    plain, n = inputs.batch, inputs.RECORDS
    large, many = partial(inputs.batch, size=1000, count=inputs.LARGE_RECORDS), inputs.LARGE_RECORDS
    return {
        "index": Piece(decode, plain, n),
        "columns": Piece(_columns, plain, n),
        "columns-kept": Piece(
            lambda data: [decode(data).to_arrow() for _ in range(inputs.KEPT)], plain, inputs.KEPT * n
        ),
        "columns-view": Piece(_views, plain, n),
        "records": Piece(_records, plain, n),
        "fields": Piece(lambda data: read_fields(decode(data)), plain, n),
        "handed-out": Piece(lambda data: read_fields(ConsumerRecords([(_PLACE, decode(data))])), plain, n),
        "values": Piece(_values, plain, n),
        "headers-unread": Piece(_records, partial(inputs.batch, headers=True), n),
        "magic-1": Piece(_records, partial(inputs.batch, magic=1), n),
        **{f"values-{codec}": Piece(_values, partial(inputs.batch, compression=codec), n) for codec in inputs.CODECS},
        "records-1k": Piece(_records, large, many),
        "columns-1k": Piece(_columns, large, many),
        "columns-view-1k": Piece(_views, large, many),
        "small-batches": Piece(
            lambda data: read_fields(decode(data)), partial(inputs.in_batches, inputs.SMALL_BATCH), n
        ),
        "crc32c": Piece(crc32c, lambda: bytes(inputs.CHECKED_BYTES), 1),
    }


def _writing() -> Pieces:
    n = inputs.RECORDS
    return {
        "append": Piece(_append, inputs.items, n),
        "encode-values": Piece(records.encode, lambda: [value for value, _, _ in inputs.items()], n),
        "encode-arrow": Piece(records.encode_arrow, lambda: decode(inputs.batch()).to_arrow(), n),
        "encode-gzip": Piece(
            partial(records.encode, compression="gzip"),
            lambda: [(value, key, when, ()) for value, key, when in inputs.items()],
            n,
        ),
    }


def _append(items: list[tuple[bytes, bytes, int]]) -> bytes:
    builder = records.BatchBuilder(max_bytes=2**22)
    add = builder.append
    for value, key, when in items:
        add(value, key, when)
    return builder.build()


def _messages() -> Pieces:
    found = {}
    for name, make in inputs.MESSAGES.items():
        found[f"{name}-encode"] = Piece(_encode, make, 1)
        found[f"{name}-decode"] = Piece(_decode, partial(_encoded, make), 1)
    return found


def _encode(given: tuple[Message, int]) -> bytes:
    message, version = given
    return message.encode(version)


def _encoded(make: Callable[[], tuple[Message, int]]) -> tuple[type[Message], bytes, int]:
    message, version = make()
    return type(message), message.encode(version), version


def _decode(given: tuple[type[Message], bytes, int]) -> Message:
    kind, data, version = given
    return kind.decode(data, version)


VERBS = {"codec": codec, "threads": threads}
