"""The broker's thread: accepts connections, receives frames, drives flows, sends answers.

One selector, no lock over any broker state: everything that touches the state runs on this thread, what other threads
want done comes through `run`. A connection serves one request at a time and is not read from meanwhile, as in Kafka. It
knows frames and flows, no messages; how bytes become frames is its transport's to know.
"""

from __future__ import annotations

import logging
import math
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, TypeVar

from kwire import errors
from kwire._codec import FrameReceiver
from kwire.testing.apis import Answer, BrokerApis
from kwire.testing.requests import CloseConnectionError, Flow, Suspend
from kwire.testing.transport import PlainTransport, Transport
from kwire.testing.wire_0_7 import BrokerApis07
from kwire.testing.wire_proposal import ProposalApis

if TYPE_CHECKING:
    from typing_extensions import Buffer

logger = logging.getLogger("kwire.testing")
_T = TypeVar("_T")
AnyApis = BrokerApis | BrokerApis07 | ProposalApis
Serve = Callable[["Buffer"], Flow[Answer]]

_MOST_PARTS = 512
_SLOW_TICK = 0.02
_JOIN_WITHIN = 10.0


class _Connection:
    """One client: what came in and waits, the flow in progress, what goes out."""

    def __init__(self, sock: socket.socket, transport: Transport, serve: Serve, max_frame: int) -> None:
        self.socket = sock
        self.transport = transport
        self.serve = serve
        self.peer = "{}:{}".format(*sock.getpeername()[:2])
        self.receiver = FrameReceiver(max_frame)
        self.inbox: deque[Buffer] = deque()
        self.flow: Flow[Answer] | None = None
        self.suspended: Suspend | None = None
        self.outgoing: deque[memoryview] = deque()
        self.close_reason: str | None = None
        self.may_send_at = 0.0
        self.closed = False

    @property
    def idle(self) -> bool:
        return self.flow is None and not self.sending

    @property
    def sending(self) -> bool:
        return bool(self.outgoing) or self.transport.unsent

    @property
    def events(self) -> int:
        """What the selector should wait for; nothing while a flow is in progress."""
        if self.sending:
            return selectors.EVENT_WRITE
        return 0 if self.flow is not None else selectors.EVENT_READ


class Server:
    """Serves `apis` on `host`:`port` (0: a free one) from `start` to `stop`."""

    def __init__(
        self,
        apis: AnyApis,
        host: str,
        port: int,
        max_frame: int,
        new_transport: Callable[[socket.socket], Transport] = PlainTransport,
    ) -> None:
        self._apis = apis
        self._host, self.port = host, port
        self._max_frame = max_frame
        self._new_transport = new_transport
        self._connections: set[_Connection] = set()
        self._queued: deque[Callable[[], None]] = deque()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._listener: socket.socket | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """How many requests wait for something to happen."""
        return sum(connection.suspended is not None for connection in self._connections)

    def start(self) -> None:
        """Binds and begins to serve. Raises ConfigError for an address that cannot be bound."""
        self._selector = selectors.DefaultSelector()
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._stopping = False
        try:
            self.listen()
        except BaseException:
            self._release()
            raise
        self._selector.register(self._wake_out, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._main, name=f"kwire-broker-{self.port}", daemon=True)
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
        """Runs `work` on the broker's thread and returns its result; on the caller's while the broker is stopped."""
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
            raise errors.KafkaTimeoutError(f"the broker did not get to it within {_JOIN_WITHIN:.0f} s") from error

    def listen(self) -> None:
        """Opens the listening socket, on the port it had before if there was one."""
        if self._listener is not None:
            return
        listener = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._host, self.port))
            listener.listen(128)
        except (OSError, OverflowError) as error:
            listener.close()
            raise errors.ConfigError(f"cannot listen on {self._host}:{self.port}: {error}") from error
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._selector.register(listener, selectors.EVENT_READ)

    def stop_listening(self) -> None:
        """New connections are refused; the present ones go on."""
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None

    def close_connections(self) -> int:
        """Closes all connections; returns how many there were."""
        connections = list(self._connections)
        for connection in connections:
            self._close(connection)
        return len(connections)

    def _wake(self) -> None:
        try:
            self._wake_in.send(b"\0")
        except OSError as error:
            logger.debug("the broker's thread needs no waking: %s", error)

    def _main(self) -> None:
        try:
            while not self._stopping:
                self._turn()
        except Exception:
            logger.exception("the broker's thread ends by a fault of its own")
            raise
        finally:
            self.close_connections()
            self.stop_listening()
            self._release()
            self._run_queued()

    def _release(self) -> None:
        self._selector.close()
        self._wake_out.close()
        self._wake_in.close()

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._wait()):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._wake_out:
                self._wake_out.recv(4096)
            elif not key.data.closed:
                self._serve_ready(key.data)
        self._run_queued()
        self._resume_suspended()

    def _run_queued(self) -> None:
        while self._queued:
            self._queued.popleft()()

    def _wait(self) -> float | None:
        """Seconds until the next suspended flow or throttled send is due; None for ever."""
        if self._apis.cluster.touched:
            return 0.0
        due = [connection.suspended.until for connection in self._connections if connection.suspended is not None]
        due += [connection.may_send_at for connection in self._connections if connection.may_send_at]
        soonest = min(due, default=math.inf)
        return None if soonest == math.inf else max(soonest - time.monotonic(), 0.0)

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            logger.info("a connection went away before it was accepted: %s", error)
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection = _Connection(sock, self._new_transport(sock), self._apis.connect(), self._max_frame)
        except OSError as error:
            logger.info("a connection went away before it was served: %s", error)
            sock.close()
            return
        self._connections.add(connection)
        self._selector.register(sock, selectors.EVENT_READ, connection)

    def _close(self, connection: _Connection, reason: str | None = None) -> None:
        if connection.closed:
            return
        if reason is not None:
            logger.warning("%s: connection closed: %s", connection.peer, reason)
        connection.closed = True
        self._connections.discard(connection)
        if connection.socket in self._selector.get_map():
            self._selector.unregister(connection.socket)
        connection.transport.close()
        if connection.flow is not None:
            connection.flow.close()

    def _lost(self, connection: _Connection, error: OSError) -> None:
        """The client closed the connection without notice, which clients do."""
        logger.info("%s: connection lost: %s", connection.peer, error)
        self._close(connection)

    def _serve_ready(self, connection: _Connection) -> None:
        """The socket of an idle connection is readable, or that of a sending one writable."""
        if connection.sending:
            self._send(connection)
        else:
            self._receive(connection)
        self._progress(connection)

    def _receive(self, connection: _Connection) -> None:
        try:
            frames = connection.transport.receive(connection.receiver)
            if frames is None:
                self._close(connection)
            else:
                connection.inbox.extend(frames)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(connection, error)
        except errors.KafkaError as error:
            self._close(connection, str(error))

    def _progress(self, connection: _Connection) -> None:
        """Takes up the requests that came in, one after the other, until one has to wait."""
        while connection.idle and connection.inbox and not connection.closed:
            self._start(connection, connection.serve(connection.inbox.popleft()))
        if connection.idle and not connection.closed:
            if connection.receiver.fault is not None:
                self._close(connection, str(connection.receiver.fault))
            elif connection.transport.ended:
                self._close(connection)
        self._watch(connection)

    def _start(self, connection: _Connection, flow: Flow[Answer]) -> None:
        connection.flow = flow
        self._step(connection)

    def _step(self, connection: _Connection) -> None:
        """Drives the flow to where it waits next, or to its answer."""
        assert connection.flow is not None
        try:
            connection.suspended = next(connection.flow)
            return
        except StopIteration as finished:
            connection.flow, connection.suspended = None, None
            self._answer(connection, finished.value)
        except CloseConnectionError as error:
            self._abandon(connection, str(error))
        except Exception as error:
            logger.exception("%s: a request could not be served", connection.peer)
            self._abandon(connection, f"a fault of the broker's own: {error!r}")

    def _abandon(self, connection: _Connection, reason: str) -> None:
        connection.flow, connection.suspended = None, None
        self._close(connection, reason)

    def _answer(self, connection: _Connection, answer: Answer) -> None:
        connection.outgoing.extend(view for part in answer.parts if (view := memoryview(part).cast("B")).nbytes)
        connection.close_reason = answer.close_reason
        if connection.outgoing:
            self._send(connection)
        elif answer.close_reason is not None:
            self._close(connection, answer.close_reason)

    def _send(self, connection: _Connection) -> None:
        parts = self._sendable(connection)
        if not parts and not connection.transport.unsent:
            return
        try:
            sent = connection.transport.send(parts)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(connection, error)
            return
        while sent:
            head = connection.outgoing[0]
            if sent < len(head):
                connection.outgoing[0] = head[sent:]
                break
            sent -= len(head)
            connection.outgoing.popleft()
        if connection.sending:
            return
        connection.may_send_at = 0.0
        if connection.close_reason is not None:
            self._close(connection, connection.close_reason)

    def _sendable(self, connection: _Connection) -> list[memoryview]:
        """What may be sent now: all, or a small piece on a connection that was made slow."""
        speed = self._apis.faults.bytes_per_second
        if speed is None:
            connection.may_send_at = 0.0
            return [connection.outgoing[n] for n in range(min(len(connection.outgoing), _MOST_PARTS))]
        now = time.monotonic()
        if now < connection.may_send_at or not connection.outgoing:
            return []
        piece = max(int(speed * _SLOW_TICK), 1)
        connection.may_send_at = now + piece / speed
        return [connection.outgoing[0][:piece]]

    def _resume_suspended(self) -> None:
        """Drives on what was suspended and is due, or is touched by what was done meanwhile."""
        now = time.monotonic()
        touched = self._apis.cluster.touched
        happened = frozenset(touched)
        touched.clear()
        for connection in list(self._connections):
            suspended = connection.suspended
            if suspended is not None and (suspended.until <= now or not happened.isdisjoint(suspended.partitions)):
                self._step(connection)
                self._progress(connection)
            elif 0 < connection.may_send_at <= now:
                self._send(connection)
                self._progress(connection)

    def _watch(self, connection: _Connection) -> None:
        """Tells the selector what to wait for on this connection."""
        if connection.closed:
            return
        events = 0 if connection.may_send_at else connection.events
        registered = connection.socket in self._selector.get_map()
        if events and registered:
            self._selector.modify(connection.socket, events, connection)
        elif events:
            self._selector.register(connection.socket, events, connection)
        elif registered:
            self._selector.unregister(connection.socket)
