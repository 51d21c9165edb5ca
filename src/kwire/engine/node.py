"""One broker: its address, the connection to it, and the requests that wait for that connection.

Layer 3, no I/O. States: idle (no connection wanted yet), negotiating, ready, resting (after a failure, until the
backoff is over). A request that waits here is written as soon as the connection is ready and fails when the attempt
fails; one that was written fails when the connection is lost. Whether to send it again is its component's decision.

A broker answers in order, so behind a long poll (Fetch) a request would wait for fetch_max_wait_ms. What comes while
one is under way goes to a twin of the node, with a connection of its own that stays.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from kwire._codec import NodeBase, Timer
from kwire._typing import TYPE_CHECKING
from kwire.engine.addresses import Address
from kwire.engine.connection import Connection
from kwire.engine.negotiation import Negotiation
from kwire.engine.outage import Outage
from kwire.engine.request import Request
from kwire.engine.versions import Versions
from kwire.errors import ConnectError, KafkaError
from kwire.protocol import APIS

if TYPE_CHECKING:
    from kwire.engine.core import Core


class Node(NodeBase):
    """A broker with id `node_id`; ids below -1 are bootstrap addresses whose id is not known yet."""

    def __init__(self, core: Core, node_id: int, address: Address) -> None:
        super().__init__()
        self._core = core
        self.node_id = node_id
        self.address = address
        self.failures = 0
        self.last_error: KafkaError | None = None
        self._negotiation: Negotiation | None = None
        self._rest: Timer | None = None
        self._was_old = False
        self._attempt = 0
        self._side_node: Node | None = None
        self._unwritten: Request | None = None
        self._outage = Outage(lambda: self.who, core.warn)

    def __repr__(self) -> str:
        return f"<node {self.node_id} at {self.address}: {self.state}, {len(self._queue)} waiting>"

    @property
    def state(self) -> str:
        """'ready', 'negotiating', 'resting' or 'idle'."""
        if self.connection is not None:
            return "ready"
        if self._rest is not None and self._rest.active:
            return "resting"
        return "negotiating" if self._negotiation is not None else "idle"

    @property
    def load(self) -> int:
        """Requests waiting or under way."""
        return len(self._queue) + (len(self.connection.in_flight) if self.connection else 0)

    @property
    def trouble(self) -> str:
        """Why there is no connection: the last error, or how far the first attempt is."""
        error = self.last_error
        if error is None:
            return "not tried yet" if self.state == "idle" else "being connected"
        return error.causes.get(str(self.address), str(error)) if isinstance(error, ConnectError) else str(error)

    def out_of_reach(self, now: float) -> float:
        """Seconds since the last connection was lost, or since the first attempt failed."""
        return self._outage.lasted(now)

    def beside(self) -> Node:
        """The twin, for what must not wait behind a long poll."""
        if self._side_node is None:
            self._side_node = Node(self._core, self.node_id, self.address)
        return self._side_node

    def connect(self, now: float) -> None:
        """Begins to connect, unless that is under way, done, or the node rests after a failure."""
        if self.state == "idle":
            self._attempt += 1
            self._negotiation = Negotiation(
                self._core,
                self.address,
                on_ready=partial(self._on_ready, self._attempt),
                on_failed=partial(self._on_failed, self._attempt),
                suspect_old=self._was_old,
                now=now,
            )

    def move(self, address: Address, now: float) -> None:
        """The broker is at another address now."""
        if address != self.address:
            self.drop(ConnectError(f"broker {self.node_id} moved from {self.address} to {address}"), now)
            self._stop_waiting()
            self.address = address
            self.failures = 0
            if self._queue:
                self.connect(now)
            if self._side_node is not None:
                self._side_node.move(address, now)

    def drop(self, error: KafkaError, now: float) -> None:
        """Closes whatever is open or under way; requests that were written fail with `error`, others stay."""
        self._stop_waiting()
        if self._negotiation is not None:
            self._negotiation.abandon(now)
            self._negotiation = None
        if self.connection is not None:
            self._core.lose_connection(self.connection, error, now)
        if self._side_node is not None:
            self._side_node.drop(error, now)

    def fail_queue(self, error: KafkaError, now: float) -> None:
        """Fails every request that waits."""
        waiting, self._queue = self._queue, deque()
        for request in waiting:
            request.fail(error, now)
        if self._side_node is not None:
            self._side_node.fail_queue(error, now)

    def reset(self) -> None:
        """Forgets connection, attempts and waiting requests, whatever state they are in."""
        self._attempt += 1
        self._stop_waiting()
        if self._negotiation is not None:
            self._negotiation.forget()
            self._negotiation = None
        self.connection = None
        self._queue.clear()
        if self._side_node is not None:
            self._side_node.reset()

    # -- what the negotiation says ----------------------------------------------------------------------------------

    def _on_ready(self, attempt: int, connection: Connection, versions: Versions, now: float) -> None:
        if attempt != self._attempt:
            self._core.close_connection(connection, now)
            return
        retired = self.connection
        connection.on_lost = self._on_lost
        self.connection = connection
        self.versions = versions
        self.failures = 0
        self.last_error = None
        self._outage.end(now)
        self._was_old = versions.before_0_10
        if not versions.before_0_10:
            self._negotiation = None
        if retired is not None:
            self._core.lose_connection(retired, ConnectError(f"{self.address} answered ApiVersions late"), now)
        waiting, self._queue = self._queue, deque()
        for request in waiting:
            self.submit(request, now)
        self._core.node_is_ready(self, now)

    def _on_failed(self, attempt: int, error: ConnectError, now: float) -> None:
        if attempt != self._attempt:
            return
        self._negotiation = None
        self._outage.begin(now)
        self._lost_once_more(error, now)
        if self._outage.reached:
            self._outage.lasts(self.trouble, self._core.longest_wait, now)
        self.fail_queue(error, now)
        self._core.node_has_failed(self, error, now)

    def _on_lost(self, connection: Connection, error: KafkaError, now: float) -> None:
        if connection is not self.connection:
            return
        self.connection = None
        self._stop_waiting()
        if self._negotiation is not None:
            self._negotiation.abandon(now)
            self._negotiation = None
        self._outage.begin(now)
        self._lost_once_more(error, now)
        self._core.node_is_lost(self, error, now)

    def _lost_once_more(self, error: KafkaError, now: float) -> None:
        self.last_error = error
        self.failures += 1
        self._rest = self._core.call_at(now + self._core.reconnect_backoff.wait(self.failures), self._on_backoff_over)

    def _on_backoff_over(self, now: float) -> None:
        self._rest = None
        if self._queue:
            self.connect(now)
        self._core.node_backoff_over(self, now)

    def _stop_waiting(self) -> None:
        for timer in (self._rest, self._timeout):
            if timer is not None:
                timer.cancel()
        self._rest = self._timeout = None

    # -- requests ---------------------------------------------------------------------------------------------------

    def no_version(self, request: Request, now: float) -> None:
        """The broker offers none that will do."""
        assert self.versions is not None
        name = APIS[request.api_key].name
        request.fail(self.versions.why_not(request.api_key, name, request.oldest, request.newest, self.who), now)

    def watch(self, moment: float) -> None:
        """The oldest request is looked at then."""
        self._timeout = self._core.call_at(moment, self._look_for_silence)

    def _look_for_silence(self, now: float) -> None:
        """The oldest request decides: unanswered for its time-out, it takes the connection with it.

        Bytes of its answer that come in are no silence, however long the whole answer takes.
        """
        self._timeout = None
        connection = self.connection
        if connection is None:
            return
        if not connection.in_flight:
            self._look_for_standstill(connection, now)
            return
        oldest = connection.in_flight[0]
        silent_since = connection.received_at if connection.receiver.pending else oldest.sent_at
        due = silent_since + oldest.timeout
        if due > now:
            self.watch(due)
            return
        name = APIS[oldest.api_key].name
        self._time_out(connection, f"did not answer {name} within {round(oldest.timeout * 1000)} ms", now)

    def _look_for_standstill(self, connection: Connection, now: float) -> None:
        """Where nothing is answered, bytes that are not taken show that the broker is gone: two looks, one request."""
        oldest, before = connection.unwritten, self._unwritten
        self._unwritten = oldest
        if oldest is None:
            return
        if oldest is not before:
            self.watch(now + oldest.timeout)
            return
        name = APIS[oldest.api_key].name
        self._time_out(connection, f"did not take the bytes of {name} within {round(oldest.timeout * 1000)} ms", now)

    def _time_out(self, connection: Connection, what: str, now: float) -> None:
        self._outage.lasts(what, self._core.longest_wait, now)
        self._core.lose_connection(connection, ConnectError(f"{self.who} {what}"), now)

    @property
    def who(self) -> str:
        """The broker in words."""
        return f"broker {self.node_id} ({self.address})" if self.node_id >= 0 else f"the broker at {self.address}"
