"""A process that did not run for a while reads what has come before it calls anything late."""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kwire import protocol
from kwire.drivers import reactor as reactor_module
from kwire.drivers.reactor import Reactor
from kwire.testing import Broker
from tests.drivers.waiting import Answer, Make
from tests.interrupts import put_back
from tests.timing import PATIENT

TIMEOUT_S = 2.0
FROZEN_S = 1.2 * TIMEOUT_S


@pytest.fixture
def connected(broker: Broker, make: Make) -> Reactor:
    reactor = make(broker.bootstrap_servers, request_timeout_ms=round(TIMEOUT_S * 1000))
    first = Answer(reactor)
    assert reactor.wait(first.here, PATIENT)
    return reactor


def freeze(reactor: Reactor) -> None:
    """Until a request is late, and its answer is there to be read."""
    time.sleep(FROZEN_S)
    [near] = reactor._sockets.values()
    assert select.select([near.socket], [], [], PATIENT)[0]


def test_the_background_reads_before_it_calls_a_request_late(
    connected: Reactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Answer(connected)
    with monkeypatch.context() as patch:
        patch.setattr(reactor_module, "time", SimpleNamespace(sleep=lambda seconds: freeze(connected)))
        connected._look_in()
    assert isinstance(answer.outcomes[0], protocol.MetadataResponse)


@pytest.fixture
def freezing_alarm(connected: Reactor) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda number, frame: freeze(connected))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    put_back(signal.SIGALRM, before)


@pytest.mark.usefixtures("freezing_alarm")
def test_a_waiter_reads_before_it_calls_a_request_late(broker: Broker, connected: Reactor) -> None:
    broker.faults.delay("Metadata", TIMEOUT_S / 2)
    answer = Answer(connected)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S / 4)
    assert connected.wait(answer.here, PATIENT)
    assert isinstance(answer.outcomes[0], protocol.MetadataResponse)


def test_a_caller_that_computed_for_long_reads_first(connected: Reactor) -> None:
    answer = Answer(connected)
    freeze(connected)
    assert connected.wait(answer.here, PATIENT)
    assert isinstance(answer.outcomes[0], protocol.MetadataResponse)
