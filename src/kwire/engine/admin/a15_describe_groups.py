"""DescribeGroups: classic groups, each asked of its coordinator. Layer 3, no I/O.

A group that is missing or not a classic one has no description here: None. Up to version 5 the coordinator calls it
Dead, from 6 on it answers GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.authorized_operations import names_in
from kwire.engine.admin.group_results import GroupDescription, MemberDescription
from kwire.engine.admin.groups_api import GroupsApi, explained
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import CodecError, KafkaError
from kwire.schema.api_keys import DESCRIBE_GROUPS
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeGroupsResponse.DescribedGroup
    Member = protocol.DescribeGroupsResponse.DescribedGroup.DescribedGroupMember

_DEAD = "Dead"
_OF_CONSUMERS = "consumer"
_VERSIONS_WITH_OPERATIONS = range(3, 7)


class DescribeGroups(GroupsApi[GroupDescription | None]):
    """{group id: GroupDescription}, None for one that is not a classic group; with `operations`, also what the client
    may do with each."""

    api_key = DESCRIBE_GROUPS

    def __init__(self, groups: Sequence[str], *, operations: bool = False) -> None:
        super().__init__(groups)
        self._operations = operations
        if operations:
            self.versions = _VERSIONS_WITH_OPERATIONS

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DescribeGroupsRequest:
        return protocol.DescribeGroupsRequest(groups=list(keys), include_authorized_operations=self._operations)

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DescribeGroupsResponse, version: int
    ) -> Mapping[str, GroupDescription | KafkaError | None]:
        return by_key(((row.group_id, _described(row)) for row in response.groups), self.what)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return explained(error, "include_authorized_operations needs Kafka 2.3 or newer") if self._operations else error


class DescribeClassicGroups(DescribeGroups):
    """The same, with an error for one that is not a classic group."""

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DescribeGroupsResponse, version: int
    ) -> Mapping[str, GroupDescription | KafkaError]:
        found = super().result(keys, response, version)
        return {name: described or _no_classic_group(name) for name, described in found.items()}


def _no_classic_group(name: str) -> KafkaError:
    return errors.broker.error_for(GROUP_ID_NOT_FOUND, f"group {name!r}: there is no classic group of that id")


def _described(row: Row) -> GroupDescription | KafkaError | None:
    if row.error_code == GROUP_ID_NOT_FOUND or (not row.error_code and row.group_state == _DEAD):
        return None
    if row.error_code:
        return errors.broker.error_for(row.error_code, f"DescribeGroups of {row.group_id!r}")
    try:
        members = tuple(_member(member, row.protocol_type) for member in row.members)
    except CodecError as error:  # a member may have said anything
        return error
    return GroupDescription(
        row.group_id,
        "Classic",
        row.group_state,
        row.protocol_type,
        row.protocol_data,
        members,
        authorized_operations=names_in(row.authorized_operations),
    )


def _member(row: Member, protocol_type: str) -> MemberDescription:
    assigned: tuple[TopicPartition, ...] = ()
    if row.member_assignment and protocol_type == _OF_CONSUMERS:
        from kwire.engine.groups.assignors.blobs import decode_assignment

        try:
            assigned = tuple(decode_assignment(bytes(row.member_assignment)).partitions)
        except CodecError as error:
            raise CodecError(f"the assignment of member {row.member_id!r} cannot be read: {error}") from None
    return MemberDescription(row.member_id, row.group_instance_id, row.client_id, row.client_host, assigned)
