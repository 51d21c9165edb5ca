"""A process that did not run for a while reads what has come before it calls anything late."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from kwire import protocol
from kwire.drivers import reactor as reactor_module
from kwire.drivers.reactor import Reactor
from kwire.testing import Broker
from tests.drivers.waiting import Answer, Make
from tests.timing import PATIENT

TIMEOUT_S = 0.3
FROZEN_S = 3 * TIMEOUT_S


@pytest.fixture
def connected(broker: Broker, make: Make) -> Reactor:
    reactor = make(broker.bootstrap_servers, request_timeout_ms=round(TIMEOUT_S * 1000))
    first = Answer(reactor)
    assert reactor.wait(first.here, PATIENT)
    return reactor


def test_the_background_reads_before_it_calls_a_request_late(
    connected: Reactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Answer(connected)
    sleep = time.sleep
    monkeypatch.setattr(reactor_module.time, "sleep", lambda seconds: sleep(FROZEN_S))
    connected._look_in()
    assert isinstance(answer.outcomes[0], protocol.MetadataResponse)


@pytest.fixture
def freezing_alarm() -> Iterator[None]:
    def freeze(number: int, frame: FrameType | None) -> None:
        time.sleep(FROZEN_S)

    before = signal.signal(signal.SIGALRM, freeze)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("freezing_alarm")
def test_a_waiter_reads_before_it_calls_a_request_late(broker: Broker, connected: Reactor) -> None:
    broker.faults.delay("Metadata", TIMEOUT_S / 2)
    answer = Answer(connected)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S / 4)
    assert connected.wait(answer.here, PATIENT)
    assert isinstance(answer.outcomes[0], protocol.MetadataResponse)


def test_a_caller_that_computed_for_long_reads_first(connected: Reactor) -> None:
    answer = Answer(connected)
    time.sleep(FROZEN_S)
    assert connected.wait(answer.here, PATIENT)
    assert isinstance(answer.outcomes[0], protocol.MetadataResponse)
