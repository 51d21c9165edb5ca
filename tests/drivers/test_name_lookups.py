"""Names are looked up by a handful of threads, however many there are; what nobody wants any more is left out."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

import pytest

from kwire.drivers.name_lookups import MAX_THREADS, SWEEP_AT, NameLookups

WAIT_S = 60.0


class Resolver:
    """Resolves when it may; notes what it was asked, and how many threads were at it at once."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.asked: list[str] = []
        self.at_once = 0
        self.most = 0
        self._lock = threading.Lock()

    def __call__(self, name: str) -> tuple[str, str]:
        with self._lock:
            self.asked.append(name)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        assert self.may_go_on.wait(WAIT_S)
        with self._lock:
            self.at_once -= 1
        return f"address of {name}", ""


class Answers:
    """What came, in a list; `wait(count)` until so much is there."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self._came = threading.Condition()

    def __call__(self, answer: str, error: str) -> None:
        with self._came:
            self.found.append((answer, error))
            self._came.notify_all()

    def wait(self, count: int) -> None:
        with self._came:
            assert self._came.wait_for(lambda: len(self.found) >= count, WAIT_S)


def always() -> bool:
    return True


def never() -> bool:
    return False


def test_thousands_of_names_take_a_handful_of_threads() -> None:
    resolver, answers = Resolver(), Answers()
    lookups = NameLookups(resolver, "")
    for number in range(3000):
        lookups.ask(str(number), answers, always)
    assert threading.active_count() < 3000
    assert lookups.waiting >= 3000 - MAX_THREADS
    resolver.may_go_on.set()
    answers.wait(3000)
    assert resolver.most <= MAX_THREADS
    assert {answer for answer, _ in answers.found} == {f"address of {number}" for number in range(3000)}


def test_each_name_is_answered_when_threads_end_while_others_ask() -> None:
    resolver, answers = Resolver(), Answers()
    resolver.may_go_on.set()
    lookups = NameLookups(resolver, "")
    for number in range(2000):
        lookups.ask(str(number), answers, always)
        if number % 3 == 0:
            answers.wait(number)
    answers.wait(2000)
    assert len(answers.found) == 2000


def test_what_is_not_wanted_any_more_is_neither_asked_nor_kept() -> None:
    resolver, answers = Resolver(), Answers()
    lookups = NameLookups(resolver, "")
    for number in range(MAX_THREADS):
        lookups.ask(str(number), answers, always)
    for number in range(5 * SWEEP_AT):
        lookups.ask(f"unwanted {number}", answers, never)
    assert lookups.waiting <= SWEEP_AT + 1
    lookups.ask("last", answers, always)
    resolver.may_go_on.set()
    answers.wait(MAX_THREADS + 1)
    assert sorted(resolver.asked) == sorted([*map(str, range(MAX_THREADS)), "last"])


def test_a_thread_that_cannot_be_begun_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: Callable[..., object], arguments: tuple[object, ...]) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    answers = Answers()
    lookups = NameLookups(Resolver(), "")
    lookups.ask("name", answers, always)
    assert answers.found == [("", "it cannot be looked up: can't start new thread")]
    monkeypatch.undo()
    resolver = Resolver()
    resolver.may_go_on.set()
    lookups = NameLookups(resolver, "")
    lookups.ask("name", answers, always)
    answers.wait(2)
    assert answers.found[1] == ("address of name", "")
