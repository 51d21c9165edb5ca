"""The broker's thread: accepts connections, drives what they ask for, and makes the calls that are due.

One selector for all nodes, no lock over any broker state: everything that touches the state runs on this thread, what
other threads want done comes through `run`. A fault of the broker's own is logged and costs what it happened to: one
connection, or one call that was due.
"""

from __future__ import annotations

import logging
import math
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import TypeVar

from kwire import errors
from kwire.testing.clock import Clock
from kwire.testing.serving.connection import Connection
from kwire.testing.serving.listener import Listener
from kwire.testing.serving.waiting import WaitingConnections

logger = logging.getLogger("kwire.testing")
_T = TypeVar("_T")
_JOIN_WITHIN = 60.0


class Server:
    """Serves the listeners, which share one cluster, from `start` to `stop`."""

    def __init__(self, listeners: Sequence[Listener], clock: Clock) -> None:
        self._listeners = listeners
        self._clock = clock
        self._cluster = listeners[0].apis.cluster
        self._queued: deque[Callable[[], None]] = deque()
        self._waiting = WaitingConnections()
        self._stopping = False
        self._selecting = False
        self._thread: threading.Thread | None = None
        self._fault: Exception | None = None
        self._on_fault: Callable[[], object] | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """How many requests wait for something to happen."""
        return sum(connection.suspended is not None for connection in self._connections())

    def start(self) -> None:
        """Binds and begins to serve. Raises ConfigError for an address that cannot be bound."""
        self._selector = selectors.DefaultSelector()
        self._selecting = True
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._stopping = False
        self._fault = None
        try:
            for listener in self._listeners:
                self.listen(listener)
        except BaseException:
            self._stop_listening()
            self._release()
            raise
        self._selector.register(self._wake_out, selectors.EVENT_READ)
        name = f"kwire-broker-{self._listeners[0].port}"
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Closes every connection and ends the thread; harmless when it does not run."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stopping = True
        self._wake()
        thread.join(_JOIN_WITHIN)
        if thread.is_alive():
            raise errors.KafkaTimeoutError(f"the broker's thread did not end within {_JOIN_WITHIN:.0f} s")

    def run(self, work: Callable[[], _T]) -> _T:
        """Runs `work` on the broker's thread and returns its result; on the caller's while the broker is stopped.

        Raises KafkaError once the thread has ended by a fault of its own.
        """
        self._check()
        if not self.running or threading.current_thread() is self._thread:
            return work()
        done: Future[_T] = Future()

        def run_and_tell() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        self._queued.append(run_and_tell)
        self._wake()
        try:
            return done.result(_JOIN_WITHIN)
        except FutureTimeoutError as error:
            if done.done():
                raise
            self._check()
            raise errors.KafkaTimeoutError(
                f"the broker's thread did not run the call within {_JOIN_WITHIN:.0f} s"
            ) from error

    def notify_fault(self, callback: Callable[[], object]) -> None:
        """Has `callback` called, on the broker's thread, when that ends by a fault of its own."""
        self._on_fault = callback

    def _check(self) -> None:
        if self._fault is not None:
            raise errors.KafkaError(f"the broker has ended by an internal error: {self._fault!r}") from self._fault

    def listen(self, listener: Listener) -> None:
        """Opens the listening socket, on the port it had before if there was one; while it runs."""
        if listener.enabled and listener.socket is None and self._selecting:
            self._selector.register(listener.open(), selectors.EVENT_READ, listener)

    def stop_listening(self, listener: Listener) -> None:
        """New connections are refused; the present ones go on."""
        if listener.socket is not None:
            self._selector.unregister(listener.socket)
            listener.close()

    def advance_to(self, target: float) -> None:
        """Moves the clock to `target`, from one thing that is due to the next, and does each."""
        while (due := self._next_due()) <= target:
            self._clock.set(due)
            if not self._resume():
                break
        self._clock.set(target)
        self._resume()

    def _connections(self) -> Iterator[Connection]:
        for listener in self._listeners:
            yield from listener.connections

    def _stop_listening(self) -> None:
        for listener in self._listeners:
            self.stop_listening(listener)

    def _wake(self) -> None:
        try:
            self._wake_in.send(b"\0")
        except OSError as error:
            logger.debug("the broker's thread is awake already: %s", error)

    def _main(self) -> None:
        try:
            while not self._stopping:
                self._turn()
        except Exception as error:
            logger.exception("the broker's thread ends by an internal error")
            self._fault = error
        finally:
            for connection in list(self._connections()):
                connection.close()
            self._stop_listening()
            self._release()
            self._run_queued()
        if self._fault is not None and self._on_fault is not None:
            self._on_fault()

    def _release(self) -> None:
        self._selecting = False
        self._selector.close()
        self._wake_out.close()
        self._wake_in.close()

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._wait()):
            if isinstance(key.data, Connection):
                if not key.data.closed:
                    self._drive(key.data, key.data.serve_ready)
            elif isinstance(key.data, Listener):
                self._accept(key.data)
            else:
                self._wake_out.recv(4096)
        self._run_queued()
        self._resume()

    def _drive(self, connection: Connection, step: Callable[[], object]) -> object:
        """Has a connection go on; a fault of the broker's own closes it."""
        result = None
        try:
            result = step()
        except Exception as error:
            logger.exception("%s: the connection could not be served", connection.peer)
            connection.close(f"an internal error of the broker: {error!r}")
        self._watch(connection)
        return result

    def _run_queued(self) -> None:
        while self._queued:
            self._queued.popleft()()

    def _wait(self) -> float | None:
        """Seconds until something is due; None for ever."""
        if self._cluster.touched:
            return 0.0
        seconds = math.inf
        due = self._next_due()
        if due < math.inf:
            seconds = self._clock.seconds_until(due)
        if (may_send := self._waiting.next_send) < math.inf:
            seconds = min(seconds, max(may_send - time.monotonic(), 0.0))
        return None if seconds == math.inf else seconds

    def _next_due(self) -> float:
        """When the next flow or call is due, by the broker's clock."""
        soonest, timer = self._waiting.next_due, self._cluster.timers.next_due
        return soonest if timer is None else min(soonest, timer)

    def _accept(self, listener: Listener) -> None:
        if listener.socket is None:
            return
        connection = listener.accept(self._clock.now, self._forget)
        if connection is not None:
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def _forget(self, connection: Connection) -> None:
        self._waiting.forget(connection)
        if connection.socket in self._selector.get_map():
            self._selector.unregister(connection.socket)

    def _resume(self) -> bool:
        """Makes the calls that are due, and drives on what is due or was touched; tells whether there was any."""
        now = self._clock.now()
        made = self._run_timers(now)
        touched = self._cluster.touched
        happened = frozenset(touched)
        touched.clear()
        resumed = bool(made or happened)
        for connection in self._waiting.ready(now, happened):
            if self._drive(connection, partial(connection.resume, now, happened)):
                resumed = True
        return resumed

    def _run_timers(self, now: float) -> bool:
        """Makes the calls that are due; tells whether there was any. One that fails does not keep the others back."""
        made = False
        while (due := self._cluster.timers.next_due) is not None and due <= now:
            made = True
            try:
                self._cluster.timers.run_due(now)
            except Exception:
                logger.exception("a call that was due failed by an internal error of the broker")
        return made

    def _watch(self, connection: Connection) -> None:
        """Tells the selector what to wait for on this connection, and notes what else it waits for."""
        if connection.closed:
            return
        self._waiting.note(connection)
        events = connection.events
        registered = connection.socket in self._selector.get_map()
        if events and registered:
            self._selector.modify(connection.socket, events, connection)
        elif events:
            self._selector.register(connection.socket, events, connection)
        elif registered:
            self._selector.unregister(connection.socket)
