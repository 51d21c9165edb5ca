"""What the handler of an API takes, and what it returns: an answer, or a flow that waits before it answers.

Knows no frames and no sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar
from uuid import UUID

from kwire.errors import broker as codes
from kwire.testing.release import Release
from kwire.testing.state.authorizer import OPERATIONS_OF, THE_CLUSTER, TOPIC, refusal

if TYPE_CHECKING:
    from kwire.engine.common.addresses import Address
    from kwire.testing.cluster import ClusterState
    from kwire.testing.session import Session
    from kwire.testing.state.nodes import Node

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


@dataclass(slots=True)
class Throttle:
    """By how many milliseconds the client went over its quota."""

    ms: int = 0


@dataclass(frozen=True, slots=True)
class RequestContext(Generic[RequestT]):
    """One request: decoded, with its version and the state it is about. `now` is a monotonic clock in seconds.

    `node` is the id of the node that it was sent to, `client_id` what its header says, `session` the login of the
    connection that it came by. `throttle` grows with what the client is to be throttled for.
    """

    request: RequestT
    version: int
    cluster: ClusterState
    release: Release
    now: Callable[[], float]
    session: Session
    node: int = 1
    client_id: str = ""
    throttle: Throttle = field(default_factory=Throttle)

    @property
    def client_host(self) -> str:
        """The address of the client, as Kafka shows it in the descriptions of groups."""
        return f"/{self.session.host}"

    def address_of(self, node: Node) -> Address:
        """Where the client is told to find a node: by the listener that it came by itself."""
        return node.endpoints[self.session.listener].advertised

    @property
    def principal(self) -> str:
        """The user, as ACLs name them."""
        return f"User:{self.session.principal or 'ANONYMOUS'}"

    def allows(self, operation: int, resource_type: int, name: str = THE_CLUSTER) -> bool:
        """Whether the client may do this; the numbers are those of `authorizer.py`."""
        authorizer = self.cluster.authorizer
        if not authorizer.enabled and not authorizer.denials:
            return True
        return authorizer.allows(self.principal, self.session.host, operation, resource_type, name)

    def require(self, operation: int, resource_type: int, name: str = THE_CLUSTER) -> None:
        """Raises BrokerError (..._AUTHORIZATION_FAILED) when the client may not do this."""
        if not self.allows(operation, resource_type, name):
            raise refusal(resource_type, name)

    def require_topic(self, operation: int, name: str | None, topic_id: UUID) -> None:
        """The same of a topic by name or by id; of an unknown id nothing is said."""
        authorizer = self.cluster.authorizer
        if authorizer.enabled or authorizer.denials:
            known = self.cluster.topics_by_id.get(topic_id)
            if known is not None or name:
                self.require(operation, TOPIC, known.name if known is not None else str(name))

    def check_controller(self) -> None:
        """Raises BrokerError (NOT_CONTROLLER) where the release does not hand on what only the controller can do."""
        if self.node != self.cluster.nodes.controller and not self.release.is_kraft:
            raise codes.NOT_CONTROLLER(f"node {self.node} is not the controller")

    def charge(self, quota: str, amount: int) -> None:
        """Notes what the client used of a quota; it is throttled for what it used too much."""
        quotas = self.cluster.quotas
        if quotas.limits:
            user = self.session.principal or "ANONYMOUS"
            self.throttle.ms = max(self.throttle.ms, quotas.charge(quota, user, self.client_id, amount))

    def spend(self, quota: str, amount: int) -> None:
        """Notes the same; later requests are throttled for it."""
        quotas = self.cluster.quotas
        if quotas.limits:
            quotas.charge(quota, self.session.principal or "ANONYMOUS", self.client_id, amount)

    def operations(self, resource_type: int, name: str = THE_CLUSTER) -> int:
        """What the client may do, as the bits of "authorized operations" in answers."""
        return sum(1 << each for each in OPERATIONS_OF[resource_type] if self.allows(each, resource_type, name))


@dataclass(frozen=True, slots=True)
class Suspend:
    """Wait until the monotonic time `until`, or until one of `wakers` is touched (`ClusterState.wake`).

    It gives all that was touched, for a flow that looks at what it has to alone; None where that is not known.
    A flow that is not waited for any longer, because its connection is gone, is closed: `finally` runs.
    """

    until: float
    wakers: frozenset[Hashable] = frozenset()


Flow: TypeAlias = Generator[Suspend, frozenset[Hashable] | None, ResponseT]


class CloseConnectionError(Exception):
    """The connection is to be closed; the text goes to the log. It never leaves the broker."""
