"""Functions that run on a thread of their own, and come back as a step of the reactor."""

from __future__ import annotations

import threading
from typing import Any

import kwire
from kwire._client import Client
from tests.drivers.waiting import until


def test_the_result_and_the_exception_come_back_as_steps() -> None:
    came: list[Any] = []
    names: list[str] = []

    def work() -> int:
        names.append(threading.current_thread().name)
        return 7

    def fail() -> None:
        raise OSError("no")

    with kwire.Admin("127.0.0.1:1") as admin:
        core = admin._core
        admin._reactor.call(lambda now: core.run_apart(work, lambda value, now: came.append(value), print))
        admin._reactor.call(lambda now: core.run_apart(fail, print, lambda error, now: came.append(str(error))))
        until(lambda: len(came) == 2)
    assert sorted(map(str, came)) == ["7", "no"]
    assert names == ["kwire-apart"]


def test_a_result_for_a_client_that_is_gone_is_dropped() -> None:
    go_on, came = threading.Event(), threading.Event()
    admin: Client[Any] = kwire.Admin("127.0.0.1:1")
    core = admin._core
    admin._reactor.call(lambda now: core.run_apart(go_on.wait, lambda value, now: came.set(), print))
    admin.close()
    del admin
    go_on.set()
    assert not came.wait(0.1) or core.closed
