"""One connection of the broker: what came in and waits, the flow in progress, what goes out.

It serves one request at a time and is not read from meanwhile, as in Kafka; nor while it is muted because its client
went over a quota. It knows frames and flows, no messages; how bytes become frames is its transport's to know.
"""

from __future__ import annotations

import logging
import math
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from kwire import errors
from kwire._codec import FrameReceiver
from kwire.testing.requests import CloseConnectionError, Flow, Suspend
from kwire.testing.serving.apis import Answer, Served
from kwire.testing.serving.transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Buffer

logger = logging.getLogger("kwire.testing")
Serve = Callable[["Buffer"], Flow[Answer]]
_MAX_PARTS = 512
_SLOW_TICK = 0.02


class Connection:
    """`on_close` is called once, when it closes. `speed` tells how many bytes a second may be sent, None for all.

    `muted_until` and what flows wait for are times of the broker's clock; `may_send_at` is of the system's.
    """

    def __init__(
        self,
        sock: socket.socket,
        transport: Transport,
        serve: Serve,
        max_frame: int,
        now: Callable[[], float],
        speed: Callable[[], int | None],
        on_close: Callable[[Connection], None],
    ) -> None:
        self.socket = sock
        self.peer = "{}:{}".format(*sock.getpeername()[:2])
        self.suspended: Suspend | None = None
        self.muted_until = 0.0
        self.may_send_at = 0.0
        self.closed = False
        self._transport = transport
        self._serve = serve
        self._now = now
        self._speed = speed
        self._on_close = on_close
        self._receiver = FrameReceiver(max_frame)
        self._inbox: deque[Buffer] = deque()
        self._flow: Flow[Answer] | None = None
        self._outgoing: deque[memoryview] = deque()
        self._close_reason: str | None = None

    @property
    def _idle(self) -> bool:
        return self._flow is None and not self._sending and not self.muted_until

    @property
    def _sending(self) -> bool:
        return bool(self._outgoing) or self._transport.unsent

    @property
    def events(self) -> int:
        """What the selector should wait for; nothing while a flow is in progress."""
        if self.may_send_at:
            return 0
        if self._sending:
            return selectors.EVENT_WRITE
        return selectors.EVENT_READ if self._idle else 0

    @property
    def due(self) -> float:
        """When it wants to be resumed, by the broker's clock."""
        if self.suspended is not None:
            return self.suspended.until
        return self.muted_until or math.inf

    def serve_ready(self) -> None:
        """The socket is readable when idle, or writable when sending."""
        if self._sending:
            self._send()
        else:
            self._receive()
        self._progress()

    def resume(self, now: float, happened: frozenset[object]) -> bool:
        """Goes on if it is due, or if what it waits for has happened; tells whether it did."""
        suspended = self.suspended
        if suspended is not None and (suspended.until <= now or not happened.isdisjoint(suspended.wakers)):
            self._step(happened)
        elif 0 < self.may_send_at <= time.monotonic():
            self._send()
        elif 0 < self.muted_until <= now:
            self.muted_until = 0.0
        else:
            return False
        self._progress()
        return True

    def close(self, reason: str | None = None) -> None:
        """Ends it, and the flow in progress; the reason goes to the log."""
        if self.closed:
            return
        if reason is not None:
            logger.warning("%s: connection closed: %s", self.peer, reason)
        self.closed = True
        self._on_close(self)
        self._transport.close()
        try:
            if self._flow is not None:
                self._flow.close()
        finally:
            if isinstance(self._serve, Served):
                self._serve.close()

    def _lost(self, error: OSError) -> None:
        """The client closed the connection without notice, which clients do."""
        logger.info("%s: connection lost: %s", self.peer, error)
        self.close()

    def _receive(self) -> None:
        try:
            frames = self._transport.receive(self._receiver)
            if frames is None:
                self.close()
            else:
                self._inbox.extend(frames)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(error)
        except errors.KafkaError as error:
            self.close(str(error))

    def _progress(self) -> None:
        """Takes up the requests that came in, one after the other, until one has to wait."""
        while self._idle and self._inbox and not self.closed:
            self._flow = self._serve(self._inbox.popleft())
            self._step()
        if self._idle and not self.closed:
            if self._receiver.fault is not None:
                self.close(str(self._receiver.fault))
            elif self._transport.ended:
                self.close()

    def _step(self, happened: frozenset[object] | None = None) -> None:
        """Drives the flow to where it waits next, or to its answer."""
        assert self._flow is not None
        try:
            self.suspended = self._flow.send(happened)
            return
        except StopIteration as finished:
            self._flow, self.suspended = None, None
            self._answer(finished.value)
        except CloseConnectionError as error:
            self._abandon(str(error))
        except Exception as error:
            logger.exception("%s: a request could not be served", self.peer)
            self._abandon(f"an internal error of the broker: {error!r}")

    def _abandon(self, reason: str) -> None:
        self._flow, self.suspended = None, None
        self.close(reason)

    def _answer(self, answer: Answer) -> None:
        self._outgoing.extend(view for part in answer.parts if (view := memoryview(part).cast("B")).nbytes)
        self._close_reason = answer.close_reason
        if answer.mute_s:
            self.muted_until = self._now() + answer.mute_s
        if self._outgoing:
            self._send()
        elif answer.close_reason is not None:
            self.close(answer.close_reason)

    def _send(self) -> None:
        parts = self._sendable()
        if not parts and not self._transport.unsent:
            return
        try:
            sent = self._transport.send(parts)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(error)
            return
        while sent:
            head = self._outgoing[0]
            if sent < len(head):
                self._outgoing[0] = head[sent:]
                break
            sent -= len(head)
            self._outgoing.popleft()
        if self._sending:
            return
        self.may_send_at = 0.0
        if self._close_reason is not None:
            self.close(self._close_reason)

    def _sendable(self) -> list[memoryview]:
        """What may be sent now: all, or a small piece on a connection that was made slow."""
        speed = self._speed()
        if speed is None:
            self.may_send_at = 0.0
            return [self._outgoing[n] for n in range(min(len(self._outgoing), _MAX_PARTS))]
        now = time.monotonic()
        if now < self.may_send_at or not self._outgoing:
            return []
        piece = max(int(speed * _SLOW_TICK), 1)
        self.may_send_at = now + piece / speed
        return [self._outgoing[0][:piece]]
