"""A broker that stores the offsets of a group, and a consumer's engine that commits them, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwire import protocol
from kwire.engine.calls.calls import Call
from kwire.engine.calls.lookup import GROUP
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.coordinator import Coordinator
from kwire.engine.groups.group_offsets import GroupOffsets
from kwire.engine.groups.membership import GroupMetadata, Membership
from kwire.schema.api_keys import FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH
from kwire.schema.error_codes import NOT_COORDINATOR, UNKNOWN_TOPIC_OR_PARTITION
from tests.engine.consumer.test_fetcher import TOPIC_ID, LogBroker, Reading

T = [TopicPartition("t", number) for number in range(4)]
Refuse = Callable[[int, Any], int]


class OffsetsBroker(LogBroker):
    """Coordinates the group "g": keeps what is committed, or answers with the codes that a test asks for.

    commits  (version, member, {partition: offset}) of each OffsetCommit
    refuse   (partition, message) -> error code of a commit; `hide` the same of a fetch
    """

    def __init__(self, release: str = "4.4.0", **more: Any) -> None:
        super().__init__(release, **more)
        self.topics = {"t": [self.node_id] * 4}
        self.offsets: dict[int, tuple[int, str, int]] = {}
        self.commits: list[tuple[int, GroupMetadata, dict[int, int]]] = []
        self.fetched: list[tuple[int, Any]] = []
        self.refuse: Refuse = lambda partition, message: 0
        self.hide: Refuse = lambda partition, message: 0
        self.group_code = 0
        self.coordinator = self.node_id
        self.handlers |= {
            FIND_COORDINATOR: self.find_coordinator,
            OFFSET_COMMIT: self.commit,
            OFFSET_FETCH: self.fetch_offsets,
        }

    def find_coordinator(self, message: Any, version: int, now: float) -> Any:
        address = self.brokers[self.coordinator]
        place = {"node_id": self.coordinator, "host": address.host, "port": address.port}
        if version < 4:
            return protocol.FindCoordinatorResponse(**place)
        row = protocol.FindCoordinatorResponse.Coordinator
        return protocol.FindCoordinatorResponse(coordinators=[row(key="g", **place)])

    def commit(self, message: Any, version: int, now: float) -> Any:
        [topic] = message.topics
        assert (topic.topic_id == TOPIC_ID) if version >= 10 else (topic.name == "t")
        member = GroupMetadata(
            message.group_id,
            message.generation_id_or_member_epoch,
            message.member_id,
            message.group_instance_id,
        )
        self.commits.append((version, member, {row.partition_index: row.committed_offset for row in topic.partitions}))
        made = protocol.OffsetCommitResponse.OffsetCommitResponseTopic
        rows = [
            made.OffsetCommitResponsePartition(partition_index=row.partition_index, error_code=self.store(row, message))
            for row in topic.partitions
        ]
        return protocol.OffsetCommitResponse(topics=[made(name=topic.name, topic_id=topic.topic_id, partitions=rows)])

    def store(self, row: Any, message: Any) -> int:
        code = NOT_COORDINATOR if self.coordinator != self.node_id else self.refuse(row.partition_index, message)
        if code == 0:
            kept = (row.committed_offset, row.committed_metadata, row.committed_leader_epoch)
            self.offsets[row.partition_index] = kept
        return code

    def fetch_offsets(self, message: Any, version: int, now: float) -> Any:
        self.fetched.append((version, message))
        made = protocol.OffsetFetchResponse
        if version < 8:
            rows = [self.offset(number, version, message) for number in message.topics[0].partition_indexes]
            topic = made.OffsetFetchResponseTopic(name="t", partitions=rows)
            return made(topics=[topic], error_code=self.group_code)
        [asked] = message.groups
        group = made.OffsetFetchResponseGroup
        rows = [self.offset(number, version, message) for number in asked.topics[0].partition_indexes]
        row = group.OffsetFetchResponseTopics(name=asked.topics[0].name, topic_id=asked.topics[0].topic_id)
        row.partitions = rows
        return made(groups=[group(group_id="g", topics=[row], error_code=self.group_code)])

    def offset(self, partition: int, version: int, message: Any) -> Any:
        made: Any = protocol.OffsetFetchResponse
        if version < 8:
            made = made.OffsetFetchResponseTopic.OffsetFetchResponsePartition
        else:
            made = made.OffsetFetchResponseGroup.OffsetFetchResponseTopics.OffsetFetchResponsePartitions
        offset, metadata, epoch = self.offsets.get(partition, (-1, "", -1))
        code = self.hide(partition, message)
        if version == 0 and offset < 0:
            code = UNKNOWN_TOPIC_OR_PARTITION
        row = made(partition_index=partition, committed_offset=-1 if code else offset, metadata=metadata)
        if version >= 5:
            row.committed_leader_epoch = epoch
        row.error_code = code
        return row


class Member(Membership):
    """A membership as a test wants it."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.now_as = GroupMetadata("g", 3, "m", None)
        self.active = True
        self.told: list[int] = []

    @property
    def metadata(self) -> GroupMetadata:
        return self.now_as

    def refused(self, code: int, now: float) -> bool:
        self.told.append(code)
        return True


class Committing(Reading):
    """A fetcher in a group."""

    broker: OffsetsBroker

    def __init__(self, release: str = "4.4.0", broker: OffsetsBroker | None = None, **settings: Any) -> None:
        super().__init__(broker or OffsetsBroker(release), group_id="g", **settings)
        self.broker.offsets = self.broker.offsets
        core = self.world.core
        self.coordinator = Coordinator(core, GROUP, "g")
        self.member = Member(core, self.settings, self.coordinator, self.fetcher.subscription)
        self.warnings: list[str] = []
        self.offsets = GroupOffsets(
            core, self.settings, self.coordinator, self.fetcher.subscription, self.member, self.warnings.append
        )
        self.fetcher.begin_in_group(self.offsets.fetches)

    def start(self, rows: dict[TopicPartition, Any] | None = None, seconds: float = 10, **more: Any) -> Call:
        """Begins a commit; an int is an offset."""
        given = rows and {tp: OffsetAndMetadata(row) if isinstance(row, int) else row for tp, row in rows.items()}
        now = self.world.now
        return self.offsets.commit(given, now, now + seconds, **more)

    def end(self, *calls: Call) -> None:
        self.world.run(lambda: all(call.done for call in calls))

    def commit(self, rows: dict[TopicPartition, Any] | None = None, seconds: float = 10) -> None:
        """Commits; raises what it ended in."""
        call = self.start(rows, seconds)
        self.end(call)
        call.value()

    def committed(self, *partitions: TopicPartition, seconds: float = 10) -> Any:
        now = self.world.now
        call = self.offsets.committed(partitions, now, now + seconds)
        self.end(call)
        return call.value()

    def poll(self, most: int | None = None) -> int:
        """A poll that waits for records; returns how many."""
        self.fetcher.settle(finished=True)
        self.offsets.maybe_auto_commit(self.world.now)
        self.fetcher.pump_if_due(self.world.now)
        self.world.run(self.fetcher.has_something)
        taken = self.fetcher.take(most)
        self.fetcher.hand_out.arrived = True
        self.fetcher.pump_if_due(self.world.now)
        return sum(len(part) for _, part in taken)

    def call(self) -> None:
        """What any other method of a consumer does first."""
        self.fetcher.settle()

    def sent(self) -> list[dict[int, int]]:
        """What each OffsetCommit had."""
        return [rows for _, _, rows in self.broker.commits]
