"""Threads that do the same again and again for some seconds, switching as often as Python lets them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kwire.errors import KafkaError

Step = Callable[[int, int], object]
"""step(number of the thread, number of the turn)."""


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Python takes turns a hundred times as often as it does by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Crew:
    """Threads that run until `seconds` are over; what they raise beside KafkaError is kept."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.faults: list[BaseException] = []
        self.threads: list[threading.Thread] = []

    def work(self, step: Step, number: int) -> None:
        try:
            turn = 0
            while time.monotonic() < self.until:
                try:
                    step(number, turn)
                except KafkaError:
                    pass
                turn += 1
        except BaseException as fault:
            self.faults.append(fault)

    def add(self, step: Step, count: int) -> None:
        self.threads += [threading.Thread(target=self.work, args=(step, n), daemon=True) for n in range(count)]

    def run(self) -> None:
        self.start()
        self.finish()

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def end(self) -> None:
        """The turn that each of them is in is its last."""
        self.until = 0.0

    def finish(self) -> None:
        for thread in self.threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self.threads)
        assert not self.faults, self.faults
