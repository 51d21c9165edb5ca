"""What a call of `Admin` about groups asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._typing import TYPE_CHECKING, Any, NamedTuple
from kwire.engine.admin.a15_describe_groups import DescribeGroups
from kwire.engine.admin.a16_list_groups import ListGroups
from kwire.engine.admin.a42_delete_groups import DeleteGroups
from kwire.engine.admin.a69_consumer_group_describe import DescribeConsumerGroups
from kwire.engine.admin.calls import Question, describe_topics, ends_of
from kwire.engine.admin.group_offsets import AlterGroupOffsets, DeleteGroupOffsets, ListGroupOffsets, RemoveMembers
from kwire.engine.admin.group_results import GroupDescription, GroupListing
from kwire.engine.calls import arguments
from kwire.engine.calls.offsets import LATEST, OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.committable import committable
from kwire.errors import ConfigError
from kwire.errors.broker import GroupIdNotFoundError

if TYPE_CHECKING:
    from kwire.engine.admin.asking import Asking
    from kwire.engine.common.waits import Wait

_OF_CONSUMERS = ("consumer", "")
_TYPES_OF_CONSUMERS = ("", "Classic", "Consumer")

Described = dict[str, GroupDescription | None]


class Progress(NamedTuple):
    """What a group has committed in a partition, None for nothing, and where that ends."""

    committed: OffsetAndMetadata | None
    end: int

    @property
    def lag(self) -> int | None:
        """How many offsets are between both."""
        return None if self.committed is None else max(self.end - self.committed.offset, 0)


def list_groups() -> Question[list[GroupListing]]:
    """`Admin.list_groups`."""
    return Question(ListGroups(), list)


def list_consumer_groups() -> Question[list[GroupListing]]:
    """`Admin.list_consumer_groups`: those of consumers, and those that only have offsets."""

    def of_consumers(found: list[GroupListing]) -> list[GroupListing]:
        return [row for row in found if row.protocol_type in _OF_CONSUMERS and row.type in _TYPES_OF_CONSUMERS]

    return Question(ListGroups(), of_consumers)


def describe_groups(asking: Asking, groups: Iterable[str]) -> Wait[dict[str, GroupDescription]]:
    """`Admin.describe_consumer_groups`: as classic groups, then those that are none as groups of the new protocol."""
    names = _ids(groups)
    found: Described = yield from asking.ask(Question(DescribeGroups(names) if names else None, dict))
    return (yield from asking.ask(_describe_others(found)))


def _describe_others(found: Described) -> Question[dict[str, GroupDescription]]:
    left = [name for name, description in found.items() if description is None]

    def all_of_them(others: Mapping[str, GroupDescription]) -> dict[str, GroupDescription]:
        return {name: description or others[name] for name, description in found.items()}

    return Question(DescribeConsumerGroups(left) if left else None, all_of_them)


def delete_groups(groups: Iterable[str]) -> Question[None]:
    """`Admin.delete_consumer_groups`."""
    names = _ids(groups)
    return Question(DeleteGroups(names) if names else None, lambda found: None)


def list_offsets(group: str, *, stable: bool) -> Question[dict[TopicPartition, OffsetAndMetadata]]:
    """`Admin.list_consumer_group_offsets`."""
    return Question(ListGroupOffsets(_id(group), stable=stable), dict)


def alter_offsets(group: str, offsets: Mapping[Any, int | OffsetAndMetadata]) -> Question[None]:
    """`Admin.alter_consumer_group_offsets`."""
    if not isinstance(offsets, Mapping):
        raise ConfigError(f"offsets={offsets!r}: expected a mapping {{(topic, partition): offset}}")
    rows = committable(offsets, "offsets")
    return Question(AlterGroupOffsets(_id(group), rows) if rows else None, lambda found: None)


def delete_offsets(group: str, partitions: Iterable[tuple[str, int]]) -> Question[None]:
    """`Admin.delete_consumer_group_offsets`."""
    wanted = arguments.partitions(partitions)
    return Question(DeleteGroupOffsets(_id(group), wanted) if wanted else None, lambda found: None)


def remove_members(group: str, instances: Iterable[str]) -> Question[None]:
    """`Admin.remove_members_from_consumer_group`."""
    names = _ids(instances, "members")
    return Question(RemoveMembers(_id(group), names) if names else None, lambda found: None)


def lag(asking: Asking, group: str, *, stable: bool) -> Wait[dict[TopicPartition, int | None]]:
    """`Admin.lag`."""
    found = yield from progress(asking, group, stable=stable)
    return {tp: row.lag for tp, row in found.items()}


def progress(asking: Asking, group: str, *, stable: bool) -> Wait[dict[TopicPartition, Progress]]:
    """How far the group is, in every partition of the topics that it has committed in or that its members read."""
    ask = asking.ask
    committed = yield from ask(list_offsets(group, stable=stable))
    try:
        described = yield from describe_groups(asking, [group])
        assigned = {tp for member in described[group].members for tp in member.assignment}
        exists = True
    except GroupIdNotFoundError:
        assigned, exists = set(), False
    wanted = {tp.topic for tp in (*committed, *assigned)}
    topics = (yield from ask(describe_topics(sorted(wanted) or None))) if wanted or exists else {}
    others = {
        TopicPartition(name, number)
        for name, info in topics.items()
        if not info.is_internal or name in wanted
        for number in info.partitions
    }
    missing = sorted((others | assigned) - committed.keys())
    rest = Question(ListGroupOffsets(_id(group), stable=stable, partitions=missing), dict) if missing else None
    late: dict[TopicPartition, OffsetAndMetadata] = {} if rest is None else (yield from ask(rest))
    known: dict[TopicPartition, OffsetAndMetadata | None] = {**(dict.fromkeys(missing) if wanted else {}), **committed}
    known.update(late)
    ends = yield from ask(ends_of(known, LATEST, isolation_level="read_uncommitted"))
    return {tp: Progress(known[tp], ends[tp]) for tp in sorted(known)}


def _id(group: object) -> str:
    if not isinstance(group, str) or not group:
        raise ConfigError(f"{group!r} is not a group id: expected a str")
    return group


def _ids(given: object, name: str = "groups") -> list[str]:
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ConfigError(f"{name}={given!r}: expected an iterable of str")
    return list(dict.fromkeys(_id(each) for each in given))
