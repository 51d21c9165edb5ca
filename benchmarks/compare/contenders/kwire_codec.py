"""kwire's codec."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.columns import FOUR, read_fields
from benchmarks.compare.contenders.meters import Case, Cases, run_case, two_threads
from benchmarks.compare.contenders.task import Task
from benchmarks.compare.rows import RECORDS
from kwire import records
from kwire._codec import crc32c
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.records import ConsumerRecords
from kwire.records import decode
from kwire.schema.messages import Message

_PARTITION = TopicPartition("topic", 0)
_KEPT = 20

prepare = inputs.prepare


def codec(task: Task) -> dict[str, float]:
    """One case, in process."""
    return run_case(task, cases())


def threads(task: Task) -> dict[str, float]:
    """Two threads decode to columns."""
    data = inputs.batch()
    return two_threads(lambda: _columns(data), task.budget_s)


def cases() -> Cases:
    """Records, messages and checksums."""
    return {**_reading(), **_writing(), **_messages(), **inputs.sweep({"values": _values, "columns": _columns})}


def _values(data: bytes) -> list[bytes | None]:
    return decode(data).values()


def _records(data: bytes) -> list[Any]:
    return list(decode(data))


def _fields(data: bytes) -> None:
    read_fields(decode(data))


def _columns(data: bytes) -> Any:
    return decode(data).to_arrow(FOUR)


def _views(data: bytes) -> Any:
    return decode(data).to_arrow(FOUR, binary_view=True)


def _keep_columns(data: bytes) -> list[Any]:
    return [decode(data).to_arrow() for _ in range(_KEPT)]


def to_consumer_records(data: bytes) -> None:
    """Reads the fields of what poll() returns."""
    read_fields(ConsumerRecords([(_PARTITION, decode(data))]))


def _reading() -> Cases:
    plain, n = inputs.batch, RECORDS
    large, many = partial(inputs.batch, size=1000, count=inputs.LARGE_RECORDS), inputs.LARGE_RECORDS
    cases = {
        "index": Case(decode, plain, n),
        "index-unchecked": Case(partial(decode, check_crc=False), plain, n),
        "columns": Case(_columns, plain, n),
        "columns-kept": Case(_keep_columns, plain, _KEPT * n),
        "columns-view": Case(_views, plain, n),
        "records": Case(_records, plain, n),
        "records-fields": Case(_fields, plain, n),
        "consumer-records": Case(to_consumer_records, plain, n),
        "values": Case(_values, plain, n),
        "headers-unread": Case(_records, partial(inputs.batch, headers=True), n),
        "magic-1": Case(_records, partial(inputs.batch, magic=1), n),
        "records-1k": Case(_records, large, many),
        "columns-1k": Case(_columns, large, many),
        "columns-view-1k": Case(_views, large, many),
        "small-batches": Case(_fields, partial(inputs.batches, inputs.SMALL_BATCH), n),
        "crc32c": Case(crc32c, lambda: bytes(inputs.CHECKED_BYTES), 1),
    }
    for codec_name in inputs.CODECS:
        cases[f"values-{codec_name}"] = Case(_values, partial(inputs.batch, compression=codec_name), n)
    return cases


def _writing() -> Cases:
    n = RECORDS
    cases = {
        "append": Case(append, inputs.items, n),
        "append-magic-1": Case(partial(append, magic=1), inputs.items, n),
        "encode-values": Case(records.encode, lambda: [value for value, _, _ in inputs.items()], n),
        "encode-tuples": Case(records.encode, inputs.tuples, n),
        "encode-arrow": Case(records.encode_arrow, lambda: decode(inputs.batch()).to_arrow(), n),
    }
    for codec_name in inputs.CODECS:
        cases[f"encode-{codec_name}"] = Case(partial(records.encode, compression=codec_name), inputs.tuples, n)
    return cases


def append(items: list[tuple[bytes, bytes, int]], magic: int = 2) -> bytes:
    """One batch, record by record."""
    builder = records.BatchBuilder(magic=magic, max_bytes=2**22)
    add = builder.append
    for value, key, when in items:
        add(value, key, when)
    return builder.build()


def _messages() -> Cases:
    cases = {}
    for name in inputs.MESSAGES:
        cases[f"{name}-decode"] = Case(_decode, partial(_encoded_message, name), 1)
        cases[f"{name}-encode"] = Case(_encode, partial(_message, name), 1)
    return cases


def _message(name: str) -> tuple[Message, int]:
    return inputs.MESSAGES[name](), inputs.VERSIONS[name]


def _encoded_message(name: str) -> tuple[type[Message], bytes, int]:
    return type(inputs.MESSAGES[name]()), inputs.encoded(name), inputs.VERSIONS[name]


def _encode(given: tuple[Message, int]) -> bytes:
    message, version = given
    return message.encode(version)


def _decode(given: tuple[type[Message], bytes, int]) -> Message:
    kind, data, version = given
    return kind.decode(data, version)
