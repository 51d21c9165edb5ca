"""Offsets of a group, listed, altered and deleted without being a member: OffsetFetch, OffsetCommit, OffsetDelete.

Layer 3, no I/O. Each is asked of the group's coordinator. Offsets of partitions that members read can be neither
altered nor deleted. Versions with topic ids are not asked for: the ids need not be known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.admin.groups_api import GroupApi, GroupsApi, error_of
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.membership import GroupMetadata
from kwire.engine.groups.offset_messages import (
    CommitRequest,
    codes_in,
    fetch_request,
    group_code_in,
    is_about,
    rows_in,
)
from kwire.errors import KafkaError
from kwire.schema.api_keys import OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH
from kwire.schema.error_codes import UNKNOWN_MEMBER_ID

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Offsets = dict[TopicPartition, OffsetAndMetadata]

_VERSIONS_THAT_LIST_ALL = range(2, 10)
_VERSIONS_BY_NAME = range(1, 10)
_HAS_MEMBERS = "the group has members; stop them first"


class ListGroupOffsets(GroupsApi[Offsets]):
    """What each group has committed in the partitions `wanted` of it, None: in all; with `stable`, offsets of open
    transactions are waited for. A broker that is asked for all leaves out a partition whose first offset is in an open
    transaction."""

    api_key = OFFSET_FETCH
    retries_codes = True
    asks_one_by_one = True

    def __init__(self, wanted: Mapping[str, Sequence[TopicPartition] | None], *, stable: bool) -> None:
        super().__init__(list(wanted))
        self._wanted = wanted
        self._stable = stable
        self.versions = _VERSIONS_THAT_LIST_ALL if None in wanted.values() else _VERSIONS_BY_NAME

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.OffsetFetchRequest:
        member, partitions = GroupMetadata(keys[0]), self._wanted[keys[0]]
        return fetch_request(partitions, member, core.cluster, version, require_stable=self._stable)

    @override
    def result(
        self, keys: Sequence[str], response: protocol.OffsetFetchResponse, version: int
    ) -> Mapping[str, Offsets | KafkaError]:
        found = _committed(keys[0], response, version)
        wanted = self._wanted[keys[0]] or ()
        if isinstance(found, KafkaError):
            return {keys[0]: found}
        if not is_about(keys[0], response, version) or not found.keys() >= set(wanted):
            return {}
        return {keys[0]: {tp: row for tp, row in found.items() if row is not None}}

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        """Of one group, its error has those of its partitions."""
        return error.failures.get(self._groups[0], error) if len(self._groups) == 1 else error


def _committed(
    group_id: str, response: protocol.OffsetFetchResponse, version: int
) -> dict[TopicPartition, OffsetAndMetadata | None] | KafkaError:
    """By partition; None where nothing is committed."""
    what = f"OffsetFetch of group {group_id!r}"
    code = group_code_in(response, version)
    if code:
        return errors.broker.error_for(code, what)
    rows = by_key(rows_in(response, {}, version), what)
    error = error_of(what, {tp: row if isinstance(row, KafkaError) else row.code for tp, row in rows.items()})
    if error is not None:
        return error
    return {tp: row.committed for tp, row in sorted(rows.items()) if not isinstance(row, KafkaError)}


class AlterGroupOffsets(GroupApi[None]):
    """Commits these in the group's place."""

    api_key = OFFSET_COMMIT
    versions = _VERSIONS_BY_NAME

    def __init__(self, group_id: str, offsets: Offsets) -> None:
        super().__init__(group_id)
        self._offsets = offsets

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.OffsetCommitRequest:
        return CommitRequest(self._offsets, GroupMetadata(self._group_id)).message(self._offsets, version)

    @override
    def result(self, keys: Sequence[str], response: protocol.OffsetCommitResponse, version: int) -> Mapping[str, None]:
        codes = by_key([(TopicPartition(*place), code) for place, code in codes_in(response, {})], self.what)
        self.raise_all(
            self._offsets, codes, {tp: _HAS_MEMBERS for tp, code in codes.items() if code == UNKNOWN_MEMBER_ID}
        )
        return dict.fromkeys(keys)


class DeleteGroupOffsets(GroupApi[None]):
    """Deletes what the group has committed in these partitions."""

    api_key = OFFSET_DELETE

    def __init__(self, group_id: str, partitions: Sequence[TopicPartition]) -> None:
        super().__init__(group_id)
        self._partitions = partitions

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.OffsetDeleteRequest:
        made = protocol.OffsetDeleteRequest
        topic = made.OffsetDeleteRequestTopic
        topics: dict[str, list[Any]] = defaultdict(list)
        for tp in self._partitions:
            topics[tp.topic].append(topic.OffsetDeleteRequestPartition(partition_index=tp.partition))
        rows = [topic(name=name, partitions=partitions) for name, partitions in topics.items()]
        return made(group_id=self._group_id, topics=rows)

    @override
    def result(self, keys: Sequence[str], response: protocol.OffsetDeleteResponse, version: int) -> Mapping[str, None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, self.what)
        self.raise_all(
            self._partitions,
            by_key(
                (
                    (TopicPartition(topic.name, row.partition_index), row.error_code)
                    for topic in response.topics
                    for row in topic.partitions
                ),
                self.what,
            ),
        )
        return dict.fromkeys(keys)
