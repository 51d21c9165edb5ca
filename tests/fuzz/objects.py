"""Foreign Python objects: buffers that change, `__index__` and `__len__` with side effects, a collector that re-enters.

    hostile-arguments   drawn calls of the codec's functions whose arguments run code of their own in the middle of them
    hostile-messages    messages any field of which may be such an object, encoded, compared, described as dicts
    shared-buffers      receivers, builders and records used again from within their own callbacks and iterators

The objects draw what they do from the input: they raise, change or clear what they were given with, call kwire again,
run the collector, or return anything. What comes out may be any exception but one that says kwire broke: SystemError,
MemoryError, AssertionError. All else is the sanitizer's to see.
"""

from __future__ import annotations

import array
import contextlib
import gc
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from kwire import errors, records
from kwire._codec import (
    BatchBuilder,
    ConsumedIterator,
    ConsumerRecord,
    FrameReceiver,
    OutputBlock,
    RecordColumns,
    crc32c,
    murmur2,
    record_plan,
    scan_records,
)
from kwire._values import ColumnLayout, CsvPlan, ProtobufPlan, TextPlan
from kwire.schema.fields import Field
from tests.fuzz.drawing import Drawing, DrawnRandom
from tests.fuzz.messages import EVERY
from tests.fuzz.targets import target
from tests.schema.messages.random import random_message

MEMORY = (32 << 20, 256 << 10)
_MAX_DEPTH = 3
_WIRE = records.encode([(b"value", b"k", 5, [("h", b"x")])] * 3)


class HostileError(Exception):
    """What a hostile object raises."""


class Stage:
    """What is in reach of the hostile objects of one input, and what they draw from."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.depth = 0
        self.collecting = False
        self.lists: list[list[Any]] = []
        self.buffers: list[Any] = []
        self.owners: list[Any] = []
        self.calls: list[Callable[[], object]] = []

    def act(self) -> None:
        """One thing that nobody expects from such an object."""
        self.depth += 1
        try:
            if self.depth <= _MAX_DEPTH:
                self._act(self.drawing.byte() % 12)
        finally:
            self.depth -= 1

    def _act(self, what: int) -> None:
        if what == 1:
            raise HostileError
        if what == 2:
            gc.collect(0)
        elif what in (3, 4) and not self.collecting:  # CPython's own `tuple(list)` may collect, and not stand it
            for each in self.lists:
                each.clear() if what == 3 else each.extend([b"more"] * 3)
        elif what == 5:
            for each in self.buffers:
                with contextlib.suppress(BufferError, ValueError, TypeError):
                    each.extend(b"x" * 1000) if isinstance(each, bytearray) else each.append(1)
        elif what == 6:
            for each in self.buffers:
                with contextlib.suppress(BufferError, ValueError, TypeError, IndexError):
                    del each[:]
        elif what == 7:
            for owner in self.owners:
                for field in owner.__fields__:
                    with contextlib.suppress(AttributeError, TypeError):
                        delattr(owner, field.name)
        elif what == 8:
            for owner in self.owners:
                for field in owner.__fields__:
                    setattr(owner, field.name, self.value())
        elif what > 8 and self.calls:
            with contextlib.suppress(Exception):
                self.drawing.choice(self.calls)()

    def value(self) -> Any:
        """Anything at all, hostile or not."""
        return self.drawing.choice(_MAKERS)(self)

    def buffer(self) -> Any:
        made = self.drawing.choice((bytearray(b"buffer"), array.array("B", b"array"), array.array("i", [1, 2])))
        self.buffers.append(made)
        return made if self.drawing.flag() else memoryview(made)


class Hostile:
    """Runs the stage's code at every question it is asked."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def _answer(self, *answers: Any) -> Any:
        self._stage.act()
        return self._stage.drawing.choice(answers)

    def __index__(self) -> int:
        return self._answer(0, 1, -1, 2**31, 2**63, -(2**70))  # type: ignore[no-any-return]

    __int__ = __index__

    def __float__(self) -> float:
        return self._answer(0.0, float("nan"), 1e300)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self._answer(0, 1, 5, 1000)  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return self._answer(False, True)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self._answer(0, 1, 2, 4)):
            yield self._stage.value()
            self._stage.act()

    def __getitem__(self, item: Any) -> Any:
        self._stage.act()
        return self._stage.value()

    def __eq__(self, other: object) -> bool:
        return self._answer(False, True)  # type: ignore[no-any-return]

    def __hash__(self) -> int:
        return self._answer(0, 1)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self._answer("", "text", "\ud800")  # type: ignore[no-any-return]

    def __bytes__(self) -> bytes:
        return self._answer(b"", b"bytes")  # type: ignore[no-any-return]

    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
        self._stage.act()
        return self._stage.value()

    def encode(self, *_: object) -> Any:
        return self._stage.value()

    value = property(lambda self: self._stage.value())
    key = property(lambda self: self._stage.value())
    timestamp = property(lambda self: self._stage.value())
    headers = property(lambda self: self._stage.value())
    bytes = property(lambda self: self._stage.value())


class HostileList(list[Any]):
    """A list that lies and acts."""

    stage: Stage

    def __len__(self) -> int:
        self.stage.act()
        return self.stage.drawing.choice((0, 100, super().__len__()))

    def __iter__(self) -> Iterator[Any]:
        self.stage.act()
        return super().__iter__()

    def __getitem__(self, item: Any) -> Any:
        self.stage.act()
        return super().__getitem__(item)


class HostileInt(int):
    """A number that acts when it is looked at."""

    stage: Stage

    def __index__(self) -> int:
        self.stage.act()
        return 7

    def __eq__(self, other: object) -> bool:
        self.stage.act()
        return False

    __hash__ = int.__hash__


class HostileUuid(UUID):
    """Sixteen bytes or something else."""

    stage: Stage

    @property
    def bytes(self) -> Any:
        return self.stage.value()


class HostileText(str):
    """A text that acts when it is encoded."""

    stage: Stage

    def encode(self, *_: object) -> Any:
        self.stage.act()
        return self.stage.value()


def _staged(kind: Any, *given: Any, **more: Any) -> Callable[[Stage], Any]:
    def make(stage: Stage) -> Any:
        made = kind(*given, **more)
        if kind is HostileUuid:
            kind.stage = stage
        else:
            made.stage = stage
        return made

    return make


def _list(stage: Stage) -> list[Any]:
    made = [stage.value() for _ in range(stage.drawing.below(4))] if stage.depth < 2 and stage.drawing.left else [1]
    stage.lists.append(made)
    return made


def _tuple(stage: Stage) -> tuple[Any, ...]:
    return tuple(_list(stage))


_MAKERS: tuple[Callable[[Stage], Any], ...] = (
    Hostile, Hostile, Hostile, Stage.buffer, Stage.buffer, _list, _list, _tuple, _staged(HostileList, [b"a", b"b"]),
    _staged(HostileInt, 5), _staged(HostileText, "text"), _staged(HostileUuid, int=3), lambda stage: None,
    lambda stage: b"bytes", lambda stage: 5, lambda stage: "text", lambda stage: ("h", b"x"),
    lambda stage: records.Record(b"v"),
    lambda stage: datetime(2024, 1, 1), lambda stage: [("h", Hostile(stage))], lambda stage: -1, lambda stage: 2**62,
    lambda stage: records.decode(_WIRE), lambda stage: 1.5, lambda stage: {"h": b"x"}, lambda stage: b"x" * 300,
)  # fmt: skip


@contextlib.contextmanager
def _collecting(stage: Stage) -> Iterator[None]:
    """Now and then the collector's callback is hostile as well."""
    if stage.drawing.byte() < 200:
        yield
        return

    def on_collection(phase: str, info: Any) -> None:
        stage.collecting = True
        with contextlib.suppress(Exception):
            stage.act()
        stage.collecting = False

    gc.callbacks.append(on_collection)
    old = gc.get_threshold()
    gc.set_threshold(20, 5, 5)
    try:
        yield
    finally:
        gc.callbacks.remove(on_collection)
        gc.set_threshold(*old)


def _try(call: Callable[[], object]) -> None:
    try:
        call()
    except (SystemError, MemoryError, AssertionError):
        raise
    except Exception:
        pass


def _calls(stage: Stage) -> list[Callable[[], object]]:
    some = stage.value
    builder = BatchBuilder(max_bytes=stage.drawing.choice((None, 50, 1000)))
    receiver = FrameReceiver(100)
    output = OutputBlock(10)
    return [
        lambda: records.encode(some(), magic=stage.drawing.choice((0, 1, 2, some()))),
        lambda: records.encode([(some(), some(), some(), some())], base_offset=stage.drawing.choice((0, some()))),
        lambda: records.encode(some(), keep_offsets=True),
        lambda: records.encode_arrow(some()),
        lambda: records.decode(some(), max_decompressed_bytes=stage.drawing.choice((1000, some()))),
        lambda: records.Record(some(), some(), some(), some()).copy(),
        lambda: builder.append(some(), some(), some(), some()),
        lambda: builder.extend(some()),
        lambda: records.decode(builder.build()).values(),
        lambda: scan_records(some(), aborted=some(), ranges=stage.drawing.choice((None, some()))),
        lambda: scan_records(_WIRE, aborted=[(some(), some())], ranges=[(some(), some())]),
        lambda: receiver.feed(some()),
        lambda: receiver.received(some()),
        lambda: output.write(some()),
        lambda: bytes(output.room(5)) and output.advance(some()),
        lambda: RecordColumns(record_plan(some()), some()).__arrow_c_array__(),
        lambda: RecordColumns(record_plan(), [(records.decode(_WIRE), some(), some())], some()).__arrow_c_array__(),
        lambda: RecordColumns(record_plan(with_place=True), some()).__arrow_c_stream__(),
        lambda: list(ConsumedIterator(some())),
        lambda: ConsumerRecord(records.Record(b"v"), some(), some()),
        lambda: ColumnLayout(some()),
        lambda: ColumnLayout([("", "+s", some()), (some(), some(), ())]),
        lambda: TextPlan(ColumnLayout([("", "+s", (1,)), ("a", "l", ())]), some()),
        lambda: CsvPlan(TextPlan(ColumnLayout([("", "+s", (1,)), ("a", "l", ())])), some()),
        lambda: ProtobufPlan(ColumnLayout([("", "+s", (1,)), ("a", "l", ())]), some(), some()),
        lambda: (crc32c(some(), some()), murmur2(some())),
        lambda: records.decode(_WIRE)[some()],
        lambda: records.decode(_WIRE).measure(some(), some(), some()),
        lambda: records.Record(b"v") == some(),
        *_misuses(stage),
    ]


def _misuses(stage: Stage) -> list[Callable[[], object]]:
    """Calls with arguments that are refused, or that are seldom used."""
    some = stage.value
    read = records.decode(_WIRE)
    (frame,) = FrameReceiver(100).feed(b"\0\0\0\3abc")
    drawn = stage.drawing.choice
    odd = (None, "", "x", -1, 2**31, 1.5, b"x", "zstd", "\ud800", datetime(1, 1, 1), [1], ("h", None), (None, b"x"))
    times = (2**63 - 1, -(2**63), datetime(1, 1, 1), datetime(9999, 12, 31), 1.5, "now")
    return [
        lambda: read[:: drawn((1, 2, -1, 0))],
        lambda: (read.to_arrow(), read._repr_html_(), read[0]._repr_html_(), repr(read)),
        lambda: read.to_arrow(drawn((None, ["value"], ["x"], [("value", drawn(odd))])), timestamp_unit=drawn(odd)),
        lambda: (read.__arrow_c_schema__(), read.__arrow_c_stream__(), read.__arrow_c_array__(some())),
        lambda: read.to_arrow(binary_view=drawn((True, False))).validate(full=True),
        lambda: (frame[drawn((slice(None, None, 2), slice(1), 1, -1, 9, "x"))], repr(frame), frame == drawn(odd)),
        lambda: (len(frame), bytes(frame), hash(frame)),
        lambda: records.encode([b"v"], generation=drawn(odd)),
        lambda: records.encode([b"v"], compression=drawn(odd), level=drawn(odd)),
        lambda: records.encode([b"v"], magic=drawn((0, 1, 2, 3, "2")), producer_id=drawn((1, -1, 2**63))),
        lambda: records.encode([b"v"], magic=drawn((0, 1)), base_sequence=1, is_transactional=True),
        lambda: records.encode([(b"v", b"k", drawn(times), [drawn(odd)])], magic=drawn((0, 1, 2))),
        lambda: records.encode([(b"v", None, None, [(drawn(odd), drawn(odd))])]),
        lambda: records.encode([records.Record(b"v", timestamp=drawn(times))]),
        lambda: records.encode(
            drawn((read, list(read), [read[2], read[0]])), keep_offsets=True, base_offset=drawn(odd)
        ),
        lambda: records.encode_arrow(read, max_bytes=5),
        lambda: len(BatchBuilder(max_bytes=drawn((1, 5, -1, 2**40)), base_offset=drawn((0, -1, 2**63 - 1)))),
        lambda: BatchBuilder(max_bytes=70).append(b"v" * 100),
        lambda: OutputBlock(10).room(drawn((-1, 0, 5, 1 << 20))),
        lambda: record_plan(drawn((None, ["x"], ["value", "value"], [("value", "x")])), timestamp_unit=drawn(odd)),
        lambda: records.decode(_WIRE, generation=drawn(odd), base_offset=drawn(odd)),
        lambda: records.decode(b"\0" * 30, generation="0.7", base_offset=drawn((None, 0, -1, 2**62))),
        lambda: RecordColumns(record_plan(), [(read, None, 0)]).to_arrow(),
        lambda: RecordColumns(record_plan(), [drawn(((read,), (read, None), (None, None, 0), (read, 5, 0)))]),
    ]


def _seeds_of_calls() -> list[bytes]:
    """Whatever is called first, with some arguments each."""
    mixed = [bytes([n, *range(n * 3 & 0xFF, (n * 3 & 0xFF) // 2 + 130)][:90]) for n in range(60)]
    return mixed + [bytes([0, 0, call, *(m * n & 0xFF for m in range(12))]) for call in range(60) for n in range(8)]


@target(seeds=_seeds_of_calls, max_len=300, budget=MEMORY, share=2)
def hostile_arguments(data: bytes) -> None:
    """calls whose arguments run code of their own in the middle of them"""
    stage = Stage(Drawing(data))
    stage.calls = _calls(stage)
    with _collecting(stage):
        for _ in range(4):
            _try(stage.drawing.choice(stage.calls))


def _poison(struct_: Any, fields: tuple[Field, ...], stage: Stage) -> None:
    stage.owners.append(struct_)
    for field in fields:
        value = getattr(struct_, field.name)
        if isinstance(value, list):
            stage.lists.append(value)
        if field.struct is not None and value is not None and stage.drawing.byte() < 200:
            for each in value if isinstance(value, list | tuple) else [value]:
                _poison(each, field.struct.__fields__, stage)
        elif stage.drawing.byte() >= 200:
            setattr(struct_, field.name, stage.value())


@target(seeds=lambda: [bytes([n * 5 & 0xFF, n * 37 & 0xFF, *range(n, n + 120)]) for n in range(0, 130, 3)], max_len=300,
        budget=MEMORY, share=1.5)  # fmt: skip
def hostile_messages(data: bytes) -> None:
    """messages whose fields are hostile objects"""
    stage = Stage(Drawing(data))
    cls, version = EVERY[stage.drawing.number() % len(EVERY)]
    message = random_message(cls, version, DrawnRandom(stage.drawing))
    other = random_message(cls, version, DrawnRandom(stage.drawing))
    _poison(message, cls.__fields__, stage)
    stage.calls = [
        lambda: message.encode(version),
        lambda: message == other,
        message.to_dict,
        lambda: cls.from_dict(message.to_dict()),
        lambda: cls(**{cls.__fields__[0].name: stage.value()} if cls.__fields__ else {}),
        lambda: setattr(message, "unknown_tagged_fields", stage.value()),
        lambda: setattr(message, "unknown_tagged_fields", {stage.value(): stage.value()}),
        lambda: repr(message),
        lambda: cls.decode(stage.value(), version),
    ]
    with _collecting(stage):
        for call in [stage.calls[0], *(stage.drawing.choice(stage.calls) for _ in range(4))]:
            _try(call)
    message = other = None
    stage.owners.clear()


@target(seeds=lambda: [bytes(range(n, n + 50)) for n in range(0, 150, 7)], max_len=200, budget=MEMORY)
def shared_buffers(data: bytes) -> None:
    """receivers, builders and records whose memory is released, changed or asked for again while it is in use"""
    drawing = Drawing(data)
    receiver = FrameReceiver(200)
    wire = bytearray(_WIRE)
    read: Any = records.decode(memoryview(wire))
    held: list[Any] = []
    for _ in range(20):
        kind = drawing.byte() % 10
        try:
            if kind == 0:
                held.append(receiver.buffer(drawing.byte()))
            elif kind == 1 and held:
                room = held[drawing.byte() % len(held)]
                if isinstance(room, memoryview) and not room.readonly:
                    room[: drawing.byte()] = b"\0" * min(drawing.byte(), len(room))
            elif kind == 2:
                held += receiver.received(drawing.byte())
            elif kind == 3:
                held += receiver.feed(b"\0\0\0" + drawing.take(1) + drawing.take(drawing.byte()))
            elif kind == 4:
                wire.extend(b"x")
            elif kind == 5:
                held.append(read[drawing.byte() % 3])
                held.append(memoryview(read[0].value))
            elif kind == 6:
                del held[: drawing.byte() % 4]
            elif kind == 7:
                read = read[drawing.byte() % 2 :]
                held.append(read.__arrow_c_array__())
            elif kind == 8:
                held.append(iter(read))
                next(held[-1])
            else:
                held.append(ConsumedIterator([(("t", 0), read)] * drawing.below(3)))
                next(held[-1])
                held[-1].end()
        except (errors.KafkaError, BufferError, ValueError, IndexError, StopIteration, TypeError):
            pass
