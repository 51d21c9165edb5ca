"""The assignors of one consumer: chosen by name or given, checked for what they have in common, and run on bytes.

Layer 3, no I/O. As in Java's consumer a member offers all of its assignors to the coordinator, which takes one that
every member offers. How the member rebalances is settled before: by the newest protocol that all its own assignors
know. So ("range", "cooperative-sticky") is eager, until all members run with it and "range" is dropped (KIP-429).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.blobs import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kwire.engine.groups.assignors.contract import (
    COOPERATIVE,
    EAGER,
    Assignment,
    Assignor,
    ClusterView,
    MemberSubscription,
)
from kwire.engine.groups.assignors.java_order import hash_order
from kwire.engine.groups.assignors.range import Range
from kwire.engine.groups.assignors.roundrobin import RoundRobin
from kwire.engine.groups.assignors.sticky import CooperativeSticky, Sticky
from kwire.errors import ConfigError, KafkaError

if TYPE_CHECKING:
    from kwire.engine.groups.assignors.members import Members

_SETTING = "partition_assignment_strategy"
_BY_NAME: dict[str, Callable[[], Assignor]] = {one.name: one for one in (Range, RoundRobin, Sticky, CooperativeSticky)}


MemberRows = Sequence[tuple[str, str | None, bytes]]
"""The members as JoinGroup shows them to the leader: id, group_instance_id, metadata."""


def assignors_of(strategy: object) -> Assignors:
    """The assignors that the setting names, one or several; raises ConfigError for what it cannot mean."""
    found: dict[str, Assignor] = {}
    for entry in strategy if isinstance(strategy, (tuple, list)) else [strategy]:
        assignor = _by_name(entry) if isinstance(entry, str) else _checked(entry)
        if assignor.name in found:
            raise ConfigError(f"{_SETTING}: the assignor {assignor.name!r} is listed twice")
        found[assignor.name] = assignor
    if not found:
        raise ConfigError(f"{_SETTING}: no assignor is given")
    return Assignors(found)


class Assignors:
    """The assignors of one consumer, in the order of preference."""

    def __init__(self, by_name: Mapping[str, Assignor]) -> None:
        self._by_name = by_name
        self.cooperative = _is_cooperative(by_name)
        self._read: tuple[object, dict[str, MemberSubscription]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, as they are sent to the coordinator."""
        return tuple(self._by_name)

    def metadata(
        self, topics: Iterable[str], owned: Sequence[TopicPartition], generation: int, rack: str | None
    ) -> list[tuple[str, bytes]]:
        """For JoinGroup: each assignor's name, and this member's subscription for it."""
        wanted = sorted(topics)
        said = MemberSubscription(wanted, None, owned, generation, rack or None)
        return [
            (name, encode_subscription(said._replace(user_data=_user_data(one, wanted))))
            for name, one in self._by_name.items()
        ]

    def subscribed_topics(self, rows: MemberRows) -> set[str]:
        """The topics that any of the members reads; the leader needs their metadata."""
        self._read = (rows, _subscriptions(rows))
        return {topic for subscription in self._read[1].values() for topic in subscription.topics}

    def assign(self, name: str, cluster: ClusterView, rows: MemberRows) -> dict[str, bytes]:
        """For the leader's SyncGroup: each member's assignment by the assignor that the coordinator chose."""
        is_read, self._read = self._read, None
        found = is_read[1] if is_read is not None and is_read[0] is rows else _subscriptions(rows)
        members = {member: found[member] for member in hash_order(found)}
        results = self._one(name).assign(cluster, members)
        assignments = {member: _assignment(results.get(member, ())) for member in members}
        if self.cooperative and name != "cooperative-sticky":
            _check_cooperative(name, members, assignments)
        return {member: encode_assignment(assignment) for member, assignment in assignments.items()}

    def assigned(self, name: str, data: bytes, generation: int) -> list[TopicPartition]:
        """What SyncGroup assigned to this member; its assignor is notified."""
        assignment = decode_assignment(data)
        notify = getattr(self._one(name), "on_assignment", None)
        if notify is not None:
            notify(assignment, generation)
        return list(assignment.partitions)

    def _one(self, name: str) -> Assignor:
        assignor = self._by_name.get(name)
        if assignor is None:
            raise KafkaError(
                f"the coordinator chose the assignor {name!r}; this member offered {', '.join(self.names)}"
            )
        return assignor


def _subscriptions(rows: MemberRows) -> dict[str, MemberSubscription]:
    return {member: decode_subscription(metadata, instance) for member, instance, metadata in rows}


def _by_name(name: str) -> Assignor:
    make = _BY_NAME.get(name)
    if make is None:
        raise ConfigError(
            f"{_SETTING}: {name!r} is not an assignor: {', '.join(_BY_NAME)}, or an object with `name` and `assign`"
        )
    return make()


def _checked(assignor: Any) -> Assignor:
    name = getattr(assignor, "name", None)
    if not isinstance(name, str) or not name or not callable(getattr(assignor, "assign", None)):
        raise ConfigError(f"{_SETTING}: {assignor!r} is neither a name nor an object with `name` and `assign`")
    return assignor  # type: ignore[no-any-return]


def _is_cooperative(by_name: Mapping[str, Assignor]) -> bool:
    common = {EAGER, COOPERATIVE}.intersection(*(getattr(one, "protocols", (EAGER,)) for one in by_name.values()))
    if not common:
        raise ConfigError(f"{_SETTING}: {', '.join(by_name)} have no rebalance protocol in common")
    return COOPERATIVE in common


def _user_data(assignor: Assignor, topics: Sequence[str]) -> bytes | None:
    ask = getattr(assignor, "user_data", None)
    return ask(topics) if ask is not None else None


def _assignment(result: Sequence[TopicPartition] | Assignment) -> Assignment:
    return result if isinstance(result, Assignment) else Assignment(result)


def _check_cooperative(name: str, members: Members, assignments: Mapping[str, Assignment]) -> None:
    """Refuses an assignment that moves a partition from one member to another in a single step."""
    added: set[TopicPartition] = set()
    revoked: set[TopicPartition] = set()
    for member, assignment in assignments.items():
        now, before = frozenset(assignment.partitions), frozenset(members[member].owned_partitions)
        added |= now - before
        revoked |= before - now
    if moved := sorted(added & revoked):
        raise KafkaError(
            f"the assignor {name!r} is cooperative and yet assigned {moved[0]}, and {len(moved) - 1} more, to another"
            " member than the one that still owns it"
        )
