"""Callbacks in order, by however many threads."""

from __future__ import annotations

import threading
from time import monotonic

import pytest

from kwire.drivers.callbacks import CallbacksInOrder
from tests.timing import PATIENT


def test_they_run_in_order_though_several_threads_run_them() -> None:
    it, seen = CallbacksInOrder(), list[int]()
    begun, goes_on = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        assert goes_on.wait(PATIENT)
        seen.append(0)

    it.add(first)
    runner = threading.Thread(target=it.run)
    runner.start()
    assert begun.wait(PATIENT)
    for number in range(1, 100):
        it.add(lambda number=number: seen.append(number))  # type: ignore[misc]
        it.run()
    assert seen == []
    goes_on.set()
    it.finish(monotonic() + PATIENT)
    assert seen == list(range(100))
    runner.join(PATIENT)


def test_one_that_blocks_is_not_waited_for_without_end() -> None:
    it = CallbacksInOrder()
    begun, goes_on = threading.Event(), threading.Event()

    def blocks() -> None:
        begun.set()
        goes_on.wait(PATIENT)

    it.add(blocks)
    runner = threading.Thread(target=it.run)
    runner.start()
    assert begun.wait(PATIENT)
    it.finish(monotonic() + 0.05)
    assert runner.is_alive()
    goes_on.set()
    runner.join(PATIENT)


def test_one_that_is_cut_leaves_the_rest_to_the_next_run() -> None:
    it, seen = CallbacksInOrder(), list[int]()

    def cut() -> None:
        raise KeyboardInterrupt

    it.add(cut)
    it.add(lambda: seen.append(1))
    with pytest.raises(KeyboardInterrupt):
        it.run()
    it.run()
    assert seen == [1]


def test_one_may_add_others() -> None:
    it, seen = CallbacksInOrder(), list[int]()

    def adds() -> None:
        it.add(lambda: seen.append(2))
        it.run()
        seen.append(1)

    it.add(adds)
    it.run()
    assert seen == [1, 2]
