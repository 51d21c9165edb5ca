"""Columns through the Arrow C data interface, whose structures lie in every way that a consumer can see.

    arrow-arrays    a drawn tree of ArrowSchema and ArrowArray: formats, names, counts of buffers and children, lengths,
                    offsets and views are right or wrong; encoded as records, and decoded as values
    arrow-streams   record batches of a producer whose get_schema and get_next answer, fail, or hand out such arrays
    sent-rows       a whole batch handed to the accumulator, with topics and partitions of each row

What the interface does not state cannot lie here: a buffer has the size that lengths and offsets ask for, to the byte.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from typing import Any

from kwire import errors, records
from kwire._codec import Accumulator, ArrowBatches, Int32s, SentRows
from kwire._values import TextPlan, decode_avro, decode_json, decode_protobuf, framed_ids
from tests.codec.arrow_producer import Column, CSchema, Producer
from tests.engine.produce_world import Sending
from tests.fuzz.classes import look_at
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target
from tests.fuzz.values import _avro, _protobuf
from tests.values.test_json_columns import layout

_FORMATS = (b"z", b"Z", b"u", b"U", b"vz", b"vu", b"w:3", b"w:0", b"n", b"l", b"tsu:UTC", b"tss:", b"tsn:", b"tsm:x",
            b"+s", b"+l", b"+L", b"+m", b"i", b"", b"w:-1", b"w:99999999999", b"\xff", None, b"+w:2",
            b"tsq:")  # fmt: skip
_NAMES = (b"value", b"key", b"timestamp", b"headers", b"other", b"", None, b"\xff")
_LENGTHS = (-1, 1 << 57, -(2**63), 2**63 - 1)
REFUSALS = (errors.KafkaError, TypeError, ValueError, IndexError)


def _wrong(drawing: Drawing, right: int) -> int:
    """The right number; once in a while another one that can be told from it."""
    return drawing.choice(_LENGTHS) if drawing.byte() >= 250 else right


def _number(drawing: Drawing) -> int:
    """A small one; at times one below zero, or the greatest."""
    kind = drawing.byte()
    return kind % 9 if kind < 240 else (-1, 2**31 - 1, -(2**31), 100)[kind % 4]


def _column(drawing: Drawing, format_: bytes | None, name: bytes | None, rows: int, depth: int) -> Column:
    skipped = drawing.below(3) if drawing.byte() > 200 else 0
    there = rows + skipped
    children: list[Column | None] = []
    valid = drawing.take((there + 7) // 8).ljust((there + 7) // 8, b"\xff") if drawing.flag() else None
    buffers: list[bytes | None] = [valid]
    kind = (format_ or b"")[:2]
    if kind in (b"z", b"u", b"Z", b"U", b"+l", b"+L", b"+m"):
        places, now = [], 0
        for _ in range(there + 1):
            places.append(now)
            now = _number(drawing) if drawing.byte() >= 230 else min(now + drawing.below(4), 2**31 - 1)
        if places[-1] > 1 << 12:
            places[-1] = 0  # the data has as many bytes as the last one says
        wide = kind in (b"Z", b"U", b"+L")
        buffers.append(struct.pack(f"<{len(places)}{'q' if wide else 'i'}", *places))
        last = places[-1]
        if kind[:1] != b"+":
            buffers.append((drawing.take(4) * 25)[: max(last, 0)].ljust(min(max(last, 0), 1 << 16), b"x"))
        else:
            items = min(max(last, 0), 64)
            inner = b"+s" if depth and drawing.byte() < 250 else drawing.choice(_FORMATS)
            children = [_column(drawing, inner, b"item", items, depth - 1)]
    elif kind in (b"vz", b"vu"):
        pieces = [drawing.blob()[:40] for _ in range(drawing.below(3))]
        rows_of = b""
        for _ in range(there):
            size = _number(drawing)
            if size > 12 or drawing.flag():
                size = size if drawing.flag() else 13 + drawing.below(8)
                rows_of += struct.pack(
                    "<i4sii", size, drawing.take(4).ljust(4), _number(drawing) % 5 - 1, _number(drawing)
                )
            else:
                rows_of += struct.pack("<i12s", size, drawing.take(3))
        sizes = struct.pack(f"<{len(pieces)}q", *(len(piece) if drawing.byte() < 240 else 0 for piece in pieces))
        buffers += [rows_of, *pieces, sizes]
    elif kind == b"w:":
        width = int(format_[2:]) if format_ and 0 <= int(format_[2:]) < 10 else 0
        buffers.append(drawing.take(width * there).ljust(width * there, b"w"))
    elif kind[:1] in (b"l", b"t", b"i"):
        buffers.append(b"".join(struct.pack("<q", drawing.choice((5, -1, -2, 2**62, -(2**63)))) for _ in range(there)))
    elif kind == b"+s":
        children = [
            _column(drawing, drawing.choice(_FORMATS[:18] if drawing.byte() < 240 else _FORMATS),
                    drawing.choice(_NAMES) if drawing.byte() > 100 else _NAMES[n % 4], there, depth - 1)
            for n in range(drawing.below(5) if depth > 0 else 0)
        ]  # fmt: skip
    elif kind[:1] == b"n":
        buffers = []
    if drawing.byte() >= 252 and buffers:
        buffers[drawing.below(len(buffers))] = None
    if drawing.byte() >= 252:
        children = [None, *children]
    array: dict[str, Any] = {"length": _wrong(drawing, rows)}
    schema: dict[str, Any] = {}
    if drawing.byte() >= 250:
        array["n_buffers"] = drawing.below(len(buffers) + 1)
    if drawing.byte() >= 250:
        array["n_children"] = drawing.below(len(children) + 1)
    if drawing.byte() >= 250:
        schema["n_children"] = drawing.below(len(children) + 1)
    if drawing.byte() >= 254:
        array["children" if drawing.flag() else "buffers"] = None
    if drawing.byte() >= 254:
        schema["dictionary"] = ctypes.pointer(CSchema())
    return Column(format_, name, rows, buffers, children, offset=_wrong(drawing, skipped), array=array, schema=schema)


def _whole(drawing: Drawing) -> Producer:
    format_ = b"+s" if drawing.byte() < 180 else drawing.choice(_FORMATS)
    return Producer(_column(drawing, format_, b"", drawing.below(12), 3))


_TEXTS = TextPlan(layout({"a": "int", "b": "string"}))


@target(
    seeds=lambda: [bytes(range(n, n + 80)) for n in range(0, 150, 6)],
    budget=(8 << 20, 16 << 10),
    max_len=400,
    share=1.5,
)
def arrow_arrays(data: bytes) -> None:
    """drawn structures of the C data interface, right and wrong, as records and as values"""
    drawing = Drawing(data)
    use = drawing.byte() % 8
    made = _whole(drawing)
    with contextlib.suppress(*REFUSALS):
        if use < 4:
            wire = records.encode_arrow(made, magic=2 if use < 2 else use - 2, compression=("none", "gzip")[use == 1])
            assert len(records.decode(wire).values()) >= 0
        elif use == 4:
            decode_json(made, _TEXTS)
        elif use == 5:
            decode_avro(made, _avro(1)[0].layout, _avro(1)[1])
        elif use == 6:
            reader = _protobuf(1)[0]
            decode_protobuf(made, reader.layout, reader.plan)
        else:
            framed_ids(made)
    assert made.releases <= 1


# --- streams

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _CStream(ctypes.Structure):
    """struct ArrowArrayStream."""


_Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_CStream), ctypes.c_void_p)
_Text = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_CStream))
_Release = ctypes.CFUNCTYPE(None, ctypes.POINTER(_CStream))
_CStream._fields_ = [
    ("get_schema", _Fill), ("get_next", _Fill), ("get_last_error", _Text), ("release", _Release),
    ("private_data", ctypes.c_void_p),
]  # fmt: skip


class _Stream:
    """Hands out `producers` one after the other, each under the schema of the first, then fails with `code`."""

    def __init__(self, producers: list[Producer], code: int, fails_at_once: bool, without: int) -> None:
        self.left = producers
        self.held = list(producers)
        self.code, self.fails_at_once = code, fails_at_once
        self.text = ctypes.create_string_buffer(b"as drawn \xff")
        made = _CStream(_Fill(self._schema), _Fill(self._next), _Text(self._error), _Release(self._release))
        if without == 1:
            made.get_next = _Fill()
        elif without == 2:
            made.get_last_error = _Text()
        elif without == 3:
            made.release = _Release()
        self.stream = made
        self.capsule = _new_capsule(ctypes.addressof(made), b"arrow_array_stream", None)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.capsule

    def _schema(self, stream: Any, out: int) -> int:
        if self.fails_at_once or not self.left:
            return self.code or 5
        ctypes.memmove(out, ctypes.addressof(self.left[0].schema), ctypes.sizeof(CSchema))
        return 0

    def _next(self, stream: Any, out: int) -> int:
        size = ctypes.sizeof(self.held[0].array) if self.held else 80
        if not self.left:
            ctypes.memset(out, 0, size)
            return self.code
        ctypes.memmove(out, ctypes.addressof(self.left.pop(0).array), size)
        return 0

    def _error(self, stream: Any) -> int | None:
        return ctypes.addressof(self.text) if self.code % 2 else None

    def _release(self, stream: Any) -> None:
        stream.contents.release = _Release()


def _table(drawing: Drawing, *, wide: bool = False) -> Producer:
    rows = drawing.below(6)
    columns = [_column(drawing, b"z", b"value", rows, 0), _column(drawing, b"u", b"key", rows, 0)]
    if wide and drawing.flag():
        columns.append(_column(drawing, b"l", b"unused", rows, 0))
    return Producer(Column(b"+s", b"", rows, [None], columns))


@target(
    seeds=lambda: [bytes(range(n, n + 60)) for n in range(0, 150, 10)],
    budget=(8 << 20, 16 << 10),
    max_len=300,
    share=0.5,
)
def arrow_streams(data: bytes) -> None:
    """streams of record batches through the C stream interface"""
    drawing = Drawing(data)
    code, fails, without = drawing.choice((0, 5, 22, 4)), drawing.byte() > 240, drawing.below(12)
    stream = _Stream([_table(drawing) for _ in range(drawing.below(4))], code, fails, without)
    with contextlib.suppress(*REFUSALS):
        ArrowBatches(stream)
        ArrowBatches(stream)  # another consumer took it
    sending = _sending(drawing)
    again = _Stream([_table(drawing, wide=True) for _ in range(drawing.below(4))], code, fails, without)
    with contextlib.suppress(*REFUSALS):
        sending.send_many("t", again, partition=drawing.choice((None, 1, "x")))  # type: ignore[arg-type]


def _sending(drawing: Drawing, partitioner: str = "default") -> Any:
    accumulator = Accumulator(
        batch_size=1 << drawing.below(15), buffer_memory=1 << 16, max_request_size=1 << 12, partitioner=partitioner
    )
    accumulator.set_clock(1.0, 1000)
    accumulator.on_attention = lambda: None
    sending = Sending()
    sending._accumulator = accumulator
    return sending


@target(
    seeds=lambda: [bytes(range(n, n + 90)) for n in range(0, 150, 10)],
    budget=(8 << 20, 16 << 10),
    max_len=400,
    share=0.7,
)
def sent_rows(data: bytes) -> None:
    """rows of a batch handed to the accumulator, each with a topic and a partition of its own"""
    drawing = Drawing(data)
    accumulator = _sending(
        drawing, drawing.choice(("default", "random", "murmur2", "round_robin", "fnv1a"))
    )._accumulator
    rows = SentRows(accumulator)
    if drawing.flag():
        _know_and_open(accumulator, drawing)
    table = None
    if drawing.left:
        table = _whole(drawing) if drawing.byte() > 100 else _table(drawing)
        topics = [drawing.choice(("t", "u", "", "ü", "x" * 300)) for _ in range(drawing.below(4))]
        one_each = 4 * min(max(table.array.length, 0), 16)
        of_topic = struct.pack("<8i", *(drawing.byte() % 6 - 1 for _ in range(8))) * 2
        size = drawing.below(33)
        of_topic = of_topic[: one_each if size % 4 else size]
        of_partition = struct.pack("<8i", *(drawing.choice((0, 1, -1, 2**31 - 1)) for _ in range(8))) * 2
        of_partition = of_partition[:one_each]
        with contextlib.suppress(*REFUSALS):
            rows.send(topics, table, of_topic if drawing.flag() else None, of_partition if drawing.flag() else None)
        with contextlib.suppress(*REFUSALS):
            Int32s(of_topic, drawing.below(9))
    for topic in list(accumulator.topics.values()):
        accumulator.update_partitions(topic, drawing.below(4), range(drawing.below(4)))
    accumulator.make_all_due()
    for batch in list(accumulator.pending):
        accumulator.complete(batch, drawing.number(8, signed=True), -1, ValueError() if drawing.flag() else None)
    assert len(rows) >= 0
    rows.failed(), rows.next_offsets(), rows.all_complete
    for topic in list(accumulator.topics.values()):
        if accumulator.forget_partitions(topic):
            accumulator.drop(topic)
    accumulator.bar(lambda: errors.ConfigError("barred"))
    sending = Sending()
    sending._accumulator = accumulator
    for call in (
        lambda: rows.send(["t"], None), lambda: SentRows(accumulator).send(["t"], table),
        lambda: sending.send("t", b"v"), lambda: sending.send_many("t", table), lambda: sending.send_many("t", [b"v"]),
    ):  # fmt: skip
        with contextlib.suppress(*REFUSALS, RuntimeError):
            call()
    look_at(accumulator, rows)


def _know_and_open(accumulator: Accumulator, drawing: Drawing) -> None:
    """Partitions are known, and have open batches: rows go straight into these."""
    sending = Sending()
    sending._accumulator = accumulator
    for name in ("t", "u"):
        sending.send(name, b"first", nowait=True, timestamp=5 if name == "u" else None)
        count = 1 + drawing.below(6)
        accumulator.update_partitions(accumulator.topics[name], count, range(count))
        with contextlib.suppress(*REFUSALS):
            for partition in range(drawing.below(7)):
                sending.send(name, b"x" * drawing.byte(), partition=partition, nowait=True)
