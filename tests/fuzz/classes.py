"""The classes of the extensions themselves: made and called in every wrong way, and looked at wherever they are.

    bare-bases         the compiled halves of clients without the subclass that defines the rest: each method, with
                       arguments of any kind
    made-classes       every class of the extensions called with drawn arguments; what that makes is looked at
    awaited-records    the iterator of `async for` and what it gives to be awaited, driven by hand in any order

`look_at` is for other targets, too: it reads every attribute of an object and of those that it leads to.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from kwire import _codec, _values, errors, records
from kwire._codec import (
    Accumulator,
    ConnectionBase,
    ConsumedIterator,
    ConsumerRecord,
    CoreBase,
    IdempotenceBase,
    LoopDriverBase,
    LoopIterator,
    LoopSocketBase,
    NodeBase,
    PlanTable,
    ReactorBase,
    SenderBase,
    SocketBase,
)
from kwire.engine.settings.clients import ProducerSettings
from kwire.schema.k00_produce import ProduceRequest
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target

MEMORY: Final = (16 << 20, 64 << 10)
_MOST_LOOKED_AT: Final = 200
_CLASSES: Final = sorted(
    {each for module in (_codec, _values) for each in vars(module).values() if isinstance(each, type)
     and each.__module__ in ("kwire._codec", "kwire._values")},
    key=lambda each: each.__name__,
)  # fmt: skip


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
        elif isinstance(each, tuple(_CLASSES)):
            waiting += [
                getattr(each, name) for name in dir(each) if not name.startswith("__") and _can_be_read(each, name)
            ]


def _can_be_read(of: object, name: str) -> bool:
    try:
        return not callable(getattr(of, name))
    except (errors.KafkaError, AttributeError, TypeError, ValueError, RuntimeError):
        return False


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
