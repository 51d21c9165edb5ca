"""Offsets of a group, listed, altered and deleted without being a member: OffsetFetch, OffsetCommit, OffsetDelete.

Layer 3, no I/O. Each is asked of the group's coordinator. Offsets of partitions that members read can be neither
altered nor deleted. Versions with topic ids are not asked for: the ids need not be known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, Any, Generic, TypeVar, override
from kwire.engine.calls.fan_out import NOT_LOOKED_AT, AdminApi
from kwire.engine.calls.lookup import GROUP, CoordinatorLookup
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.calls.refusals import all_of, name_of
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.membership import GroupMetadata
from kwire.engine.groups.offset_messages import codes_in, commit_request, fetch_request, group_code_in, offsets_in
from kwire.errors import KafkaError
from kwire.schema.api_keys import LEAVE_GROUP, OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH
from kwire.schema.error_codes import UNKNOWN_MEMBER_ID

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Offsets = dict[TopicPartition, OffsetAndMetadata]
Result = TypeVar("Result")

_VERSIONS_THAT_LIST_ALL = range(2, 10)
_VERSIONS_BY_NAME = range(1, 10)


class _OfGroup(AdminApi[str, Result], Generic[Result]):
    """One call about one group."""

    def __init__(self, what: str, group_id: str) -> None:
        self.what = f"{what} of group {group_id!r}"
        self.lookup = CoordinatorLookup(GROUP)
        self._member = GroupMetadata(group_id)

    @override
    def split(self, core: Services) -> Sequence[str]:
        return [self._member.group_id]

    @override
    def merge(self, results: Mapping[str, Result]) -> Result:
        return results[self._member.group_id]

    def _raise_all(self, codes: Mapping[Any, int], reasons: Mapping[int, str] = MappingProxyType({})) -> None:
        """Raises the errors by what they are about; one that says that the request had no effect is the first, to be
        asked again. `reasons` explain error codes."""
        failed = sorted((code not in NOT_LOOKED_AT, key, code) for key, code in codes.items() if code)
        if failed:
            raise all_of(
                {
                    key: errors.broker.error_for(code, f"{self.what}: {name_of(key)}{reasons.get(code, '')}")
                    for _, key, code in failed
                }
            )


class ListGroupOffsets(_OfGroup[Offsets]):
    """All offsets that the group has committed, or those in `partitions`; with `stable`, those of open transactions are
    waited for. A broker that is asked for all leaves out a partition whose first offset is in an open transaction."""

    api_key = OFFSET_FETCH
    versions = _VERSIONS_THAT_LIST_ALL
    retries_codes = True

    def __init__(self, group_id: str, *, stable: bool, partitions: Sequence[TopicPartition] | None = None) -> None:
        super().__init__("OffsetFetch", group_id)
        self._stable = stable
        self._partitions = partitions

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.OffsetFetchRequest:
        return fetch_request(self._partitions, self._member, core.cluster, version, require_stable=self._stable)

    @override
    def result(
        self, keys: Sequence[str], response: protocol.OffsetFetchResponse, version: int
    ) -> Mapping[str, Offsets | KafkaError]:
        code = group_code_in(response, version)
        if code:
            raise errors.broker.error_for(code, self.what)
        rows = offsets_in(response, {}, version)
        self._raise_all({tp: row.code for tp, row in rows.items()})
        return {keys[0]: {tp: row.committed for tp, row in sorted(rows.items()) if row.committed is not None}}


class AlterGroupOffsets(_OfGroup[None]):
    """Commits these in the group's place."""

    api_key = OFFSET_COMMIT
    versions = _VERSIONS_BY_NAME

    def __init__(self, group_id: str, offsets: Offsets) -> None:
        super().__init__("OffsetCommit", group_id)
        self._offsets = offsets

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.OffsetCommitRequest:
        return commit_request(self._offsets, self._member, core.cluster, version)

    @override
    def result(self, keys: Sequence[str], response: protocol.OffsetCommitResponse, version: int) -> Mapping[str, None]:
        self._raise_all(codes_in(response, {}), {UNKNOWN_MEMBER_ID: ": the group has members; stop them first"})
        return dict.fromkeys(keys)


class DeleteGroupOffsets(_OfGroup[None]):
    """Deletes what the group has committed in these partitions."""

    api_key = OFFSET_DELETE

    def __init__(self, group_id: str, partitions: Sequence[TopicPartition]) -> None:
        super().__init__("OffsetDelete", group_id)
        self._partitions = partitions

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.OffsetDeleteRequest:
        made = protocol.OffsetDeleteRequest
        topic = made.OffsetDeleteRequestTopic
        topics: dict[str, list[Any]] = defaultdict(list)
        for tp in self._partitions:
            topics[tp.topic].append(topic.OffsetDeleteRequestPartition(partition_index=tp.partition))
        rows = [topic(name=name, partitions=partitions) for name, partitions in topics.items()]
        return made(group_id=self._member.group_id, topics=rows)

    @override
    def result(self, keys: Sequence[str], response: protocol.OffsetDeleteResponse, version: int) -> Mapping[str, None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, self.what)
        self._raise_all(
            {
                TopicPartition(topic.name, row.partition_index): row.error_code
                for topic in response.topics
                for row in topic.partitions
            }
        )
        return dict.fromkeys(keys)


class RemoveMembers(_OfGroup[None]):
    """Puts static members out of the group, by their group_instance_ids."""

    api_key = LEAVE_GROUP
    versions = range(3, 6)

    def __init__(self, group_id: str, instances: Sequence[str]) -> None:
        super().__init__("LeaveGroup", group_id)
        self._instances = instances

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.LeaveGroupRequest:
        member = protocol.LeaveGroupRequest.MemberIdentity
        reason = "removed by an administrator"
        return protocol.LeaveGroupRequest(
            group_id=self._member.group_id,
            members=[member(group_instance_id=instance, reason=reason) for instance in self._instances],
        )

    @override
    def result(self, keys: Sequence[str], response: protocol.LeaveGroupResponse, version: int) -> Mapping[str, None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, self.what)
        self._raise_all({row.group_instance_id or row.member_id: row.error_code for row in response.members})
        return dict.fromkeys(keys)
