"""Names and connections: looked up and opened without holding up the caller, and what is said when that fails."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

import pytest

from kwire import errors
from kwire.drivers.sockets import literal
from kwire.engine.common.addresses import Address
from kwire.testing import Broker
from tests.drivers.waiting import Answer, Make
from tests.timing import PATIENT


def test_literals_need_no_look_up() -> None:
    assert literal(Address("127.0.0.1", 1)) == [(socket.AF_INET, ("127.0.0.1", 1))]
    assert literal(Address("::1", 1)) == [(socket.AF_INET6, ("::1", 1, 0, 0))]
    assert literal(Address("localhost", 1)) is None


def test_a_broker_that_is_not_there_is_said_at_once(make: Make) -> None:
    reactor = make("127.0.0.1:1,[::1]:1")
    answer = Answer(reactor)
    assert reactor.wait(answer.here, PATIENT)
    [error] = answer.outcomes
    assert isinstance(error, errors.ConnectError)
    assert set(error.causes) == {"127.0.0.1:1", "[::1]:1"}
    assert error.causes["127.0.0.1:1"] == os.strerror(111)
    assert error.causes["127.0.0.1:1"].kind == "refused"


def test_a_host_that_answers_nothing_costs_no_more_than_the_deadline(make: Make) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        backlog = [socket.socket() for _ in range(4)]
        for each in backlog:
            each.setblocking(False)
            each.connect_ex(deaf.getsockname())
        reactor = make(f"127.0.0.1:{deaf.getsockname()[1]}")
        answer = Answer(reactor, deadline=0.3)
        assert reactor.wait(answer.here, PATIENT)
        for each in backlog:
            each.close()
    assert isinstance(answer.outcomes[0], errors.KafkaTimeoutError)


def test_a_name_that_does_not_exist_is_said(make: Make) -> None:
    reactor = make("no-such-host.invalid:9092")
    answer = Answer(reactor)
    assert reactor.wait(answer.here, PATIENT)
    [error] = answer.outcomes
    assert isinstance(error, errors.ConnectError)
    assert "'no-such-host.invalid' cannot be resolved" in error.causes["no-such-host.invalid:9092"]
    assert error.causes["no-such-host.invalid:9092"].kind == "unresolved"


def test_a_slow_look_up_does_not_block_the_caller(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    looked_up: list[bool] = []

    def slow(*ignored: object, **more: object) -> Any:
        looked_up.append(released.wait(PATIENT))
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    reactor = make("slow.invalid:9092")
    answer = Answer(reactor, deadline=0.2)
    assert reactor.wait(answer.here, PATIENT)
    assert looked_up == []
    released.set()


def test_a_name_with_several_addresses_uses_the_one_that_answers(
    broker: Broker, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(broker.bootstrap_servers.rpartition(":")[2])

    def found(host: str, wanted: int, **more: object) -> Any:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    reactor = make(f"two-faced.invalid:{port}")
    answer = Answer(reactor)
    assert reactor.wait(answer.here, PATIENT)
    assert not isinstance(answer.outcomes[0], Exception)
