"""ShareGroupDescribe: share groups (KIP-932), each asked of its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.authorized_operations import names_in
from kwire.engine.admin.groups_api import GroupsApi, share_groups_needed
from kwire.engine.admin.share_group_results import ShareGroupDescription, ShareMemberDescription
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.api_keys import SHARE_GROUP_DESCRIBE

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.ShareGroupDescribeResponse.DescribedGroup
    Member = protocol.ShareGroupDescribeResponse.DescribedGroup.Member


class DescribeShareGroups(GroupsApi[ShareGroupDescription]):
    """{group id: ShareGroupDescription}."""

    api_key = SHARE_GROUP_DESCRIBE

    def __init__(self, groups: Sequence[str], *, operations: bool) -> None:
        super().__init__(groups)
        self._operations = operations

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.ShareGroupDescribeRequest:
        return protocol.ShareGroupDescribeRequest(group_ids=list(keys), include_authorized_operations=self._operations)

    @override
    def result(
        self, keys: Sequence[str], response: protocol.ShareGroupDescribeResponse, version: int
    ) -> Mapping[str, ShareGroupDescription | KafkaError]:
        return by_key(((row.group_id, _described(row)) for row in response.groups), self.what)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return share_groups_needed(error)


def _described(row: Row) -> ShareGroupDescription | KafkaError:
    if row.error_code:
        text = f"share group {row.group_id!r}" + (f": {row.error_message}" if row.error_message else "")
        return errors.broker.error_for(row.error_code, text)
    return ShareGroupDescription(
        row.group_id,
        row.group_state,
        row.assignor_name,
        tuple(map(_member, row.members)),
        row.group_epoch,
        row.assignment_epoch,
        names_in(row.authorized_operations),
    )


def _member(row: Member) -> ShareMemberDescription:
    assigned = tuple(
        TopicPartition(topic.topic_name, number)
        for topic in row.assignment.topic_partitions
        for number in topic.partitions
    )
    return ShareMemberDescription(
        row.member_id,
        row.client_id,
        row.client_host,
        assigned,
        tuple(row.subscribed_topic_names),
        row.member_epoch,
        row.rack_id,
    )
