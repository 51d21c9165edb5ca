"""DescribeGroups: classic groups, each asked of its coordinator. Layer 3, no I/O.

A group that is missing or not a classic one has no description here: None. Up to version 5 the coordinator calls it
Dead, from 6 on it answers GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.group_results import GroupDescription, MemberDescription
from kwire.engine.admin.groups_api import GroupsApi
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.api_keys import DESCRIBE_GROUPS
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeGroupsResponse.DescribedGroup
    Member = protocol.DescribeGroupsResponse.DescribedGroup.DescribedGroupMember

_DEAD = "Dead"
_OF_CONSUMERS = "consumer"


class DescribeGroups(GroupsApi[GroupDescription | None]):
    """{group id: GroupDescription}, None for one that is not a classic group."""

    api_key = DESCRIBE_GROUPS

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DescribeGroupsRequest:
        return protocol.DescribeGroupsRequest(groups=list(keys))

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DescribeGroupsResponse, version: int
    ) -> Mapping[str, GroupDescription | KafkaError | None]:
        return {row.group_id: _described(row) for row in response.groups}


def _described(row: Row) -> GroupDescription | KafkaError | None:
    if row.error_code == GROUP_ID_NOT_FOUND or (not row.error_code and row.group_state == _DEAD):
        return None
    if row.error_code:
        return errors.broker.error_for(row.error_code, f"DescribeGroups of {row.group_id!r}")
    members = tuple(_member(member, row.protocol_type) for member in row.members)
    return GroupDescription(row.group_id, "Classic", row.group_state, row.protocol_type, row.protocol_data, members)


def _member(row: Member, protocol_type: str) -> MemberDescription:
    assigned: tuple[TopicPartition, ...] = ()
    if row.member_assignment and protocol_type == _OF_CONSUMERS:
        from kwire.engine.groups.assignors.blobs import decode_assignment

        assigned = tuple(decode_assignment(bytes(row.member_assignment)).partitions)
    return MemberDescription(row.member_id, row.group_instance_id, row.client_id, row.client_host, assigned)
