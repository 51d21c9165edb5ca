"""Requests and threads that wait on a reactor: what the tests of the drivers share. It has no tests and no fixtures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from kwire import protocol
from kwire.drivers.reactor import Reactor
from kwire.engine.common.request import ANY
from kwire.schema.api_keys import METADATA
from tests.engine.world import fail_at
from tests.timing import PATIENT

Make = Callable[..., Reactor]


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.0005)


class Waiter:
    """A thread that waits for its flag, and counts what it drives."""

    def __init__(self, reactor: Reactor) -> None:
        self.flag = False
        self.ended: bool | None = None
        self.raised: BaseException | None = None
        self._reactor = reactor
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self) -> None:
        try:
            self.ended = self._reactor.wait(lambda: self.flag, PATIENT)
        except BaseException as error:
            self.raised = error

    def drives(self) -> bool:
        now = self._reactor.snapshot()
        return now.driver == self.thread.ident and now.polling_until is not None

    def sleeps(self) -> bool:
        now = self._reactor.snapshot()
        return now.sleeping > 0 and now.driver != self.thread.ident

    def release(self) -> None:
        self.flag = True
        self.join()

    def join(self) -> None:
        until(self._has_ended)

    def _has_ended(self) -> bool:
        self._reactor.wake()
        self._reactor._wake_waiters()
        return not self.thread.is_alive()


class Answer:
    """The outcome of one Metadata request."""

    def __init__(self, reactor: Reactor, deadline: float | None = None, *, everything: bool = False) -> None:
        self.outcomes: list[Any] = []
        self.thread: int | None = None
        topics: list[Any] | None = None if everything else []

        def ask(now: float) -> None:
            core = reactor.core
            message = lambda version: protocol.MetadataRequest(topics=topics)  # noqa: E731
            request = core.request(ANY, METADATA, message, self.take, self.take_error, now)
            if deadline is not None:
                fail_at(now + deadline, core, request)

        reactor.call(ask)

    def take(self, response: Any, version: int, now: float) -> None:
        self.outcomes.append(response)
        self.thread = threading.get_ident()

    def take_error(self, error: Exception, now: float) -> None:
        self.outcomes.append(error)

    def here(self) -> bool:
        return bool(self.outcomes)
