"""Memory refused in the middle of what other targets do: each of their inputs again, without it here or there.

    refused-codec      records, messages, frames, columns, foreign objects
    refused-values     Avro, Protobuf, JSON, CSV, schemas
    refused-sends      a producer in virtual time, which recovers from each step that was cut as the drivers have it do

The first bytes of an input say whose input the rest is, and which of the extensions' requests for memory fail: number
`first`, then the one `step` behind it, until the work has come to its end with all that it asked for. What was refused
memory says so, or that it cannot read what it was given, or does without; it keeps nothing, and what comes next works.
Where `refusing.h` is not in the extensions nothing is refused, and the inputs are what they are to the other targets.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from kwire import errors
from kwire._codec import Delivery
from tests.engine.produce_world import Leader, ProducerWorld
from tests.fuzz import arrow, messages, objects, records, values
from tests.fuzz.corpus import read_corpus
from tests.fuzz.drawing import Drawing
from tests.fuzz.refusing import Refusal, refusing
from tests.fuzz.targets import Target, target, targets_of

MEMORY: Final = (64 << 20, 256 << 10)
_CODEC: Final = [each for family in (records, messages, arrow, objects) for each in targets_of(family)]
_VALUES: Final = targets_of(values)
_TRIES: Final = 120
_CPU_S: Final = 0.2
_SEEDS_OF_EACH: Final = 6
_LONGEST_SEED: Final = 200
_ENOUGH_TO_BE_KEPT: Final = 8
"""Pieces of memory that a sweep may leave behind: Python's own caches grow now and then."""
_SWEEPS_TO_FILL_CACHES: Final = 12
"""One of them leaves less behind than that, as what fills caches grows less each time and a leak does not."""


def _seeds(of: Sequence[Target]) -> Iterator[bytes]:
    """Inputs of each target's corpus, all along its length, from the first request on and from a later one."""
    for number, each in enumerate(of):
        known = [data for data in read_corpus(each.name) if len(data) <= _LONGEST_SEED]
        for data in known[:: max(len(known) // _SEEDS_OF_EACH, 1)]:
            for first in (0, _TRIES):
                yield bytes([number, 0, 0]) + first.to_bytes(2, "big") + data


@contextlib.contextmanager
def _nothing_unraisable() -> Iterator[None]:
    """No exception is dropped within the block."""
    dropped: list[str] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda what: dropped.append(f"{what.exc_value!r}: {what.object!r}")
    try:
        yield
    finally:
        sys.unraisablehook = before
    assert not dropped, dropped


def _deprived(run: Callable[[], object], number: int, count: int) -> bool:
    """Whether the work asks for memory that often; it does not say that kwire broke where it did not get it."""
    refusal = Refusal()
    try:
        with refusing(number, count) as refusal:
            run()
    except (MemoryError, AssertionError, errors.KafkaError):
        if not refusal.came:
            raise
    return refusal.came


def _sweep(run: Callable[[], object], first: int, step: int, count: int) -> None:
    begun = time.thread_time()
    for number in range(first, first + _TRIES * step, step):
        with _nothing_unraisable():
            if not _deprived(run, number, count) or time.thread_time() - begun > _CPU_S:
                return


def _keeps_nothing(sweep: Callable[[], None]) -> None:
    grown: list[int] = []
    before = _pieces()
    for _ in range(_SWEEPS_TO_FILL_CACHES):
        sweep()
        after = _pieces()
        grown.append(after - before)
        if grown[-1] < _ENOUGH_TO_BE_KEPT:
            return
        before = after
    raise AssertionError(f"each sweep leaves memory behind: {grown} pieces")


def _pieces() -> int:
    gc.collect()
    return sys.getallocatedblocks()


def _feed(of: Sequence[Target], data: bytes) -> None:
    drawing = Drawing(data)
    chosen = drawing.choice(of)
    how = drawing.byte()
    step, first = 1 + drawing.below(4), 1 + drawing.number() % 1024
    given = drawing.rest()
    sweep = partial(_sweep, lambda: chosen.run(given), first, step, (1, 1, 2, 1000)[how >> 2 & 3])
    sweep()
    if how & 3 == 3:
        _keeps_nothing(sweep)
    chosen.run(given)


@target(seeds=lambda: _seeds(_CODEC), max_len=600, budget=MEMORY, share=3)
def refused_codec(data: bytes) -> None:
    """inputs of the targets of records, messages, Arrow and foreign objects, with memory refused"""
    _feed(_CODEC, data)


@target(seeds=lambda: _seeds(_VALUES), max_len=600, budget=MEMORY, share=2)
def refused_values(data: bytes) -> None:
    """inputs of the targets of values and schemas, with memory refused"""
    _feed(_VALUES, data)


class _Deprived(ProducerWorld):
    """A producer whose steps are cut where there is no memory; it recovers as the drivers have it do."""

    cuts = 0

    def without(self, number: int, count: int, work: Callable[[], object]) -> None:
        """Does it with request `number` for memory refused, and what follows a cut."""
        try:
            with refusing(number, count):
                work()
        except MemoryError:
            self.cuts += 1
            self.open.clear()
            self.core.recover(self.now)
        except errors.KafkaError:
            pass


_FAULTS: Final[tuple[Any, ...]] = (None, None, None, None, "unseen", "unheard", 6, 7, 10, 45, 59, 87)


@target(
    seeds=lambda: [bytes((5 * n * m + m * m + n) & 0xFF for m in range(60)) for n in range(60)],
    traced="engine/producer", max_len=300, budget=MEMORY, share=2,
)  # fmt: skip
def refused_sends(data: bytes) -> None:
    """a producer that is refused memory while it takes records, sends, and reads what was answered"""
    drawing = Drawing(data)
    leader = Leader(drawing.choice(("4.4.0", "4.4.0", "2.8.2", "0.10.2.2")))
    world = _Deprived(
        leader, topics={"t": [0, 0], "u": [0]}, batch_size=drawing.choice((100, 16384)),
        linger_ms=drawing.choice((0, 5)), enable_idempotence=None, compression=drawing.choice(("none", "gzip")),
        max_block_ms=1000, delivery_timeout_ms=30_000, request_timeout_ms=1000, buffer_memory=1 << 14,
        max_request_size=1 << 12,
    )  # fmt: skip
    leader.most_records = drawing.choice((1_000_000, 1, 3))
    sent: list[tuple[bytes, Delivery]] = []
    called: list[Delivery] = []

    def send() -> None:
        value = b"%d" % len(sent) * (1 + drawing.below(40))
        key, partition = drawing.choice((None, b"k", b"other")), drawing.choice((None, 0, 1))
        headers = drawing.choice(((), [("h", b"x")]))
        topic = drawing.choice(("t", "t", "u", "none"))
        delivery = world.send(value, topic, key=key, partition=partition, headers=headers, nowait=True)
        sent.append((value, delivery))
        delivery.add_done_callback(called.append)

    while drawing.left:
        leader.script.append(drawing.choice(_FAULTS))
        number, count = 1 + drawing.below(120), drawing.choice((1, 1, 2, 30))
        how = drawing.below(3)
        if how:
            world.without(number if how == 1 else 0, count, lambda: [send() for _ in range(1 + drawing.below(4))])
        else:
            world.without(number, count, lambda: world.run(world.now + drawing.choice((0.002, 0.1, 1.0))))
    leader.script.clear()
    world.run(lambda: all(delivery.done() for _, delivery in sent))
    while world.core.after_step:
        world.core.after_step.popleft()()
    for value, delivery in sent:
        failure = delivery.exception(0)
        assert isinstance(failure, errors.KafkaError | MemoryError | None), repr(failure)
        if failure is None and (metadata := delivery.result(0)).offset >= 0:
            assert leader.logs[metadata.topic, metadata.partition][metadata.offset].value == value, metadata
    assert len(called) == len(set(called)), "called twice"
    world.core.close(world.now)
    while world.core.after_step:
        world.core.after_step.popleft()()
