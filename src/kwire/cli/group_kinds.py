"""Groups of every kind, as the verbs of `kwire groups` see them: Admin has calls for each kind."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.cli.partition_names import name_of
from kwire.errors import BrokerError

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.engine.common.addresses import TopicPartition

SHARE, STREAMS = "Share", "Streams"


class Member(NamedTuple):
    """A member, and what it reads: partitions, or tasks of Kafka Streams."""

    member_id: str
    client_id: str
    host: str
    reads: list[str]


class Group(NamedTuple):
    """One group, of whichever kind."""

    type: str
    state: str
    assignor: str
    members: list[Member]


def described(admin: Admin, names: Sequence[str]) -> Mapping[str, Group]:
    """Groups by their names. Raises the error of Admin.describe_consumer_groups for what is no group of any kind."""
    try:
        return {name: _group(found.type, found) for name, found in admin.describe_consumer_groups(names).items()}
    except BrokerError as error:
        kinds = _kinds(admin, error.failures)
        if not kinds:
            raise
    plain = [name for name in names if name not in kinds]
    groups = dict(described(admin, plain)) if plain else {}
    for kind, describe in ((SHARE, admin.describe_share_groups), (STREAMS, admin.describe_streams_groups)):
        of_kind = [name for name in names if kinds.get(name) == kind]
        groups |= {name: _group(kind, found) for name, found in describe(of_kind).items()} if of_kind else {}
    return groups


def progress(admin: Admin, group: str, kind: str) -> dict[TopicPartition, int]:
    """Where the group goes on in each partition that it has begun."""
    if kind == SHARE:
        shared = admin.list_share_group_offsets(group)
        return {tp: row.start_offset for tp, row in shared.items() if row is not None}
    return {tp: row.offset for tp, row in admin.list_consumer_group_offsets(group).items()}


def move(admin: Admin, group: str, kind: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Lets the group go on at these offsets."""
    if kind == SHARE:
        admin.alter_share_group_offsets(group, offsets)
    else:
        admin.alter_consumer_group_offsets(group, offsets)


def _kinds(admin: Admin, names: Container[str]) -> dict[str, str]:
    """The kinds of those that Admin.describe_consumer_groups does not know."""
    return {
        row.group_id: row.type for row in admin.list_groups() if row.group_id in names and row.type in (SHARE, STREAMS)
    }


def _group(kind: str, found: Any) -> Group:
    members = [
        Member(member.member_id, member.client_id, member.host, _reads(member.assignment)) for member in found.members
    ]
    return Group(kind, found.state, found.assignor, members)


def _reads(assignment: Any) -> list[str]:
    if hasattr(assignment, "active_tasks"):
        return list(map(str, sorted(assignment.active_tasks)))
    return list(map(name_of, sorted(assignment)))
