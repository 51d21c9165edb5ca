"""The asyncio driver: one core on one event loop, with its transports, its timer and its futures.

Layer 4: moves bytes between transports and the engine's core and tells it the time; no protocol logic. Steps and bytes
are compiled (`LoopDriverBase` in loop_driver.pxi); the rarely executed parts are here.

There are no locks: everything runs on the thread of the loop that the client was first used on.
`step(function)` runs a function with the core to itself, `wait` awaits a condition that is looked at after each step,
and the callbacks that a step leaves in `core.after_step` are run by the loop, in a turn of their own. Other threads do
two things only: the loop's executor looks up names (`loop.getaddrinfo`), and a function that blocks, given to
`run_apart`, has a short-lived thread of its own.

Time is CLOCK_MONOTONIC; the loop's own clock, which some loops read once a turn, is only asked to ring.

Connections, timers and callbacks run in empty contexts (contextvars): they outlive the task that began them, and what
the variables of that task refer to, such as a request of a web server, is not kept.

Interrupts. `core.dirty` is set while the core runs. A KeyboardInterrupt or the like that cuts a step leaves it set, and
the next step, which is then scheduled, begins with `core.recover`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
import sys
import weakref
from collections.abc import Callable
from contextvars import Context
from functools import partial
from time import monotonic

from kwire._codec import LoopDriverBase
from kwire._typing import Any, override
from kwire.drivers.apart import future_of_thread
from kwire.drivers.loggers import LateLogger
from kwire.drivers.loop_socket import LoopSocket
from kwire.drivers.sockets import TOO_SLOW, SocketAddress, cause_of, literal, prepare, unresolved
from kwire.engine.connections.connection import Connection
from kwire.engine.core import Core
from kwire.errors import ClientClosedError, ConcurrentUseError

# The one of `inspect` knows mocks of coroutine functions from Python 3.12 on, and that of asyncio warns from 3.14 on.
is_coroutine_function = inspect.iscoroutinefunction if sys.version_info >= (3, 12) else asyncio.iscoroutinefunction

NEXT_ADDRESS_AFTER_S = 2.0
"""Seconds that one of several addresses of a name is given before the next is tried."""

CLOSING_S = 1.0
"""Seconds that `closed_all` waits at most for transports to say that they are closed: it takes a turn of the loop."""

TIMER_SLACK_S = 0.0005
"""So much later the loop is asked to ring, because some loops count in whole milliseconds."""

_log = LateLogger("kwire.drivers")
_drivers: weakref.WeakSet[LoopDriver] = weakref.WeakSet()


class LoopDriver(LoopDriverBase):
    """Drives one core on the event loop that it is first used on."""

    closed = LoopDriverBase._closed
    """Whether close() was called: the compiled attribute, which takes no call to be read."""

    def __init__(self, core: Core, *, name: str) -> None:
        super().__init__(core, asyncio._get_running_loop)
        self._name = name
        self._pid = os.getpid()
        self._is_copy = False
        self._timer: asyncio.TimerHandle | None = None
        self._dropped: set[LoopSocket] = set()
        self._all_closed: asyncio.Future[None] | None = None
        self._apart: set[asyncio.Task[None]] = set()
        self._new_socket = _sockets_of(core)
        core.run_apart = partial(_run_apart, weakref.ref(self))
        _drivers.add(self)

    # -- for the clients --------------------------------------------------------------------------------------------

    @property
    def owned_by_process(self) -> bool:
        """Whether this process made it; a forked child may not use it."""
        return not self._is_copy

    @property
    def has_resources(self) -> bool:
        """Whether there are sockets to close."""
        return bool(self._sockets or self._dropped)

    @property
    def at_home(self) -> bool:
        """Whether the event loop that runs here is the one that it belongs to."""
        return self._loop is not None and asyncio._get_running_loop() is self._loop and not self._is_copy

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that it belongs to; None before its first use."""
        return self._loop

    def call(self, function: Callable[[float], Any]) -> Any:
        """`step`, for what a client was called for: on its own event loop only."""
        self.check_loop()
        return self.step(function)

    def check_may_block(self) -> None:
        """Raises on another event loop than its own."""
        self.check_loop()

    async def wait(self, done: Callable[[], bool], timeout: float | None) -> bool:
        """Waits until `done()`, which is looked at after each step, or until `timeout` seconds have passed, or the
        driver is closed; returns what it said last."""
        self.check_loop()
        if done() or self._closed or (timeout is not None and timeout <= 0):
            return done()
        assert self._loop is not None
        future = self._loop.create_future()
        limit = None if timeout is None else self._loop.call_later(timeout, _settle, future, context=Context())
        self._waiters[future] = done
        try:
            await future
        finally:
            self._waiters.pop(future, None)
            if limit is not None:
                limit.cancel()
        return done()

    def write_soon(self, sock: LoopSocket) -> None:
        """Writes on in the next turn of the loop."""
        assert self._loop is not None
        self._loop.call_soon(self.write_on, sock)

    def close(self) -> None:
        """Closes all connections, and fails what waits for an answer. Idempotent; from any thread."""
        if self._closed:
            return
        if not self.at_home:
            if self._loop is not None and self._loop.is_running() and not self._is_copy:
                self._loop.call_soon_threadsafe(self.close)
            else:
                self._close_away()
            return
        self.step(self.core.close)
        self._closed = True
        self._free()
        for future in list(self._waiters):
            _settle(future)

    def _close_away(self) -> None:
        """Closes where its loop does not run: what waits fails, as whatever is to be told of it would else be kept for
        ever. Callbacks are left to the loop, and are dropped if that is closed."""
        self._closed = True
        if self._is_copy:
            self._free()
            return
        now = monotonic()
        try:
            if self.core.dirty:
                self.core.recover(now)
            self.core.close(now)
        finally:
            self._free()
            if self._loop is None or self._loop.is_closed():
                self._waiters.clear()
                self.core.after_step.clear()
            else:
                self._loop.call_soon_threadsafe(self._run_callbacks)
                for future in list(self._waiters):
                    _settle(future)

    def when(self, done: Callable[[], bool], then: Callable[[], object]) -> None:
        """Has the loop call `then()` as soon as `done()` is true after a step, or the driver is closed."""
        assert self._loop is not None
        future: asyncio.Future[None] = self._loop.create_future()
        future.add_done_callback(lambda _: then())
        self._waiters[future] = done
        self._wake_done()

    def wake(self) -> None:
        """Has those that wait look again; from any thread."""
        if self._loop is not None:
            self.run_on_loop(self._wake_done)

    def run_on_loop(self, function: Callable[[], object]) -> None:
        """Has the loop run a function soon; from any thread, also where a finalizer interrupts a step. Where the loop
        is closed it frees what there is instead."""
        if self._loop is not None and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(function)
                return
            except RuntimeError:
                pass  # closed meanwhile, by another thread
        self.close()

    async def closed_all(self) -> None:
        """Waits until the transports have closed their sockets."""
        if self._dropped and self._loop is asyncio.get_running_loop():
            if self._all_closed is None:
                self._all_closed = self._loop.create_future()
            await asyncio.wait([self._all_closed], timeout=CLOSING_S)

    def run_apart(
        self,
        function: Callable[[], Any],
        on_result: Callable[[Any, float], None],
        on_error: Callable[[Exception, float], None],
    ) -> None:
        """Runs what blocks or takes long beside the loop: a coroutine function on it, any other on a thread."""
        assert self._loop is not None
        self._loop.call_soon(self._begin_apart, function, on_result, on_error)

    def _begin_apart(self, function: Any, on_result: Any, on_error: Any) -> None:
        assert self._loop is not None
        if not self._closed:
            task = self._loop.create_task(
                self._run_apart(function, on_result, on_error), name="kwire-apart", context=Context()
            )
            self._apart.add(task)
            task.add_done_callback(self._apart.discard)

    async def _run_apart(self, function: Any, on_result: Any, on_error: Any) -> None:
        assert self._loop is not None
        try:
            if is_coroutine_function(function):
                result = await function()
            else:
                result = await future_of_thread(self._loop, function)
                if asyncio.iscoroutine(result):
                    result = await result
        except Exception as error:
            self._tell(on_error, error)
        except asyncio.CancelledError:
            self._tell(on_error, ConnectionError("the call was cancelled"))
            raise
        else:
            self._tell(on_result, result)

    def _tell(self, what: Callable[[Any, float], None], outcome: Any) -> None:
        if not self._closed:
            self.step(partial(what, outcome))

    def _free(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._loop is not None and not self._loop.is_closed() and not self._is_copy:
            for task in self._apart:
                task.cancel()
        for sock in list(self._sockets.values()):
            self._drop(sock)
        if self._is_copy or self._loop is None or self._loop.is_closed():
            for sock in self._dropped:
                if sock.socket is not None:
                    sock.socket.close()
            self._dropped.clear()

    # -- steps ------------------------------------------------------------------------------------------------------

    @override
    def _belong_to(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if self._is_copy:
            raise ClientClosedError(f"this client belongs to process {self._pid}: make a new one after a fork")
        if loop is None:
            raise ConcurrentUseError(f"this {self._name} needs a running event loop: use it inside a coroutine")
        if self._loop is not None:
            state = "closed" if self._loop.is_closed() else "not the one that runs"
            raise ConcurrentUseError(
                f"this {self._name} belongs to the event loop of its first use, which is {state}: "
                "make one for each loop"
            )
        self._loop = loop

    @override
    def _ring_in(self, seconds: float) -> None:
        assert self._loop is not None
        before = self._timer
        self._timer = self._loop.call_later(max(seconds + TIMER_SLACK_S, 0.0), self._on_timer, False, context=Context())
        if before is not None:
            before.cancel()

    @override
    def _rearm(self) -> None:
        assert self._loop is not None
        self._timer = self._loop.call_later(0, self._on_timer, True)

    @override
    def _schedule_callbacks(self) -> None:
        assert self._loop is not None
        self._loop.call_soon(self._run_callbacks, context=Context())

    def _run_callbacks(self) -> None:
        callbacks = self.core.after_step
        self._callbacks_due = False
        try:
            while callbacks:
                try:
                    callbacks.popleft()()
                except Exception:
                    _log.exception("a callback raised")
        finally:
            if callbacks:  # one was interrupted
                self._schedule_callbacks()
                self._callbacks_due = True

    @override
    def _schedule_recovery(self, seconds: float) -> None:
        assert self._loop is not None
        self._loop.call_later(seconds, self._recover)

    def _recover(self) -> None:
        if self.core.dirty:
            self.step(_nothing)

    @override
    def _on_warning(self, text: str) -> None:
        self.core.after_step.append(partial(_log.warning, "%s", text))

    # -- sockets ----------------------------------------------------------------------------------------------------

    @override
    def _connect(self, connection: Connection) -> None:
        assert self._loop is not None
        self._sockets[connection] = sock = self._new_socket(self, connection)
        self._loop.call_soon(self._begin_to_connect, sock)

    def _begin_to_connect(self, sock: LoopSocket) -> None:
        """Outside any step: some loops run the beginning of a new task at once."""
        assert self._loop is not None
        if self._sockets.get(sock.connection) is sock:
            sock.task = self._loop.create_task(
                self._reach(sock), name=f"kwire-connect-{sock.connection.address}", context=Context()
            )

    async def _reach(self, sock: LoopSocket) -> None:
        """Connects, or tells the core why not."""
        reason = "the attempt to connect was cancelled"
        try:
            reason = await self._try_addresses(sock)
        except OSError as error:
            reason = cause_of(error)
        except Exception as error:
            _log.exception("an attempt to connect failed")
            reason = repr(error)
        finally:
            sock.task = None
            if reason and self._sockets.get(sock.connection) is sock:
                self.step(partial(self._lost, sock, reason))

    async def _try_addresses(self, sock: LoopSocket) -> str:
        """Connects to the first of the addresses that answers; returns "", or why none did."""
        reason = "the name has no address"
        addresses = literal(sock.connection.address) or await self._look_up(sock)
        for place, (family, target) in enumerate(addresses):
            last = place == len(addresses) - 1
            try:
                async with asyncio.timeout(None if last else NEXT_ADDRESS_AFTER_S):
                    await self._open(sock, family, target)
                return ""
            except TimeoutError:
                reason = TOO_SLOW
            except (OSError, OverflowError) as error:  # the latter: a port that cannot be
                reason = cause_of(error)
        return reason

    async def _look_up(self, sock: LoopSocket) -> list[SocketAddress]:
        assert self._loop is not None
        address = sock.connection.address
        try:
            rows = await self._loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, ValueError, OverflowError, RuntimeError) as error:  # the last: no thread can be begun
            raise OSError(unresolved(address, error)) from error
        return list(dict.fromkeys((row[0], row[4]) for row in rows))

    async def _open(self, sock: LoopSocket, family: int, target: Any) -> None:
        assert self._loop is not None
        settings = self.core.settings
        made = socket.socket(family, socket.SOCK_STREAM)
        prepare(made, settings.send_buffer_bytes, settings.receive_buffer_bytes)
        try:
            await self._loop.sock_connect(made, target)
            sock.socket = made
            await self._loop.create_connection(lambda: sock, sock=made)
        except BaseException:
            if sock.transport is None:
                sock.socket = None
                self._dropped.discard(sock)
                made.close()
            raise

    def _made(self, sock: LoopSocket) -> None:
        """The transport is there."""
        assert sock.transport is not None
        assert sock.socket is not None
        if self._sockets.get(sock.connection) is not sock:
            sock.transport.abort()
            return
        sock.transport.set_write_buffer_limits(high=0)
        sock.fd = sock.socket.fileno()
        _log.debug("connected to %s", sock.connection.address)
        self.step(sock.begin)

    def _ended(self, sock: LoopSocket, error: Exception | None) -> None:
        """The transport has closed its socket."""
        sock.fd = -1
        sock.transport = sock.socket = None
        self._dropped.discard(sock)
        if not self._dropped and self._all_closed is not None:
            _settle(self._all_closed)
        if self._sockets.get(sock.connection) is sock:
            reason = "the broker closed the connection" if error is None else cause_of(error)
            self.step(partial(self._lost, sock, sock.why_ended(reason)))

    @override
    def _lost(self, sock: LoopSocket, reason: str | Exception, now: float) -> None:
        self._drop(sock)
        _log.debug("connection to %s: %s", sock.connection.address, reason)
        self.core.connection_lost(sock.connection, reason, now)

    @override
    def _drop(self, sock: LoopSocket) -> None:
        self._sockets.pop(sock.connection, None)
        closed = self._loop is None or self._loop.is_closed() or self._is_copy
        if not closed:
            sock.say_goodbye()
        sock.fd = -1
        if sock.task is not None and not closed:
            sock.task.cancel()
        if sock.socket is not None:
            self._dropped.add(sock)
        if sock.transport is not None and not closed:
            sock.transport.abort()


def _sockets_of(core: Core) -> Callable[[LoopDriver, Connection], LoopSocket]:
    """What makes its connections, with TLS where the settings want it."""
    if not core.settings.uses_tls:
        return LoopSocket
    from kwire.drivers.loop_tls import TlsSocket
    from kwire.drivers.tls import TlsClient

    return partial(TlsSocket, TlsClient.of(core.settings))


def _run_apart(driver: weakref.ref[LoopDriver], *what: Any) -> None:
    if (alive := driver()) is not None:
        alive.run_apart(*what)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _nothing(now: float) -> None:
    """The step by which an interrupted one is recovered from."""


def _after_fork_in_child() -> None:
    for driver in list(_drivers):
        driver._is_copy = True
        driver._thread = 0


os.register_at_fork(after_in_child=_after_fork_in_child)
