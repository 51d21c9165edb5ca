"""The classes of the extensions themselves: made and called in every wrong way, and looked at wherever they are.

    bare-bases         the compiled halves of clients without the subclass that defines the rest: each method, with
                       arguments of any kind
    made-classes       every class of the extensions called with drawn arguments; what that makes is looked at
    awaited-records    the iterator of `async for` and what it gives to be awaited, driven by hand in any order
    misused-objects    messages, records, columns and plans used as nobody does: fields and methods of other classes,
                       classes derived from theirs, made twice or not at all
    connections        requests written to a connection piece by piece, with timers that are set and cancelled

`look_at` is for other targets, too: it reads every attribute of an object and of those that it leads to.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from kwire import _codec, _values, errors, protocol, records
from kwire._codec import (
    Accumulator,
    AtHand,
    ConnectionBase,
    ConsumedIterator,
    ConsumerRecord,
    CoreBase,
    IdempotenceBase,
    LoopDriverBase,
    LoopIterator,
    LoopProducerBase,
    LoopSocketBase,
    NodeBase,
    OutputBlock,
    Plan,
    PlanTable,
    ProducerBase,
    ReactorBase,
    Record,
    RecordColumns,
    Request,
    SenderBase,
    SocketBase,
    StructBase,
    Timers,
    record_plan,
    tenure_of,
)
from kwire.engine.settings.clients import ProducerSettings
from kwire.schema.k00_produce import ProduceRequest
from tests.engine.produce_world import Sending
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target
from tests.values.test_json_columns import layout

MEMORY: Final = (16 << 20, 64 << 10)
_MOST_LOOKED_AT: Final = 200
_CLASSES: Final = tuple(sorted(
    {each for module in (_codec, _values) for each in vars(module).values() if isinstance(each, type)
     and each.__module__ in ("kwire._codec", "kwire._values")},
    key=lambda each: each.__name__,
))  # fmt: skip


def look_at(*roots: object) -> None:
    """Reads the attributes of these and of the objects of the extensions that they lead to, and shows each."""
    waiting, seen = list(roots), set[int]()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        repr(each)
        if isinstance(each, dict):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set):
            waiting += each
        elif (names := _attributes(type(each))) is not None:
            waiting += [_read(each, name) for name in (*names, *getattr(each, "__dict__", ()))]


@cache
def _attributes(cls: type) -> list[str] | None:
    """Those of a class of the extensions; None for another."""
    if not issubclass(cls, _CLASSES):
        return None
    return [name for name in dir(cls) if not name.startswith("__") and not callable(getattr(cls, name))]


def _read(of: object, name: str) -> object:
    try:
        value = getattr(of, name)
    except (errors.KafkaError, AttributeError, TypeError, ValueError, RuntimeError):
        return None
    return None if callable(value) else value


class _Settings:
    """What a sender wants to know."""

    required_acks, level, max_in_flight_requests_per_connection = -1, None, 5
    max_request_size, request_timeout_ms, transactional_id = 1 << 20, 1000, None


def _core() -> CoreBase:
    return CoreBase(PlanTable(lambda key, version: None), None, 1.0)


def _accumulator() -> Accumulator:
    return Accumulator(batch_size=1 << 10, buffer_memory=1 << 16, max_request_size=1 << 12)


_BARE: Final[tuple[Callable[[], Any], ...]] = (
    _core,
    NodeBase,
    IdempotenceBase,
    lambda: ReactorBase(_core(), False),
    lambda: LoopDriverBase(_core(), None),
    lambda: LoopSocketBase(LoopDriverBase(_core(), None), ConnectionBase("nobody", 100)),
    lambda: SocketBase(ConnectionBase("nobody", 100)),
    lambda: SenderBase(_core(), _accumulator(), _Settings(), 0, ProduceRequest),
)
_REFUSALS: Final = (
    NotImplementedError, TypeError, ValueError, AttributeError, OverflowError, errors.KafkaError, RuntimeError, OSError,
    KeyError, IndexError,
)  # fmt: skip


def _methods(of: object) -> list[str]:
    return [name for name in dir(type(of)) if not name.startswith("__") and callable(getattr(type(of), name, None))]


@target(seeds=lambda: [bytes([which, number]) for which in range(len(_BARE)) for number in range(40)],
        max_len=40, budget=MEMORY, share=0.3)  # fmt: skip
def bare_bases(data: bytes) -> None:
    """the compiled halves of clients without their subclasses, called with arguments of any kind"""
    drawing = Drawing(data)
    make = drawing.choice(_BARE)
    of = make()
    names = _methods(of)
    name = names[drawing.byte() % len(names)]
    some = drawing.choice(("text", 1.5, b"bytes", (), -1))
    for count in range(6):
        for given in itertools.product((None, 1, some), repeat=min(count, 3)):
            with contextlib.suppress(*_REFUSALS):
                getattr(make(), name)(*given, *(1,) * (count - len(given)))
    look_at(of)


@cache
def _givens() -> tuple[Any, ...]:
    decoded = records.decode(records.encode([(b"value", b"k", 5, [("h", b"x")])] * 3))
    return (
        None, 0, 1, -1, 2**31, 2**63, 1.5, "text", "", b"bytes", b"", (), [], {}, {"a": 1}, {1, 2}, [1, 2], [None],
        ("t", 0), decoded, decoded[0], decoded.batches, records.Record(b"v"), _core(), _accumulator(), bytearray(b"x"),
        memoryview(b"view"), object(), str, len, [("", "+s", (1,)), ("a", "l", ())], ProducerSettings,
    )  # fmt: skip


@target(
    seeds=lambda: [bytes([n, count, count * 7 + n, 3, 5, 7]) for n in range(len(_CLASSES)) for count in range(4)],
    max_len=40, budget=MEMORY, share=0.3,
)  # fmt: skip
def made_classes(data: bytes) -> None:
    """every class of the extensions called with drawn arguments"""
    drawing = Drawing(data)
    cls = drawing.choice(_CLASSES)
    given = [drawing.choice(_givens()) for _ in range(drawing.below(6))]
    if cls is OutputBlock and given == [2**31]:
        return  # it is to have so much room
    with contextlib.suppress(*_REFUSALS):
        made = cls(*given)
        for use in (
            look_at,
            len,
            iter,
            pickle.dumps,
            hash,
            lambda of: of == of,
            lambda of: of[drawing.choice(_givens())],
        ):
            with contextlib.suppress(*_REFUSALS, pickle.PicklingError):
                use(made)


class WaitingError(Exception):
    """What is raised where the next record is waited for."""


@target(seeds=lambda: [bytes((n * m + n) & 0xFF for m in range(30)) for n in range(24)], max_len=80, budget=MEMORY,
        share=0.3)  # fmt: skip
def awaited_records(data: bytes) -> None:
    """the iterator of `async for`, its awaitables driven by hand in any order"""
    drawing = Drawing(data)
    part = records.decode(records.encode([b"%d" % number for number in range(1 + drawing.below(5))]))

    async def wait_for_next(of: LoopIterator) -> Any:
        if drawing.flag():
            await _Turn()
        of.turned()
        with contextlib.suppress(StopIteration):
            return next(of.begin(ConsumedIterator([(("t", 0), part)])))
        raise WaitingError

    iterator = LoopIterator(wait_for_next)
    given: list[Any] = []
    waiting: list[Any] = []
    while drawing.left:
        how = drawing.below(8)
        if how < 2 or not waiting:
            waiting.append(iterator.__aiter__().__anext__())
            continue
        each = drawing.choice(waiting)
        try:
            if how == 2:
                each.throw(WaitingError())
            elif how == 3:
                each.close()
            elif how == 4:
                next(iter(each)) if hasattr(each, "__iter__") else each.send(None)
            elif how == 5:
                each.__await__()
            elif how == 6:
                given.append(iterator.take())
            else:
                each.send(None)
        except StopIteration as stop:
            given.append(stop.value)
        except (WaitingError, RuntimeError, TypeError):
            pass
    for each in waiting:
        each.close()
    assert {type(each) for each in given} <= {ConsumerRecord, type(None)}, given


class _Turn:
    """Gives the turn back to the loop, once."""

    def __await__(self) -> Any:
        yield


def _misuse_class(cls: type[Any], drawing: Drawing) -> None:
    """A message's class: derived from, with fields of another, and messages in messages without end."""

    derived = type.__new__(type(cls), "Derived", (cls,), {} if drawing.flag() else {"__slots__": ("more",)})
    with contextlib.suppress(*_REFUSALS):
        type(cls)("Refused", (cls,), {})
    made = derived()
    made.more = made == cls()
    other = drawing.choice(_messages())()
    for of in (cls, derived):
        for name, field in list(vars(cls).items()):
            if not name.startswith("__") and hasattr(field, "__get__"):
                for call in (
                    lambda: getattr(of, name),  # noqa: B023
                    lambda: field.__get__(other, type(other)),  # noqa: B023
                    lambda: field.__set__(other, None),  # noqa: B023
                ):
                    with contextlib.suppress(*_REFUSALS):
                        call()
    with contextlib.suppress(*_REFUSALS):
        cls(nothing_like_it=1)
    chain = cls()
    names = [field.name for field in cls.__fields__]
    for _ in range(drawing.byte()):
        holder = cls()
        if names:
            setattr(holder, names[0], chain)
        chain = holder
    look_at(cls.__layout__, *cls.__plans__.values())
    with contextlib.suppress(*_REFUSALS):
        Plan(drawing.choice((cls, derived, StructBase)), "made", 0, drawing.flag(), ())


@cache
def _messages() -> list[type[Any]]:
    return [protocol.APIS[key].request for key in sorted(protocol.APIS)]


def _misuse_record(record: Any, drawing: Drawing) -> None:
    """A record: made again, and read by the attributes of its class."""
    consumed = ConsumerRecord(record, "t", drawing.below(4))
    for each in (record, consumed):
        for name in dir(type(each)):
            field = getattr(type(each), name)
            if hasattr(type(field), "__get__") and not callable(field):
                with contextlib.suppress(*_REFUSALS):
                    field.__get__(each, type(each))
        assert each != drawing.choice(_givens())
        with contextlib.suppress(*_REFUSALS):
            tenure_of(each)
    for call in (
        lambda: consumed.__init__(record, "u", 1), lambda: record.__init__(b"v"), lambda: consumed.error,  # type: ignore[misc]
        lambda: tenure_of(drawing.choice(_givens())), lambda: Record(drawing.choice(_givens())),
    ):  # fmt: skip
        with contextlib.suppress(*_REFUSALS):
            call()
    assert consumed.topic == "t"


def _misuse_columns(decoded: Any, drawing: Drawing) -> None:
    """Columns that are only looked at, or asked for twice."""
    plan = record_plan()
    parts = [(decoded, drawing.choice((None, "t")), 0)] * (1 + drawing.below(3))
    columns = RecordColumns(plan, parts, drawing.byte() * 4)
    assert len(columns) == len(decoded) * len(parts)
    sending = Sending()
    sending._accumulator = _accumulator()
    sending._accumulator.on_attention = lambda: None
    with contextlib.suppress(*_REFUSALS):
        sending.send_many("t", columns)
    made = layout({"a": "int", "b": "string"})
    values = _values.decode_json(decoded, _values.TextPlan(made))
    for each in (columns, values, made, plan):
        look_at(each)
        for use in (len, lambda of: of.__arrow_c_schema__(), lambda of: of.__arrow_c_array__()):
            for _ in range(2):
                with contextlib.suppress(*_REFUSALS):
                    use(each)


def _misuse_producers(drawing: Drawing) -> None:
    for cls in (ProducerBase, LoopProducerBase):
        made: Any = cls.__new__(cls)
        for call in (made.send, made.send_many):
            with contextlib.suppress(*_REFUSALS):
                call("t", drawing.choice(([b"v"], b"v")))
    with contextlib.suppress(*_REFUSALS):
        Accumulator(partitioner=drawing.choice(("unknown", "random", "", "murmur3")))
    with contextlib.suppress(StopIteration):
        next(iter(AtHand().__await__()))


@target(seeds=lambda: [bytes([how, n, n + how, 0, 200, n, 1]) for how in range(4) for n in range(12)], max_len=60,
        budget=MEMORY, share=0.3)  # fmt: skip
def misused_objects(data: bytes) -> None:
    """messages, records, columns and plans used as nobody does"""
    drawing = Drawing(data)
    how = drawing.below(4)
    decoded = records.decode(records.encode([(b'{"a": 1}', b"k", 5, [("h", b"x")])] * (1 + drawing.below(4))))
    if how == 0:
        _misuse_class(drawing.choice(_messages()), drawing)
    elif how == 1:
        _misuse_record(decoded[0], drawing)
    elif how == 2:
        _misuse_columns(decoded, drawing)
    else:
        _misuse_producers(drawing)


@target(seeds=lambda: [bytes((n * m + m + n) & 0xFF for m in range(60)) for n in range(24)], max_len=200, budget=MEMORY,
        share=0.3)  # fmt: skip
def connections(data: bytes) -> None:
    """requests written to a connection and answered by it piece by piece, with timers beside it"""
    drawing = Drawing(data)
    connection = ConnectionBase("somebody", drawing.choice((100, 1 << 20)), events=deque())
    connection.open = True
    timers, set_ones, rung = Timers(), deque[Any](), []
    written = expected = b""
    now = 0.0
    while drawing.left:
        how, now = drawing.below(8), now + 1.0
        if how < 3:
            request = Request(
                0, 3, None, lambda *_: None, lambda *_: None, versions=(0,), timeout=1.0,
                expect_response=drawing.flag(), raw=True, headless=how == 0,
            )  # fmt: skip
            if how == 0:
                token = drawing.blob()
                connection.write_token(request, token, now)
                expected += len(token).to_bytes(4, "big") + token
            else:
                parts = [drawing.take(drawing.below(4)) for _ in range(drawing.below(90))]
                connection.write(request, 0, [bytearray(part) if drawing.flag() else part for part in parts], now)
                expected += b"".join(parts)
        elif how < 5:
            due = b"".join(bytes(part) for part in connection.data_to_send())
            count = min(drawing.below(200), len(due))
            written += due[:count]
            connection.sent(count, now)
        elif how == 5:
            with contextlib.suppress(errors.FrameError):
                for frame in connection.receiver.feed(drawing.choice((b"HTTP/1.1 400", b"\0\0\0\2", drawing.blob()))):
                    connection.take_answer(frame)
        elif how == 6:
            for _ in range(drawing.byte()):
                set_ones.append(timers.call_at(now + drawing.below(4), rung.append))
            for _ in range(drawing.byte()):
                if set_ones:
                    set_ones.popleft().cancel()
        else:
            timers.run(now)
            assert rung == sorted(rung)
    assert expected.startswith(written)
    look_at(connection, timers)
    connection.open = False
    assert connection.data_to_send() == []
    connection.sent(1, now)
    connection.drop_requests()
