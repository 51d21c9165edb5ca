"""The clients of a run, each in a process or thread of its own: started together, and what they tell, summed up.

Ctrl-C reaches this process alone; the clients end when they are told to, or are ended where they do not.
"""

from __future__ import annotations

import multiprocessing
import pickle
import queue
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from kwire.cli.benching.work import Done, Job, work
from kwire.drivers.threads import begin_thread
from kwire.errors import KafkaError, KafkaTimeoutError
from kwire.errors.listing import counted

_READY, _DONE, _ENDED = "ready", "done", "ended"
_LAST_WORDS_S = 0.15
_GRACE_S = 5.0
_THREADS_S = 1.0


class Team:
    """Clients at work. Their number is small, and what they tell comes a few times a second."""

    def __init__(self, jobs: Sequence[Job], *, threads: bool) -> None:
        self._size = len(jobs)
        self._processes: list[Any] = []
        self._threads: list[threading.Thread] = []
        if threads:
            self._told: Any = queue.Queue()
            self._stop: Any = threading.Event()
            self._go: Any = threading.Event()
        else:
            context = multiprocessing.get_context("spawn")
            self._told, self._stop, self._go = context.Queue(), context.Event(), context.Event()
        for job in jobs:
            arguments = (pickle.dumps(job), self._told, self._stop, self._go)
            if threads:
                self._threads.append(begin_thread(partial(_work, *arguments), "kwire-bench"))
            else:
                self._processes.append(context.Process(target=_work, args=arguments, daemon=True))
        _start_deaf(self._processes)

    def wait_until_ready(self, patience: float) -> None:
        """Returns once every client is connected; raises the error of one that cannot be."""
        ready = 0
        deadline = time.monotonic() + patience
        while ready < self._size:
            try:
                kind, what = self._next(deadline - time.monotonic())
            except queue.Empty:
                left = counted(self._size - ready, "client")
                raise KafkaTimeoutError(f"{left} not connected after {patience:g} s") from None
            if kind == _ENDED:
                raise what or KafkaError("a client has ended before it began")
            ready += kind == _READY
        self._go.set()

    def results(self) -> Iterator[Done]:
        """What the clients tell, until all have ended; raises the error of one."""
        ended = 0
        while ended < self._size:
            try:
                kind, what = self._next(0.25)
            except queue.Empty:
                if self._processes and not any(process.is_alive() for process in self._processes):
                    raise KafkaError("the processes of the clients have died") from None
                yield Done()
                continue
            if kind == _DONE:
                yield what
            elif kind == _ENDED:
                ended += 1
                if what is not None:
                    raise what

    def last_words(self) -> Iterator[Done]:
        """What the clients still tell within a moment once they are told to stop."""
        self._stop.set()
        deadline = time.monotonic() + _LAST_WORDS_S
        while (left := deadline - time.monotonic()) > 0:
            try:
                kind, what = self._next(left)
            except queue.Empty:
                return
            if kind == _DONE:
                yield what

    def end(self, *, at_once: bool) -> None:
        """Ends the clients; processes that do not end are killed, threads are left to themselves after a moment."""
        self._stop.set()
        self._go.set()
        deadline = time.monotonic() + (0 if at_once else _GRACE_S)
        for process in self._processes:
            process.join(max(deadline - time.monotonic(), 0))
            if process.is_alive():
                process.kill()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_THREADS_S)

    def _next(self, timeout: float) -> tuple[str, Any]:
        found: tuple[str, Any] = self._told.get(timeout=max(timeout, 0.001))
        return found


def _start_deaf(processes: Sequence[Any]) -> None:
    """Starts processes that ignore Ctrl-C from their first instruction on."""
    if not processes:
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for process in processes:
            process.start()
    finally:
        signal.signal(signal.SIGINT, before)


def _work(pickled: bytes, told: Any, stop: Any, go: Any) -> None:
    """The whole life of a client."""

    def wait_for_the_others() -> None:
        told.put((_READY, None))
        go.wait()

    def tell(done: Done) -> None:
        told.put((_DONE, done))

    error: Exception | None = None
    try:
        work(pickle.loads(pickled), tell, stop.is_set, wait_for_the_others)
    except Exception as raised:
        error = raised if isinstance(raised, KafkaError) else KafkaError(f"{type(raised).__name__}: {raised}")
    told.put((_ENDED, error))
