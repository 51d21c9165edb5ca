"""What a call of `Admin` about groups asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kwire._typing import TYPE_CHECKING, Any, NamedTuple
from kwire.engine.admin.a13_leave_group import MemberToRemove, RemoveMembers
from kwire.engine.admin.a15_describe_groups import DescribeClassicGroups, DescribeGroups
from kwire.engine.admin.a16_list_groups import ListGroups
from kwire.engine.admin.a42_delete_groups import DeleteGroups
from kwire.engine.admin.a69_consumer_group_describe import DescribeConsumerGroups
from kwire.engine.admin.calls import Question, describe_topics, ends_of
from kwire.engine.admin.group_arguments import group_id, group_ids, names, offsets_found, offsets_wanted
from kwire.engine.admin.group_offsets import AlterGroupOffsets, DeleteGroupOffsets, ListGroupOffsets
from kwire.engine.admin.group_results import GroupDescription, GroupListing, MemberDescription
from kwire.engine.calls import arguments
from kwire.engine.calls.offsets import LATEST, OffsetAndMetadata
from kwire.engine.calls.refusals import all_of
from kwire.engine.calls.words import word_in
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.notebooks import RowsByKey
from kwire.engine.groups.committable import committable
from kwire.errors import BrokerError, ConfigError, KafkaError
from kwire.errors.broker import GroupIdNotFoundError, UnsupportedVersionError

if TYPE_CHECKING:
    from kwire.engine.admin.group_arguments import Names, OffsetsWanted, Partitions
    from kwire.engine.admin.inquiry import Inquiry
    from kwire.engine.common.waits import Wait

    AnyMember = str | MemberToRemove | MemberDescription | Mapping[str, Any]
    MembersToRemove = Iterable[AnyMember] | None
    Finish = Callable[[Mapping[str, Any]], Any]

_OF_CONSUMERS = ("consumer", "")
_TYPES_OF_CONSUMERS = ("Classic", "Consumer")
_TYPES = (*_TYPES_OF_CONSUMERS, "Share", "Streams")
_STATES = (
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "NotReady",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
)
_MEMBERS_WANTED = "expected group_instance_ids, MemberToRemove(member_id=...) or members of a description"


class Progress(NamedTuple):
    """What a group has committed in a partition, None for nothing, and where that ends."""

    committed: OffsetAndMetadata | None
    end: int

    @property
    def lag(self) -> int | None:
        """How many offsets are between both."""
        return None if self.committed is None else max(self.end - self.committed.offset, 0)


def list_groups(states: Names, types: Names, protocol_types: Names) -> Question[list[GroupListing]]:
    """`Admin.list_groups`."""
    wanted = [] if protocol_types is None else names(protocol_types, "protocol_types", _protocol_type)
    api = ListGroups(
        states=_known(states, "states", _STATES), types=_known(types, "types", _TYPES), protocol_types=wanted
    )
    return Question(api, list)


def list_consumer_groups(states: Names, types: Names) -> Question[list[GroupListing]]:
    """`Admin.list_consumer_groups`: those of consumers, and those that only have offsets."""
    api = ListGroups(
        states=_known(states, "states", _STATES),
        types=_known(types, "types", _TYPES_OF_CONSUMERS) or _TYPES_OF_CONSUMERS,
        protocol_types=_OF_CONSUMERS,
    )
    return Question(api, list)


def describe_groups(
    inquiry: Inquiry, groups: Iterable[str], *, operations: bool = False
) -> Wait[dict[str, GroupDescription]]:
    """`Admin.describe_consumer_groups`: as classic groups, then those that are none as groups of the new protocol."""
    ids = group_ids(groups)
    arguments.flag(operations, "include_authorized_operations")
    api = DescribeGroups(ids, operations=operations) if ids else None
    found, error = yield from _outcome(inquiry, Question(api, dict))
    left = [name for name, description in found.items() if description is None]
    rest = DescribeConsumerGroups(left, operations=operations) if left else None
    others, other_error = yield from _outcome(inquiry, Question(rest, dict))
    known = {name: found.get(name) or others.get(name) for name in ids}
    described = RowsByKey({name: description for name, description in known.items() if description is not None})
    if error is not None and other_error is not None:
        failed = {**error.failures, **other_error.failures}
        raise all_of({name: failed[name] for name in ids if name in failed}, described)
    error = error or other_error
    if error is None:
        return described
    error.results = described
    raise error


def _outcome(inquiry: Inquiry, question: Question[dict[str, Any]]) -> Wait[tuple[Mapping[str, Any], KafkaError | None]]:
    """The results, and the error of those groups that have none; one that is of no group is raised."""
    try:
        return (yield from inquiry.ask(question)), None
    except KafkaError as error:
        if not error.failures:
            raise
        return error.results, error


def describe_classic_groups(groups: Iterable[str], *, operations: bool) -> Question[dict[str, GroupDescription]]:
    """`Admin.describe_classic_groups`."""
    ids = group_ids(groups)
    arguments.flag(operations, "include_authorized_operations")
    return Question(DescribeClassicGroups(ids, operations=operations) if ids else None, dict)


def delete_groups(groups: Iterable[str]) -> Question[None]:
    """`Admin.delete_consumer_groups`, and of groups of the other types."""
    ids = group_ids(groups)
    return Question(DeleteGroups(ids) if ids else None, lambda found: None)


def list_offsets(
    group: str, *, stable: bool, partitions: Sequence[TopicPartition] | None = None
) -> Question[dict[TopicPartition, OffsetAndMetadata]]:
    """What one group has committed."""
    name = group_id(group)
    return Question(ListGroupOffsets({name: partitions}, stable=stable), lambda found: dict(found[name]))


def list_offsets_of(inquiry: Inquiry, groups: OffsetsWanted, partitions: Partitions, *, stable: bool) -> Wait[Any]:
    """`Admin.list_consumer_group_offsets`: of one group its offsets, of several a dict of those of each. In partitions
    that were named, None where nothing is committed."""
    wanted = offsets_wanted(groups, partitions)
    arguments.flag(stable, "require_stable")
    return (yield from _committed(inquiry, wanted, offsets_found(groups, wanted), stable=stable))


def _committed(
    inquiry: Inquiry, wanted: Mapping[str, Sequence[TopicPartition] | None], finish: Finish, *, stable: bool
) -> Wait[Any]:
    """What the groups have committed in these partitions, None: in any. Brokers before Kafka 0.10.2 have to be told in
    which."""
    try:
        return (yield from inquiry.ask(Question(ListGroupOffsets(wanted, stable=stable) if wanted else None, finish)))
    except UnsupportedVersionError:
        if None not in wanted.values():
            raise
    topics = yield from inquiry.ask(describe_topics(None))
    anywhere = [TopicPartition(name, number) for name, info in topics.items() for number in info.partitions]
    named = {group: anywhere if partitions is None else partitions for group, partitions in wanted.items()}
    return (yield from inquiry.ask(Question(ListGroupOffsets(named, stable=stable), finish)))


def alter_offsets(group: str, offsets: Mapping[Any, int | OffsetAndMetadata]) -> Question[None]:
    """`Admin.alter_consumer_group_offsets`."""
    if not isinstance(offsets, Mapping):
        raise ConfigError(f"offsets={offsets!r}: expected a mapping {{(topic, partition): offset}}")
    rows = committable(offsets, "offsets")
    return Question(AlterGroupOffsets(group_id(group), rows) if rows else None, lambda found: None)


def delete_offsets(group: str, partitions: Iterable[tuple[str, int]]) -> Question[None]:
    """`Admin.delete_consumer_group_offsets`."""
    wanted = arguments.partitions(arguments.to_delete(partitions, "partitions"))
    return Question(DeleteGroupOffsets(group_id(group), wanted) if wanted else None, lambda found: None)


def remove_members(inquiry: Inquiry, group: str, members: MembersToRemove, reason: str) -> Wait[None]:
    """`Admin.remove_members_from_consumer_group`; None: all members that the group has."""
    name = group_id(group)
    if not isinstance(reason, str) or not reason:
        raise ConfigError(f"reason={reason!r}: expected a text for the broker's log")
    arguments.carried(reason, "reason")
    if members is None:
        described = yield from describe_groups(inquiry, [name])
        members = described[name].members
    wanted = _members(members)
    if wanted:
        yield from _remove(inquiry, name, wanted, reason)


def _remove(inquiry: Inquiry, group: str, members: Sequence[MemberToRemove], reason: str) -> Wait[None]:
    try:
        yield from inquiry.ask(Question(RemoveMembers(group, members, reason), lambda found: None))
    except UnsupportedVersionError:
        if len(members) == 1 or any(member.group_instance_id for member in members):
            raise
    else:
        return
    failed: dict[str, KafkaError] = {}
    for member in members:
        try:
            yield from _remove(inquiry, group, [member], reason)
        except BrokerError as error:
            failed[member.name] = error
    if failed:
        raise all_of(failed)


def lag(inquiry: Inquiry, group: str, *, stable: bool) -> Wait[dict[TopicPartition, int | None]]:
    """`Admin.lag`."""
    found = yield from progress(inquiry, group, stable=stable)
    return RowsByKey({tp: row.lag for tp, row in found.items()}, "lag")


def progress(inquiry: Inquiry, group: str, *, stable: bool) -> Wait[dict[TopicPartition, Progress]]:
    """How far the group is, in every partition of the topics that it has committed in or that its members read."""
    ask = inquiry.ask
    arguments.flag(stable, "require_stable")
    name = group_id(group)
    committed = yield from _committed(inquiry, {name: None}, lambda found: dict(found[name]), stable=stable)
    try:
        described = yield from describe_groups(inquiry, [group])
        assigned = {tp for member in described[group].members for tp in member.assignment}
        exists = True
    except GroupIdNotFoundError:
        assigned, exists = set(), False
    except UnsupportedVersionError:  # before Kafka 0.9 there are offsets of groups, and no groups
        assigned, exists = set(), True
    wanted = {tp.topic for tp in (*committed, *assigned)}
    topics = (yield from ask(describe_topics(sorted(wanted) or None))) if wanted or exists else {}
    others = {
        TopicPartition(name, number)
        for name, info in topics.items()
        if not info.is_internal or name in wanted
        for number in info.partitions
    }
    missing = sorted((others | assigned) - committed.keys())
    rest = list_offsets(group, stable=stable, partitions=missing) if missing else None
    late: dict[TopicPartition, OffsetAndMetadata] = {} if rest is None else (yield from ask(rest))
    known: dict[TopicPartition, OffsetAndMetadata | None] = {**(dict.fromkeys(missing) if wanted else {}), **committed}
    known.update(late)
    ends = yield from ask(ends_of(known, LATEST, isolation_level="read_uncommitted"))
    return {tp: Progress(known[tp], ends[tp]) for tp in sorted(known)}


def _known(given: Names, name: str, known: Sequence[str]) -> list[str]:
    """Names of states or types as brokers write them."""

    def named(each: object) -> str:
        found = word_in(each, known)
        if found is None:
            raise ConfigError(f"{name}: {each!r} is not one of {', '.join(known)}")
        return found

    return [] if given is None else names(given, name, named)


def _protocol_type(given: object) -> str:
    if not isinstance(given, str):
        raise ConfigError(f"protocol_types: {given!r} is not a str, such as 'consumer' or 'connect'")
    return given


def _members(given: object) -> list[MemberToRemove]:
    if isinstance(given, str | MemberToRemove | MemberDescription | Mapping):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ConfigError(f"members={given!r}: {_MEMBERS_WANTED}, or None for all")
    return list(dict.fromkeys(map(_member, given)))


def _member(given: object) -> MemberToRemove:
    if isinstance(given, MemberDescription):
        return _by_either(given.group_instance_id, given.member_id)
    if isinstance(given, str):
        given = MemberToRemove(given)
    elif isinstance(given, Mapping) and given.keys() <= set(MemberToRemove._fields):
        given = MemberToRemove(**given)
    if not isinstance(given, MemberToRemove):
        raise ConfigError(f"members: {given!r}: {_MEMBERS_WANTED}")
    instance, member_id = given
    if not (instance is None or isinstance(instance, str)) or not isinstance(member_id, str):
        raise ConfigError(f"members: {given!r}: {_MEMBERS_WANTED}")
    if not given.name:
        raise ConfigError(f"members: {given!r} names no member")
    for part in filter(None, given):
        arguments.checked_name(part, "one of members")
    return given


def _by_either(instance: str | None, member_id: str) -> MemberToRemove:
    """A static member is named by its instance alone: its member id may change meanwhile."""
    return MemberToRemove(instance) if instance else MemberToRemove(member_id=member_id)
