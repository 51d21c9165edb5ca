"""The hot loops whose instructions are counted: each a call without arguments, and how many records it handles.

No sockets, no threads, no compressors (their instructions are not kwire's): the same call takes the same instructions
every time. Records have a 10-byte key and a 90-byte value, messages are those of `benchmarks.compare`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.columns import FOUR, read_fields
from benchmarks.compare.contenders.kwire_codec import append, to_consumer_records
from benchmarks.instructions.producing import LoneProducer
from benchmarks.instructions.value_loops import every_decoder
from kwire import records
from kwire._codec import Accumulator, FrameReceiver, ProducerBase, SentRows

COUNT = 2_000
_ENCODED = ("Metadata response", "Produce request")
_SMALL = 4096
_FRAMES = 50
_PARTITIONS = 512
_MESSAGES = 10
_READ_AT_ONCE = 16_384


class Loop(NamedTuple):
    """`call` handles `units` records (or messages, or frames) at once.

    `steady`: two runs differ by less than a percent. What grows a large buffer is not: whether that moves or stays
    where it is depends on what else lies in memory.
    """

    call: Callable[[], object]
    units: int
    steady: bool = True


def every_loop() -> dict[str, Loop]:
    """All of them, by name. Making them encodes their inputs and imports pyarrow."""
    return {**_reading(), **_writing(), **_sending(), **_messages(), **_values()}


def _reading() -> dict[str, Loop]:
    decode = records.decode
    plain, old = inputs.batch(count=COUNT), inputs.batch(count=COUNT, magic=1)
    headed, large = inputs.batch(count=COUNT, headers=True), inputs.batch(size=1000, count=200)
    small = inputs.batches(10, COUNT)
    return {
        "index": Loop(lambda: decode(plain), COUNT),
        "index, 10 per batch": Loop(lambda: decode(small), COUNT),
        "index, magic 1": Loop(lambda: decode(old), COUNT),
        "index, 3 headers": Loop(lambda: decode(headed), COUNT),
        "records": Loop(lambda: list(decode(plain)), COUNT),
        "records, 4 fields": Loop(lambda: read_fields(decode(plain)), COUNT),
        "records, 1 KiB": Loop(lambda: list(decode(large)), 200),
        "handed out, 4 fields": Loop(lambda: to_consumer_records(plain), COUNT),
        "values": Loop(lambda: decode(plain).values(), COUNT),
        "columns, 4": Loop(lambda: decode(plain).to_arrow(FOUR), COUNT),
        "columns, 4, views": Loop(lambda: decode(plain).to_arrow(FOUR, binary_view=True), COUNT),
        "columns, all": Loop(lambda: decode(headed).to_arrow(), COUNT),
    }


def _writing() -> dict[str, Loop]:
    items = inputs.items(count=COUNT)
    values = [value for value, _, _ in items]
    full = inputs.tuples(COUNT)
    table = records.decode(inputs.batch(count=COUNT)).to_arrow()

    return {
        "append": Loop(partial(append, items), COUNT, steady=False),
        "encode values": Loop(lambda: records.encode(values), COUNT),
        "encode tuples": Loop(lambda: records.encode(full), COUNT),
        "encode tuples, magic 1": Loop(lambda: records.encode(full, magic=1), COUNT),
        "encode Arrow": Loop(lambda: records.encode_arrow(table), COUNT),
    }


def _sending() -> dict[str, Loop]:
    values = [value for value, _, _ in inputs.items(count=COUNT)]
    frames = b"".join((1100).to_bytes(4, "big") + bytes(1100) for _ in range(_FRAMES))

    def receive() -> int:
        receiver = FrameReceiver(1 << 20)
        found = 0
        for start in range(0, len(frames), _READ_AT_ONCE):
            piece = frames[start : start + _READ_AT_ONCE]
            receiver.buffer(len(piece))[: len(piece)] = piece
            found += len(receiver.received(len(piece)))
        return found

    return {
        "send()": Loop(send_to(32, values), COUNT),
        "send(), named partition of 512": Loop(send_to(512, values, named=True), COUNT),
        "send() and, once it is written, a look at its Delivery": Loop(
            partial(LoneProducer(32).send_and_look, values), COUNT
        ),
        "rows of a table, to 32 partitions by key": Loop(send_rows(32, _keyed_table()), COUNT),
        "a batch of 2 records, from send() to its acknowledgement": Loop(
            partial(LoneProducer(_PARTITIONS).send, values[: 2 * _PARTITIONS]), _PARTITIONS
        ),
        "receive frames": Loop(receive, _FRAMES),
    }


def send_to(partitions: int, values: list[bytes], *, named: bool = False) -> Callable[[], None]:
    """send() to known partitions, up to the batch: nothing leaves, the batches stay."""
    path = _path_to(partitions)

    def in_turn() -> None:
        send = path.send
        for number, value in enumerate(values):
            send("topic", value, partition=number % partitions)

    def anywhere() -> None:
        send = path.send
        for value in values:
            send("topic", value)

    return in_turn if named else anywhere


def send_rows(partitions: int, rows: pa.RecordBatch) -> Callable[[], None]:
    """The same for rows of a table."""
    accumulator = _path_to(partitions)._accumulator
    return lambda: SentRows(accumulator).send(["topic"], rows)


def _path_to(partitions: int) -> ProducerBase:
    path = ProducerBase()
    path._accumulator = accumulator = Accumulator(batch_size=131_072, linger=1e6, buffer_memory=1 << 30)
    path.send("topic", b"")
    accumulator.update_partitions(accumulator.topics["topic"], partitions, range(partitions))
    return path


def _keyed_table() -> pa.RecordBatch:
    items = inputs.items(count=COUNT)
    return pa.record_batch({"key": [key for _, key, _ in items], "value": [value for value, _, _ in items]})


def _messages() -> dict[str, Loop]:
    loops = {}
    for name, title in (
        ("metadata", "Metadata response"),
        ("fetch", "Fetch response"),
        ("produce", "Produce request"),
    ):
        message, version = inputs.MESSAGES[name](), inputs.VERSIONS[name]
        data = message.encode(version)
        loops[f"{title}, decode"] = _often(partial(type(message).decode, data, version))
        if title in _ENCODED:
            loops[f"{title}, encode"] = _often(partial(message.encode, version), steady=len(data) < _SMALL)
    return loops


def _values() -> dict[str, Loop]:
    return {name: Loop(call, COUNT) for name, call in every_decoder(COUNT).items()}


def _often(call: Callable[[], object], *, steady: bool = True) -> Loop:
    """One message is too few: where its memory comes from differs from call to call."""

    def run() -> None:
        for _ in range(_MESSAGES):
            call()

    return Loop(run, _MESSAGES, steady)
