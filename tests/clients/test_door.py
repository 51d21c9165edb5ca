"""The door of a client for threads: who is let in, who is refused, and what a cut wait leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, Consumer, KafkaError
from kwire.engine.common.waits import Tell, Turn, Until, Wait
from kwire.errors import ClientClosedError, ConcurrentUseError
from kwire.testing import Broker
from tests.timing import PATIENT


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


@pytest.fixture
def consumer(broker: Broker) -> Iterator[Consumer]:
    with Consumer(broker.bootstrap_servers) as made:
        yield made


def at_once(result: str) -> Wait[str]:
    yield Turn(lambda: True)
    return result


def telling(function: Callable[[Any], object]) -> Wait[Exception | None]:
    error: Exception | None = yield Tell(function, "what")
    return error


def until(condition: Callable[[], bool], log: list[str]) -> Wait[bool]:
    try:
        held: bool = yield Until(condition, PATIENT)
    except BaseException as error:
        log.append(type(error).__name__)
        raise
    else:
        return held
    finally:
        log.append("cleaned up")


def test_each_step_is_answered(consumer: Consumer) -> None:
    def both() -> Wait[list[object]]:
        ready = yield Turn(lambda: False)
        held = yield Until(lambda: True, None)
        late = yield Until(lambda: False, 0.01)
        fine = yield Tell(str, 1)
        return [ready, held, late, fine]

    assert consumer._door.run(both()) == [False, True, False, None]


def test_what_a_function_raises_comes_back_and_an_interrupt_of_it_closes_the_wait(consumer: Consumer) -> None:
    def fail(what: str) -> None:
        raise ValueError(what)

    def interrupt(what: str) -> None:
        raise KeyboardInterrupt

    error = consumer._door.run(telling(fail))
    assert isinstance(error, ValueError)
    assert str(error) == "what"
    wait = telling(interrupt)
    with pytest.raises(KeyboardInterrupt):
        consumer._door.run(wait)
    with pytest.raises(StopIteration):
        next(wait)
    assert consumer._door.run(at_once("again")) == "again"


def test_a_second_thread_is_refused_and_a_told_function_is_let_through(consumer: Consumer) -> None:
    inside, go_on = threading.Event(), threading.Event()
    seen: list[object] = []

    def told(what: str) -> None:
        seen.append(consumer.assignment())
        seen.append(consumer._door.run(at_once("inside")))
        inside.set()
        assert go_on.wait(PATIENT)

    thread = threading.Thread(target=lambda: consumer._door.run(telling(told)))
    thread.start()
    assert inside.wait(PATIENT)
    try:
        for refused in (consumer.assignment, lambda: consumer._door.run(at_once("no"))):
            with pytest.raises(ConcurrentUseError, match="in use by another thread"):
                refused()
        assert consumer._door.run(at_once("no"), beside=lambda: "beside") == "beside"
        assert consumer._door.run(at_once("yes"), alone=False) == "yes"
    finally:
        go_on.set()
        thread.join(PATIENT)
    assert seen == [set(), "inside"]
    assert consumer._door.run(at_once("free")) == "free"


def test_a_client_of_many_callers_lets_all_in(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        other = threading.Event()
        log: list[str] = []
        thread = threading.Thread(target=lambda: admin._door.run(until(other.is_set, log)))
        thread.start()
        assert admin.list_topics() == ["t"]
        other.set()
        admin._door.driver.wake()
        thread.join(PATIENT)
        assert log == ["cleaned up"]


def test_a_wait_whose_client_is_closed_ends(consumer: Consumer) -> None:
    log: list[str] = []
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(consumer._door.run(until(lambda: False, log))))
    thread.start()
    while not consumer._door.used:
        threading.Event().wait(0.001)
    consumer.close()
    thread.join(PATIENT)
    assert (results, log) == ([False], ["cleaned up"])
    for refused in (consumer.assignment, lambda: consumer.poll(0.0)):
        with pytest.raises(ClientClosedError, match="this consumer is closed"):
            refused()


def test_a_condition_that_raises_cleans_up(consumer: Consumer) -> None:
    def broken() -> bool:
        raise KafkaError("broken")

    log: list[str] = []
    with pytest.raises(KafkaError, match="broken"):
        consumer._door.run(until(broken, log))
    assert log == ["GeneratorExit", "cleaned up"]
    assert not consumer._door.used
