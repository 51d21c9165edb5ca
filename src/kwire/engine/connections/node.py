"""One broker: its address, and a connection to it for each purpose, made when it is first needed.

Layer 3, no I/O. A broker answers the requests of one connection in their order, so after a Fetch that it holds, or a
JoinGroup, every other request would wait. Those have connections of their own (`request.py` lists the purposes); what
is asked of the node itself, and reported to its owner, is the state of the connection for data.
"""

from __future__ import annotations

from kwire._codec import NodeBase
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.addresses import Address
from kwire.engine.common.outage import ELECTION_WITHIN_S, Outage
from kwire.engine.common.request import Purpose
from kwire.engine.common.retry import cause_at
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.link import BACKING_OFF, IDLE, NEGOTIATING, Link
from kwire.engine.connections.negotiation import SLOW_AFTER_S
from kwire.engine.connections.services import ConnectionServices
from kwire.engine.connections.versions import Versions
from kwire.errors import AuthError, ConnectError, KafkaError
from kwire.errors.wording import Cause, joined

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class NodeOwner(Protocol):
    """Whom a node tells of its connection for data: `Brokers`."""

    def node_is_ready(self, node: Node, now: float) -> None:
        """It got its connection."""

    def node_has_failed(self, node: Node, error: KafkaError, now: float) -> None:
        """An attempt to connect failed."""

    def node_is_slow(self, node: Node, now: float) -> None:
        """An attempt to connect takes long."""

    def node_is_lost(self, node: Node, error: KafkaError, now: float) -> None:
        """A connection that was ready ended."""

    def node_hangs(self, now: float) -> None:
        """It has not answered a request for longer than brokers take."""

    def node_may_connect(self, node: Node, now: float) -> None:
        """The backoff after a failure has ended."""

    def node_is_refused(self, node: Node, now: float) -> None:
        """Something waits for it while it refuses this client."""


class Node(NodeBase):
    """A broker with id `node_id`; ids below -1 are bootstrap addresses whose id is not known yet."""

    def __init__(self, owner: NodeOwner, connections: ConnectionServices, node_id: int, address: Address) -> None:
        super().__init__()
        self.node_id = node_id
        self.address = address
        self.was_old = False
        self.outage = Outage(lambda: self.who, connections.warn)
        self._owner = owner
        self._connections = connections
        self._data = self.make_link(Purpose.DATA)

    @override
    def __repr__(self) -> str:
        return f"<node {self.node_id} at {self.address}: {self.state}, {self._data.waiting} waiting>"

    @override
    def make_link(self, purpose: int) -> Link:
        """The connection for a purpose that had none."""
        link = Link(self, self._connections, purpose)
        self.links[purpose] = link
        return link

    @property
    def _made_links(self) -> list[Link]:
        return [link for link in self.links if link is not None]

    # -- the connection for data ------------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection | None:
        """The connection for data; None while there is none."""
        return self._data.connection

    @property
    def versions(self) -> Versions | None:
        """The versions that the broker offers on it; None before the first connection."""
        return self._data.versions

    @property
    def state(self) -> str:
        """One of those of a link."""
        return self._data.state

    @property
    def load(self) -> int:
        """Requests waiting or in flight."""
        return self._data.load

    @property
    def heard_at(self) -> float:
        """When bytes last came over any of its connections; 0 if none is ready."""
        return max(
            (link.connection.received_at for link in self._made_links if link.connection is not None), default=0.0
        )

    def load_of(self, purpose: int) -> int:
        """Requests waiting or in flight on the connection for a purpose."""
        link: Link | None = self.links[purpose]
        return link.load if link is not None else 0

    def is_silent(self, now: float) -> bool:
        """Whether it seems to hang: a request on the connection for data is not answered."""
        return self._data.is_silent(now)

    def was_lost_of_late(self, now: float) -> bool:
        """Whether it was reached once and cannot be, for no longer than an election takes."""
        return self.outage.reached and self.outage.is_known and self.outage.lasted(now) < ELECTION_WITHIN_S

    def is_put_off(self, now: float) -> bool:
        """Whether it was lost of late, and is not tried again until some wait has ended."""
        waits = any(link.state == BACKING_OFF and link.refusal is None for link in self._made_links)
        return waits and self.was_lost_of_late(now)

    @property
    def failures(self) -> int:
        """Attempts in a row that failed."""
        return self._data.failures

    def connect(self, now: float) -> None:
        """Begins to connect, unless that has begun, or is done, or has to wait after a failure."""
        self._data.connect(now)

    # -- words ------------------------------------------------------------------------------------------------------

    @property
    def who(self) -> str:
        """The broker in words."""
        return f"broker {self.node_id} ({self.address})" if self.node_id >= 0 else f"the broker at {self.address}"

    @property
    def last_error(self) -> KafkaError | None:
        """The last error of a connection that is not ready."""
        return next((link.last_error for link in self._made_links if link.last_error is not None), None)

    @property
    def slowness(self) -> str:
        """What an attempt to connect that takes long waits for; "" if there is none."""
        return next((link.slowness for link in self._made_links if link.slowness), "")

    @property
    def refusal(self) -> AuthError | None:
        """Why one side refused the other, on the connection where that happened; None where it is tried again."""
        return next((link.refusal for link in self._made_links if link.refusal is not None), None)

    @property
    def progress(self) -> str:
        """The state, and the step that an attempt to connect is at."""
        step = self._data.step
        return f"{self.state}, at {step}" if step and self.state == NEGOTIATING else self.state

    @property
    def trouble(self) -> Cause:
        """Why there is no connection: the last error, or how far the first attempt is."""
        error = self.last_error
        if error is None and self.slowness:
            return Cause(self.slowness, "timeout")
        if error is None:
            step = f", at {self._data.step}" if self._data.step else ""
            return Cause("not tried yet" if self.state == IDLE else f"being connected{step}")
        return cause_at(self.address, error)

    # -- all connections --------------------------------------------------------------------------------------------

    def move(self, address: Address, now: float) -> None:
        """The broker is at another address now."""
        if address != self.address:
            self.drop(ConnectError(f"broker {self.node_id} moved from {self.address} to {address}"), now)
            self.address = address
            for link in self._made_links:
                link.connect_again(now)

    def drop(self, error: KafkaError, now: float) -> None:
        """Closes whatever is open or begun; requests that were written fail with `error`, others stay."""
        for link in self._made_links:
            link.drop(error, now)

    def is_receiving(self, purpose: int) -> bool:
        """Whether an answer comes in over the connection for a purpose."""
        link: Link | None = self.links[purpose]
        return link is not None and link.is_receiving

    def life(self, purpose: int) -> int:
        """Which of its lives the connection for a purpose is in; 0 while there is none."""
        link: Link | None = self.links[purpose]
        return link.life if link is not None else 0

    def hang_up(self, purpose: int, now: float) -> None:
        """Closes the connection for a purpose."""
        link: Link | None = self.links[purpose]
        if link is not None:
            link.hang_up(now)

    def fail_queue(self, error: KafkaError, now: float) -> None:
        """Fails every request that waits."""
        for link in self._made_links:
            link.fail_queue(error, now)

    def retry_refused(self, now: float) -> None:
        """Waits no longer for another attempt after a refusal than a user's call should."""
        for link in self._made_links:
            link.retry_refused(now)

    def reset(self) -> None:
        """Forgets connections, attempts and waiting requests, whatever state they are in."""
        for link in self._made_links:
            link.reset()

    # -- what links say ---------------------------------------------------------------------------------------------

    def link_is_ready(self, link: Link, versions: Versions, now: float) -> None:
        """A link got its connection."""
        self.was_old = versions.before_0_10
        if not link.is_doubted:
            self.outage.end(now)
        if link is self._data:
            self._owner.node_is_ready(self, now)

    def link_has_failed(self, link: Link, error: KafkaError, now: float) -> None:
        """An attempt to connect failed."""
        self.outage.begin(now)
        if isinstance(error, AuthError):
            self._warn_of(error, now)
        else:
            self._tell_of_trouble(now)
        if link is self._data:
            self._owner.node_has_failed(self, error, now)
        else:
            self._owner.node_is_lost(self, error, now)

    def link_is_slow(self, link: Link, now: float) -> None:
        """An attempt to connect takes long."""
        self.outage.begin(now - SLOW_AFTER_S)
        self._tell_of_trouble(now)
        if link is self._data:
            self._owner.node_is_slow(self, now)

    def link_is_lost(self, link: Link, error: KafkaError, now: float) -> None:
        """A connection that was ready ended."""
        if isinstance(error, AuthError):
            self._warn_of(error, now)
        self._owner.node_is_lost(self, error, now)

    def link_hangs(self, now: float) -> None:
        """A request has not been answered for longer than brokers take."""
        self._owner.node_hangs(now)

    def link_is_refused(self, now: float) -> None:
        """Something waits for a link that refuses this client."""
        self._owner.node_is_refused(self, now)

    def _tell_of_trouble(self, now: float) -> None:
        """Not of a bootstrap address, before its broker was reached: `Brokers` tells of those, all at once."""
        reason: str = self.trouble
        if self.outage.reached:
            self.outage.lasts(reason, self._connections.reconnect_backoff.longest, now)
        elif self.node_id >= 0:
            reason += "; the cluster gave this address to its clients (advertised.listeners)"
            self.outage.lasts(reason, self._connections.reconnect_backoff.longest, now)

    def _warn_of(self, error: AuthError, now: float) -> None:
        words = joined(": ", (error.step, error.message or error.reason))
        self.outage.refuses(words, self._connections.refusal_backoff, now)

    def link_may_connect(self, link: Link, now: float) -> None:
        """The backoff after a failure has ended."""
        if link is self._data:
            self._owner.node_may_connect(self, now)
