"""ConsumerGroupDescribe: groups of the new protocol (KIP-848), each asked of its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.authorized_operations import names_in
from kwire.engine.admin.group_results import GroupDescription, MemberDescription
from kwire.engine.admin.groups_api import GroupsApi
from kwire.engine.calls.refusals import all_of
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import BrokerError, KafkaError
from kwire.schema.api_keys import CONSUMER_GROUP_DESCRIBE
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.ConsumerGroupDescribeResponse.DescribedGroup
    Member = protocol.ConsumerGroupDescribeResponse.DescribedGroup.Member
    Assignment = protocol.ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment

_UNKNOWN_TYPE, _CONSUMER = -1, 1


class DescribeConsumerGroups(GroupsApi[GroupDescription]):
    """{group id: GroupDescription}. Where the broker has no such groups, the error says that there is no such group."""

    api_key = CONSUMER_GROUP_DESCRIBE

    def __init__(self, groups: Sequence[str], *, operations: bool = False) -> None:
        super().__init__(groups)
        self._operations = operations

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.ConsumerGroupDescribeRequest:
        return protocol.ConsumerGroupDescribeRequest(
            group_ids=list(keys), include_authorized_operations=self._operations
        )

    @override
    def result(
        self, keys: Sequence[str], response: protocol.ConsumerGroupDescribeResponse, version: int
    ) -> Mapping[str, GroupDescription | KafkaError]:
        return by_key(((row.group_id, _described(row)) for row in response.groups), self.what)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        if not any(map(_is_too_old, error.failures.values())):
            return error
        return all_of(
            {
                name: errors.broker.error_for(GROUP_ID_NOT_FOUND, f"group {name!r}") if _is_too_old(each) else each
                for name, each in error.failures.items()
            }
        )


def _is_too_old(error: KafkaError) -> bool:
    return isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION


def _described(row: Row) -> GroupDescription | KafkaError:
    if row.error_code:
        text = f"group {row.group_id!r}" + (f": {row.error_message}" if row.error_message else "")
        return errors.broker.error_for(row.error_code, text)
    members = tuple(_member(member) for member in row.members)
    return GroupDescription(
        row.group_id,
        "Consumer",
        row.group_state,
        "consumer",
        row.assignor_name,
        members,
        row.group_epoch,
        row.assignment_epoch,
        names_in(row.authorized_operations),
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
        row.rack_id,
        None if row.member_type == _UNKNOWN_TYPE else row.member_type == _CONSUMER,
    )


def _partitions(assignment: Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )
