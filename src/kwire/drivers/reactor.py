"""The synchronous driver: polls all sockets of one core; one thread at a time is its driver.

Layer 4: moves bytes between sockets and the engine's core and tells it the time; no protocol logic. Calls, waits and
steps are compiled (`ReactorBase` in reactor.pxi); the rarely executed parts are here.

Driver role. A thread that waits for something (`wait`) becomes the driver, polls, and reads its own response; threads
that wait meanwhile sleep until a step is done or the role is free. A call that only changes something (`call`) writes
to the sockets itself, without blocking. With `background=True` a background thread drives when no caller does: it polls
every ACTIVE_POLL_S while callers were active in the last IDLE_AFTER_S, and looks whether one drives still every
DRIVEN_POLL_S; after that it waits in poll, and leaves the role as soon as a waiter asks for it. With `seldom=True` (a
consumer in a group, whose heartbeats go on between polls) it sleeps until the next timer while callers are active.
Without it (another consumer, an admin) nothing happens between calls.

Locking. `_lock` guards the core and everything here. It is never held while polling or while a user's callback runs:
`core.after_step` runs after each step, outside the lock and without the driver role, so a callback that blocks keeps no
other thread from driving.

While the lock is held a signal handler, a log handler or a finalizer may run, and may want this very reactor:
`lock_held` tells, and every entry raises ConcurrentUseError there, where it would wait for itself. A handler that runs
while its thread only polls may do everything; if it waits, it takes over the driver role, and the interrupted wait then
restarts.

Interrupts. `core.dirty` is set while the core runs. A KeyboardInterrupt or the like that cuts a step leaves it set,
and the next step begins with `core.recover`. CPython runs signal handlers at the start of a Python function, after its
calls and where its loops jump back, but never in compiled code; what must not be cut in Python is written without a
call. A thread that sleeps or polls looks again every MAX_SLEEP_S, in case its waker was interrupted or a signal went
unnoticed: between the check for signals and the system call, or in another thread.

TLS. Where the settings want it, a connected socket gets a `TlsConnection` (tls.py), and the core hears of the
connection after the handshake. Bytes go through Python (`_read_tls`, `_write_tls`), since encryption costs more than
the calls. Poll does not see decrypted bytes, so what was received is decrypted and handed on to its end in the same
step: at most TLS_READS_AT_ONCE times what the stream receives at once. While a large frame is due, poll wakes when
enough of it is there (connection_socket.pxi).

Fork. A child process may not use what its parent opened: every entry raises there, before any lock is touched.
"""

from __future__ import annotations

import _socket
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import get_ident
from time import monotonic

from kwire._codec import FROZEN_S, LATE_S, MAX_SLEEP_S, READS, WRITES, ReactorBase, SocketBase
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.drivers.apart import run_on_a_thread
from kwire.drivers.loggers import LateLogger
from kwire.drivers.sockets import (
    TLS_READS_AT_ONCE,
    TOO_SLOW,
    SocketAddress,
    connect_error,
    literal,
    look_up,
    open_socket,
)
from kwire.drivers.threads import begin_thread
from kwire.engine.connections.connection import Connection
from kwire.engine.core import Core
from kwire.errors import AuthError, ClientClosedError, ConcurrentUseError, FrameError, KafkaError

if TYPE_CHECKING:
    from kwire.drivers.tls import TlsClient, TlsConnection

IDLE_AFTER_S = 0.1
"""Seconds after the last call for which the background thread does not wait in poll."""

ACTIVE_POLL_S = 0.002
"""Seconds between two looks of the background thread while callers are active."""

DRIVEN_POLL_S = 0.005
"""The same where a caller drives: that one reads and times everything, until it leaves the role."""

SELDOM_POLL_S = 0.1
"""The same of a reactor whose background thread is there for timers: callers read by themselves."""

BUSY_POLL_S = 0.0005
"""The same when it came late to the one before, because callers compute and leave the interpreter only when asked."""

NEXT_ADDRESS_AFTER_S = 2.0
"""Seconds that one of several addresses of a name is given before the next is tried."""

FOR_EVER = float("inf")
_reactors: weakref.WeakSet[Reactor] = weakref.WeakSet()
_log = LateLogger("kwire.drivers")


class _Socket(SocketBase):
    """A connection's socket, and the addresses of its name that are still to be tried."""

    __slots__ = ("addresses", "error", "socket", "tls")

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.addresses: deque[SocketAddress] = deque()
        self.tls: TlsConnection | None = None
        self.socket: _socket.socket | None = None
        self.error = ""


class Snapshot(NamedTuple):
    """The threads and sockets of a reactor at one moment."""

    driver: int | None
    """The thread that drives."""

    polling_until: float | None
    """Until when it waits in poll, if it does."""

    sleeping: int
    """How many other threads sleep until something is done."""

    background: threading.Thread | None
    """The background thread, if it was begun."""

    sockets: int


class Reactor(ReactorBase):
    """Drives one core for any number of threads."""

    closed = ReactorBase._closed
    """Whether close() was called: the compiled attribute, which takes no call to be read."""

    def __init__(self, core: Core, *, background: bool, name: str, seldom: bool = False) -> None:
        super().__init__(core, background)
        self._name = name
        self._seldom = seldom
        self._idle_lock = threading.Lock()
        self._tls = _tls_of(core)
        self._waiting = 0
        self._kept_waiting = False
        self._wakers: tuple[_socket.socket, _socket.socket] | None = None
        self._pid = os.getpid()
        core.run_apart = partial(run_on_a_thread, weakref.ref(self))
        _reactors.add(self)

    # -- for the clients --------------------------------------------------------------------------------------------

    @property
    def lock_held(self) -> bool:
        """Whether the calling thread holds the lock: what it runs interrupts a step."""
        return self._lock.mine

    @property
    def owned_by_process(self) -> bool:
        """Whether this process made it; a forked child may not use it."""
        return not self._is_copy

    def snapshot(self) -> Snapshot:
        """Returns the present state of threads and sockets, for tests and debugging."""
        return Snapshot(self._driver, self._polling_until, self._waiting, self._thread, len(self._sockets))

    def check_may_block(self) -> None:
        """Raises where a blocking call would wait for itself: inside a callback or a step, and in a forked child."""
        if self._is_copy or self._lock.mine or self._in_callbacks:
            self._check_entry()
            self._check_no_callback(get_ident())

    def turn(self, done: Callable[[], bool]) -> bool:
        """Reads and writes what is ready, without waiting, also inside a callback; whether `done()` then."""
        self.poll_once()
        if self._in_callbacks:
            return self.call(lambda now: done())
        return self.wait(done, 0.0)

    @override
    def wake(self) -> None:
        """Makes a driver that polls look again; from any thread, also from a signal handler."""
        wakers = self._wakers
        if wakers is not None:
            try:
                wakers[1].send(b"\0")
            except OSError:
                pass  # closed, or so full that the driver wakes anyway

    def close(self) -> None:
        """Closes all connections and ends the thread. Idempotent; one that was interrupted is finished by the next. In
        a forked child it only frees. It waits for the driver, not for a callback that blocks."""
        if self._is_copy:
            self._closed = True
            self._free()
            return
        me = get_ident()
        self._check_entry()
        self._close_core()
        self._wake_waiters()
        self.wake()
        if self.core.after_step:
            self._run_callbacks()
        self._wait_for_the_thread(me)
        self._wait_until_undriven(me)
        with self._lock:
            self._free()

    def _free(self) -> None:
        """Closes all sockets. In a forked child these are copies, so the parent's stay open."""
        for sock in list(self._sockets.values()):
            self._drop(sock)
        for waker in self._wakers or ():
            waker.close()
        self._wakers = None
        self._wake_fd = -1

    @property
    def has_resources(self) -> bool:
        """Whether there are sockets to close."""
        return self._wakers is not None or bool(self._sockets)

    @override
    def _open(self) -> None:
        """Makes the pair of sockets that wakes a driver that polls."""
        try:
            reader, writer = self._wakers = _socket.socketpair()
        except OSError as error:
            raise KafkaError(f"the sockets that wake the driver cannot be opened: {error}") from error
        reader.setblocking(False)
        writer.setblocking(False)
        self._wake_fd = reader.fileno()

    # -- the driver role --------------------------------------------------------------------------------------------

    @override
    def _add_waiter(self) -> threading.Lock:
        """Returns a lock that the next `_wake_waiters` releases; asks the background thread to leave the role.

        Call with the reactor's lock held. Check the condition again before sleeping on it, or a wake-up is lost.
        """
        waiter = threading.Lock()
        waiter.acquire()
        self._waiters.append(waiter)
        if self._thread is not None and self._driver == self._thread.ident:
            self.wake()
        return waiter

    @override
    def _sleep(self, waiter: threading.Lock, seconds: float) -> None:
        """Sleeps until woken; the background thread does not become the driver meanwhile."""
        self._waiting += 1
        try:
            waiter.acquire(timeout=max(min(seconds, MAX_SLEEP_S), 0.0))
        finally:
            self._waiting -= 1

    def _wait_for_the_thread(self, me: int) -> None:
        """Until the background thread has ended, or is in a callback, after which it will end by itself."""
        thread = self._thread
        while thread is not None and thread.ident != me and thread.is_alive():
            if thread.ident in self._in_callbacks:
                return
            self.wake()
            if self._idle_lock.locked():
                self._idle_lock.release()
            thread.join(MAX_SLEEP_S)

    def _wait_until_undriven(self, me: int) -> None:
        while True:
            with self._lock:
                if self._driver is None or self._driver == me:
                    return
                waiter = self._add_waiter()
            self.wake()
            self._sleep(waiter, MAX_SLEEP_S)

    @override
    def _check_entry(self) -> None:
        if self._is_copy:
            raise ClientClosedError(f"this client belongs to process {self._pid}: make a new one after a fork")
        if self.lock_held:
            raise ConcurrentUseError("a signal handler, log handler or finalizer uses the client that it interrupts")

    @override
    def _check_no_callback(self, me: int) -> None:
        if me in self._in_callbacks:
            raise ConcurrentUseError("a blocking call inside a callback would wait for itself")

    @override
    def _start_background(self) -> None:
        if not self._closed:
            self._thread = begin_thread(self._run_background, f"kwire-{self._name}")

    def _run_background(self) -> None:
        """Nothing that a callback raises ends the thread; were it ended otherwise, the next `call` begins another."""
        me = threading.current_thread()
        if self._thread is not None and self._thread is not me:
            return  # a start that was cut had gone through
        self._thread = me
        self._idle_lock.acquire(blocking=False)  # it sleeps until another thread releases it
        try:
            while not self._closed:
                try:
                    if monotonic() - self._last_active < IDLE_AFTER_S:
                        self._look_in()
                    else:
                        self._drive_when_idle(get_ident())
                except BaseException:
                    _log.exception("a step failed; reconnecting")
                    time.sleep(IDLE_AFTER_S)
        finally:
            self._thread = None

    def _look_in(self) -> None:
        """Sleeps, then looks in if no other thread has driven meanwhile.

        It takes no lock before it is sure, and is not woken by callers: each would cost a caller that drives itself.
        Bytes that are due leave before anything is polled, because the interpreter may be lost after that.
        """
        steps_seen, asleep_at = self._steps, monotonic()
        is_driven = self._driver is not None
        pause = self._pause(is_driven)
        due = self.core.next_due()
        if due is not None and due < asleep_at + pause:
            pause = max(due - asleep_at, DRIVEN_POLL_S if is_driven else 0.0)
        if self._seldom:
            self._idle_lock.acquire(timeout=pause)
        else:
            time.sleep(pause)
        now = monotonic()
        self._kept_waiting = now - asleep_at - pause > LATE_S
        if self._steps != steps_seen:
            return
        if now - asleep_at - pause > FROZEN_S:
            self.poll_once()  # stopped meanwhile: what has come is read before anything is called late
            return
        if self._driver is not None:
            return
        if self._kept_waiting and now - self._last_active > LATE_S:
            self.call(self._run_early, active=False)
        elif due is not None and due <= now:
            self.call(self.core.handle_timer, active=False)
        self.poll_once()

    def _pause(self, is_driven: bool) -> float:
        if self._seldom:
            return SELDOM_POLL_S
        if is_driven:
            return DRIVEN_POLL_S
        return BUSY_POLL_S if self._kept_waiting else ACTIVE_POLL_S

    @override
    def _run_early(self, now: float) -> None:
        """Callers compute: a thread that releases the GIL now gets it back a switch interval later."""
        self.core.run_early(sys.getswitchinterval(), now)

    def _drive_when_idle(self, me: int) -> None:
        """Polls for as long as it takes; while another thread drives or wants to, waits for the role."""
        with self._lock:
            driven = self._driver is not None or self._waiting > 0
            if driven:
                waiter = self._add_waiter()
            else:
                self._driver = me
        if driven:
            waiter.acquire(timeout=IDLE_AFTER_S)
            return
        try:
            self._step(me, FOR_EVER)
        finally:
            if self._driver == me:
                self._driver = None
                self._wake_waiters()

    @override
    def _run_callbacks(self) -> None:
        callbacks = self.core.after_step
        me = get_ident()
        outermost = me not in self._in_callbacks
        try:
            self._in_callbacks.add(me)
            while callbacks:
                try:
                    callback = callbacks.popleft()
                except IndexError:
                    return
                try:
                    callback()
                except Exception:
                    _log.exception("a callback raised")
        finally:
            if outermost:
                self._in_callbacks.discard(me)

    @override
    def _wake_if_polling(self, polling_until: float) -> None:
        """A change from outside may have brought the next timer forward."""
        timer = self.core.get_timer()
        if timer is not None and timer < polling_until:
            self.wake()

    @override
    def _drain_wake(self) -> None:
        assert self._wakers is not None
        try:
            while self._wakers[0].recv(4096):
                pass
        except BlockingIOError:
            pass  # empty

    @override
    def _on_warning(self, text: str) -> None:
        self.core.after_step.append(partial(_log.warning, "%s", text))

    # -- sockets ----------------------------------------------------------------------------------------------------

    @override
    def _connect(self, connection: Connection, now: float) -> None:
        sock = self._sockets[connection] = _Socket(connection)
        addresses = literal(connection.address)
        if addresses is not None:
            sock.addresses.extend(addresses)
            self._next_address(sock, now)
            return

        def done(found: list[SocketAddress], error: str) -> None:
            self._resolved.append((connection, found, error))
            self.wake()

        look_up(connection.address, done, lambda: sock.connection in self._sockets)

    @override
    def _take_resolved(self, now: float) -> None:
        while self._resolved:
            connection, addresses, error = self._resolved.popleft()
            sock = self._sockets.get(connection)
            if sock is not None:
                sock.addresses.extend(addresses)
                sock.error = error
                self._next_address(sock, now)

    def _next_address(self, sock: _Socket, now: float) -> None:
        """Tries the next address of the name; without one, the connection is lost for the last reason."""
        while sock.addresses:
            self._close_socket(sock)
            settings = self.core.settings
            sock.socket, sock.error = open_socket(
                sock.addresses.popleft(), settings.send_buffer_bytes, settings.receive_buffer_bytes
            )
            if sock.socket is not None and not sock.error:
                sock.fd = sock.socket.fileno()
                self._watch(sock, WRITES)
                if sock.addresses:
                    self.core.call_at(now + NEXT_ADDRESS_AFTER_S, partial(self._too_slow, sock, sock.socket))
                return
        self._lost(sock, sock.error or "the name has no address", now)

    def _too_slow(self, sock: _Socket, tried: _socket.socket, now: float) -> None:
        if sock.socket is tried and not sock.connected and sock.addresses:
            sock.error = TOO_SLOW
            self._next_address(sock, now)

    @override
    def _connected(self, sock: _Socket, now: float) -> None:
        """The socket is ready while it is not connected yet: the attempt has ended, or a handshake continues."""
        assert sock.socket is not None
        if sock.tls is None:
            sock.error = connect_error(sock.socket)
            if sock.error:
                self._next_address(sock, now)
                return
            sock.addresses.clear()
        if self._tls is not None and not self._has_shaken_hands(sock, self._tls, now):
            return
        sock.connected = True
        self._watch(sock, READS)
        _log.debug("connected to %s", sock.connection.address)
        self.core.connection_made(sock.connection, now)
        if sock.tls is not None:
            self._read_tls(sock, now)

    # -- TLS --------------------------------------------------------------------------------------------------------

    def _has_shaken_hands(self, sock: _Socket, client: TlsClient, now: float) -> bool:
        assert sock.socket is not None
        try:
            if sock.tls is None:
                sock.tls = client.begin(sock.connection)
                sock.plain = False
            else:
                self._receive(sock, sock.tls)
            done = sock.tls.stream.handshake()
            if not done:
                self._watch(sock, READS if sock.tls.flush(sock.socket.send) else READS | WRITES)
        except (AuthError, OSError) as error:
            self._lost(sock, error, now)
            return False
        return done

    def _receive(self, sock: _Socket, tls: TlsConnection) -> bool:
        """Takes ciphertext off the socket; returns whether there may be more. The end waits for what came before it."""
        assert sock.socket is not None
        assert self._tls is not None
        room, stream = self._tls.room, tls.stream
        try:
            count = sock.socket.recv_into(room)
        except BlockingIOError:
            return False
        except OSError as error:
            if stream.readable:
                return False
            raise stream.end(error.strerror or str(error)) from error
        if count == 0:
            if stream.readable:
                return False
            raise stream.end()
        stream.feed(room[:count])
        return count == len(room)

    @override
    def _read_tls(self, sock: _Socket, now: float) -> None:
        connection, tls = sock.connection, sock.tls
        assert tls is not None
        try:
            self._take_in(sock, tls, now)
        except (AuthError, FrameError, OSError) as error:
            self._lost(sock, error, now)
            return
        sock.await_frame(self.core, tls.stream.cut, now)
        if tls.stream.has_outgoing or (connection.wants_write and not sock.mask & WRITES):
            self._write_tls(sock, now)

    def _take_in(self, sock: _Socket, tls: TlsConnection, now: float) -> None:
        for _ in range(TLS_READS_AT_ONCE):
            more = self._receive(sock, tls)
            tls.hand_on(self.core, now)
            if not more or not sock.connection.open:
                return

    @override
    def _write_tls(self, sock: _Socket, now: float) -> None:
        tls = sock.tls
        assert tls is not None
        assert sock.socket is not None
        try:
            self._watch(sock, READS if tls.write(sock.socket.send, now) else READS | WRITES)
        except (AuthError, OSError) as error:
            reason = tls.refusal_or(error, partial(self._take_in, sock, tls, now))
            if sock.connection.open:
                self._lost(sock, reason, now)

    @override
    def _lost(self, sock: _Socket, reason: str | Exception, now: float) -> None:
        self._drop(sock)
        _log.debug("connection to %s: %s", sock.connection.address, reason)
        self.core.connection_lost(sock.connection, reason, now)

    @override
    def _drop(self, sock: _Socket) -> None:
        self._sockets.pop(sock.connection, None)
        sock.addresses.clear()
        self._close_socket(sock)

    def _close_socket(self, sock: _Socket) -> None:
        if sock.socket is not None:
            sock.fd = -1
            sock.mask = 0
            if sock.tls is not None and not self._is_copy:  # in a forked child the session is its parent's
                sock.tls.say_goodbye(sock.socket.send)
            sock.socket.close()
            sock.socket = sock.tls = None
            sock.plain = True
            if self._polling_until is not None:
                self.wake()  # a socket lives as long as a thread polls it


def _tls_of(core: Core) -> TlsClient | None:
    """What its connections share, if they are to have TLS."""
    if not core.settings.uses_tls:
        return None
    from kwire.drivers.tls import TlsClient

    return TlsClient.of(core.settings)


def _after_fork_in_child() -> None:
    for reactor in list(_reactors):
        reactor._is_copy = True


os.register_at_fork(after_in_child=_after_fork_in_child)
