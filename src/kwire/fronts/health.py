"""How a client is, at a glance: its brokers, its group, what it reads, what waits, and the last error.

Layer 5, below the clients. Looks without the client's lock, from any thread, and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.errors.listing import first_of

if TYPE_CHECKING:
    from kwire.engine.connections.node import Node
    from kwire.engine.consumer.fetcher import Fetcher
    from kwire.engine.core import Core
    from kwire.engine.groups.membership import Membership
    from kwire.engine.share.membership import ShareMembership

_SHOWN = 5


class BrokerHealth(NamedTuple):
    """One broker that the client knows."""

    node_id: int | None
    """None while only its address is known."""
    address: str
    connected: bool
    seconds_since_contact: float | None
    """Since bytes last came over one of its connections; None without one."""
    error: KafkaError | None
    """Why there is no connection, where one was tried."""
    reachable: bool
    """As far as is known: False from a failed attempt to connect until one succeeds. An idle client tries none."""

    def __str__(self) -> str:
        who = self.address if self.node_id is None else f"broker {self.node_id} at {self.address}"
        if not self.connected:
            return f"{who}: not connected" + (f", {self.error}" if self.error is not None else "")
        contact = self.seconds_since_contact
        return f"{who}: connected" + (f", heard from {contact:.1f} s ago" if contact is not None else "")


class GroupHealth(NamedTuple):
    """The client's part in its group."""

    group_id: str
    state: str
    member_id: str
    """Empty outside the group."""
    generation: int
    """Of the group, or the member's epoch; below 0 outside the group."""

    def __str__(self) -> str:
        member = f", member {self.member_id}, generation {self.generation}" if self.member_id else ""
        return f"{self.group_id!r}: {self.state}{member}"


class Health(NamedTuple):
    """How a client is. `repr()` is for people."""

    kind: str
    brokers: tuple[BrokerHealth, ...]
    group: GroupHealth | None
    assigned: tuple[TopicPartition, ...]
    lag: dict[TopicPartition, int]
    """Of the assigned partitions where it is known: offsets from what polls returned to the end of the log."""
    buffered_bytes: int
    """Of a producer: of records that are not delivered; of a consumer: of records that were fetched."""
    last_error: KafkaError | None
    """The last one that the client met, even if it got over it."""
    seconds_since_error: float | None

    @property
    def connected(self) -> int:
        """How many brokers are connected."""
        return sum(broker.connected for broker in self.brokers)

    @property
    def reachable(self) -> bool:
        """Whether any broker is, as far as is known: True, too, of a client that was not used yet, or is idle."""
        return not self.brokers or any(broker.reachable for broker in self.brokers)

    @override
    def __repr__(self) -> str:
        return "\n  ".join([f"<Health of a {self.kind}", *self._lines()]) + ">"

    def _repr_html_(self) -> str:
        from kwire._html import of_fields

        return of_fields(f"health of a {self.kind}", list(zip(self._fields, self, strict=True))[1:])

    def _lines(self) -> Iterable[str]:
        yield f"brokers: {self.connected} of {len(self.brokers)} connected"
        yield from (f"  {broker}" for broker in self.brokers)
        if self.group is not None:
            yield f"group {self.group}"
        if self.assigned:
            known = f", lag {sum(self.lag.values())}" if self.lag else ""
            yield f"assigned: {first_of([str(tp) for tp in self.assigned], _SHOWN)}{known}"
        yield f"buffered: {self.buffered_bytes} bytes"
        if self.last_error is not None:
            yield f"last error, {self.seconds_since_error:.1f} s ago: {self.last_error}"


class Parts(NamedTuple):
    """What only some kinds of clients have."""

    group: GroupHealth | None
    assigned: tuple[TopicPartition, ...]
    lag: dict[TopicPartition, int]
    buffered_bytes: int


def without_partitions(buffered_bytes: int = 0) -> Parts:
    """Of a client that reads no partitions."""
    return Parts(None, (), {}, buffered_bytes)


def of_client(kind: str, core: Core, parts: Parts, now: float) -> Health:
    """Puts it together."""
    trouble = core.last_trouble
    return Health(
        kind,
        tuple(_broker(node, now) for node in list(core._nodes.values())),
        *parts,
        last_error=None if trouble is None else trouble.error,
        seconds_since_error=None if trouble is None else max(now - trouble.at, 0.0),
    )


def _broker(node: Node, now: float) -> BrokerHealth:
    heard_at = node.heard_at
    connected = node.connection is not None
    return BrokerHealth(
        node.node_id if node.node_id >= 0 else None,
        str(node.address),
        connected,
        max(now - heard_at, 0.0) if heard_at else None,
        None if connected else node.last_error,
        not node.outage.is_known if node.outage.reached else node.last_error is None,
    )


def of_consumer(fetcher: Fetcher, membership: Membership | None) -> Parts:
    """What a consumer has."""
    states = dict(fetcher.subscription.states)
    return Parts(
        None if membership is None else group_of(membership),
        tuple(sorted(states)),
        {tp: lag for tp, state in states.items() if (lag := state.lag) is not None},
        sum(state.buffered_bytes for state in states.values()),
    )


def of_share_consumer(membership: ShareMembership) -> Parts:
    """What a share consumer has."""
    return Parts(group_of(membership), tuple(sorted(membership.assigned.copy().values())), {}, 0)


def group_of(membership: Membership | ShareMembership) -> GroupHealth:
    """The part in the group."""
    member_id, generation = membership.who()
    return GroupHealth(membership.group_id, membership.state, member_id, generation)
