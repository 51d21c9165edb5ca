"""What failed deliveries keep alive: no frame of those who asked for them, nor of those who were at work.

A Delivery is nothing that the collector looks into. Were its error to lead to a frame that holds it, both would stay
for ever, with all that the frame has.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from kwire.errors import ConfigError, KafkaError
from tests.engine.produce_world import Leader, ProducerWorld

MESSAGE_TOO_LARGE = 10


class Kept:
    """Something large that the user's function has."""


def by_result(delivery: Any) -> None:
    with pytest.raises(KafkaError):
        delivery.result()


def by_raising_its_exception(delivery: Any) -> None:
    with pytest.raises(KafkaError):
        raise delivery.exception()


def by_callback(delivery: Any) -> None:
    delivery.add_done_callback(by_result)


@pytest.mark.parametrize("ask", [by_result, by_raising_its_exception, by_callback], ids=lambda ask: ask.__name__)
def test_a_function_that_was_told_of_a_failure_is_forgotten(ask: Callable[[Any], None]) -> None:
    world = ProducerWorld(Leader(), enable_idempotence=False, retries=0)
    seen: list[weakref.ref[Kept]] = []

    def work() -> None:
        kept = Kept()
        seen.append(weakref.ref(kept))
        world.leader.script.append(MESSAGE_TOO_LARGE)
        delivery = world.send(b"v")
        world.run(delivery.done)
        ask(delivery)
        assert isinstance(delivery.exception(), KafkaError)

    for _ in range(3):
        work()
    gc.collect()
    assert [ref() for ref in seen] == [None] * 3


def test_the_error_keeps_its_words_its_attributes_and_its_cause() -> None:
    world = ProducerWorld(Leader(), enable_idempotence=False, retries=0)
    world.leader.script.append(MESSAGE_TOO_LARGE)
    delivery = world.send(b"v")
    world.run(delivery.done)
    first, second = delivery.exception(), delivery.exception()
    assert type(first) is type(second)
    assert first is not None
    assert second is not None
    assert (str(first), first.args, first.__dict__) == (str(second), second.args, second.__dict__)
    assert first.__cause__ is second.__cause__


def test_a_function_whose_partitioner_raised_is_forgotten_and_the_error_says_where() -> None:
    def refuse(key: bytes | None, numbers: object, available: object) -> int:
        raise ValueError("not this one")

    seen: list[weakref.ref[Kept]] = []

    def work() -> None:
        kept = Kept()
        seen.append(weakref.ref(kept))
        world = ProducerWorld(Leader(), topics={"t": [0, 0]}, enable_idempotence=False, partitioner=refuse)
        delivery = world.send(b"v")  # before its topic's partitions are known
        world.run(delivery.done)
        error = delivery.exception()
        assert isinstance(error, ConfigError)
        assert isinstance(error.__cause__, ValueError)
        assert "in refuse\n" in error.__notes__[0]

    for _ in range(3):
        work()
    gc.collect()
    assert [ref() for ref in seen] == [None] * 3


def test_a_function_in_which_a_partitioner_met_errors_that_come_from_each_other_is_forgotten() -> None:
    seen: list[weakref.ref[Kept]] = []

    def caught() -> Exception:
        kept = Kept()
        seen.append(weakref.ref(kept))
        try:
            raise ValueError(kept.__class__.__name__)
        except ValueError as error:
            return error

    def refuse(key: bytes | None, numbers: object, available: object) -> int:
        first, second, third = caught(), caught(), caught()
        first.__cause__, first.__context__ = second, third
        second.__cause__ = third
        third.__context__ = first
        raise first

    world = ProducerWorld(Leader(), topics={"t": [0, 0]}, enable_idempotence=False, partitioner=refuse)
    delivery = world.send(b"v")
    world.run(delivery.done)
    gc.collect()
    assert isinstance(delivery.exception(), ConfigError)
    assert [ref() for ref in seen] == [None] * 3
