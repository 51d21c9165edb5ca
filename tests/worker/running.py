"""Workers of either kind on a thread of the test's, and what they left at the broker."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kwire import Consumer, Worker, aio, records
from kwire.testing import Broker
from tests.timing import PATIENT

QUICK: dict[str, Any] = {
    "group_id": "g",
    "backoff": 0.01,
    "commit_interval": 0.1,
    "fetch_max_wait_ms": 50,
    "heartbeat_interval_ms": 100,
}


class Running:
    """A worker of either kind on a thread; `stop` has it end and raises what `run` raised."""

    def __init__(self, kind: str, broker: Broker, handler: Callable[[Any], Any], **options: Any) -> None:
        self.error: BaseException | None = None
        self._kind = kind
        self._begun = threading.Event()
        topics = options.pop("topics", "orders")
        self._make = (broker.bootstrap_servers, topics), {"handler": handler, **QUICK, **options}
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        assert self._begun.wait(PATIENT)

    def _work(self) -> None:
        try:
            asyncio.run(self._in_tasks()) if self._kind == "tasks" else self._on_threads()
        except BaseException as error:
            self.error = error

    def _on_threads(self) -> None:
        places, options = self._make
        worker = Worker(*places, **options)
        self._stop: Callable[[], object] = worker.stop
        self._begun.set()
        worker.run()

    async def _in_tasks(self) -> None:
        places, options = self._make
        handler = options.pop("handler")

        async def handle(given: Any) -> None:
            await asyncio.to_thread(handler, given)

        worker = aio.Worker(*places, handler=handle, **options)
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(worker.stop)
        self._begun.set()
        await worker.run()

    def join(self) -> None:
        self._thread.join(PATIENT)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        self._stop()
        self.join()


both = pytest.mark.parametrize("kind", ["threads", "tasks"])


def wait_until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def committed(broker: Broker) -> list[int | None]:
    with Consumer(broker.bootstrap_servers, group_id="g") as consumer:
        found = consumer.committed([("orders", n) for n in range(3)])
    return [None if at is None else at.offset for _, at in sorted(found.items())]


def dead(broker: Broker) -> list[tuple[bytes | None, dict[str, str]]]:
    stored = records.decode(broker.record_set("orders.dead", partition=0))
    return [(one.value, {key: (value or b"").decode(errors="replace") for key, value in one.headers}) for one in stored]
