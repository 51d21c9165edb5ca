"""ConsumerGroupDescribe: groups of the new protocol (KIP-848), each asked of its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.group_results import GroupDescription, MemberDescription
from kwire.engine.admin.groups_api import GroupsApi
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import BrokerError, KafkaError
from kwire.schema.api_keys import CONSUMER_GROUP_DESCRIBE
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.ConsumerGroupDescribeResponse.DescribedGroup
    Member = protocol.ConsumerGroupDescribeResponse.DescribedGroup.Member
    Assignment = protocol.ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment


class DescribeConsumerGroups(GroupsApi[GroupDescription]):
    """{group id: GroupDescription}. Where the broker has no such groups, the error says that there is no such group."""

    api_key = CONSUMER_GROUP_DESCRIBE

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.ConsumerGroupDescribeRequest:
        return protocol.ConsumerGroupDescribeRequest(group_ids=list(keys))

    @override
    def result(
        self, keys: Sequence[str], response: protocol.ConsumerGroupDescribeResponse, version: int
    ) -> Mapping[str, GroupDescription | KafkaError]:
        return {row.group_id: _described(row) for row in response.groups}

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        if isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION:
            return errors.broker.error_for(GROUP_ID_NOT_FOUND, f"groups {', '.join(self._groups)}")
        return error


def _described(row: Row) -> GroupDescription | KafkaError:
    if row.error_code:
        text = f"group {row.group_id!r}" + (f": {row.error_message}" if row.error_message else "")
        return errors.broker.error_for(row.error_code, text)
    members = tuple(_member(member) for member in row.members)
    return GroupDescription(
        row.group_id, "Consumer", row.group_state, "consumer", row.assignor_name, members, row.group_epoch
    )


def _member(row: Member) -> MemberDescription:
    return MemberDescription(
        row.member_id,
        row.instance_id,
        row.client_id,
        row.client_host,
        _partitions(row.assignment),
        _partitions(row.target_assignment),
        row.member_epoch,
    )


def _partitions(assignment: Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )
