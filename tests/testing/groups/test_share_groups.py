"""Share groups on the embedded broker: members, sessions, locks, delivery counts, acknowledgements, offsets."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from kwire import records
from kwire.errors import broker as codes
from kwire.protocol import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
    encode_request,
)
from kwire.testing.groups.share_partition import ACCEPT, GAP, REJECT, RELEASE, RENEW
from kwire.testing.records.record_sets import stored_entries
from tests.testing.groups.requests import commit, heartbeat, join
from tests.testing.groups.test_classic_groups import Group
from tests.testing.groups.test_consumer_groups import Member
from tests.testing.wire import batch, produce

LOCK_S = 30


class Shared(Group):
    """A broker with records 0 to 9 of "orders", in batches of five; the group "g" begins at the first."""

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        cluster = self.broker.cluster
        cluster.groups.configs.set("g", "share.auto.offset.reset", "earliest")
        self.topic_id = cluster.topics["orders"].topic_id
        self.produce(5)
        self.produce(5)

    def produce(self, count: int) -> None:
        answer = self.broker.ask(produce(batch(*[b"v"] * count), topic_id=self.topic_id), 13)
        assert answer.responses[0].partition_responses[0].error_code == 0


class Reader:
    """A member of the group that fetches partition 0 of "orders"."""

    def __init__(self, group: Shared, name: str) -> None:
        self.group, self.name, self.epoch = group, name, 0

    def request(self, *given: tuple[int, int, int | Sequence[int]], **fields: Any) -> ShareFetchRequest:
        asked = ShareFetchRequest.FetchTopic
        batches = [
            asked.FetchPartition.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=[kind] if isinstance(kind, int) else kind
            )
            for first, last, kind in given
        ]
        wanted = asked.FetchPartition(partition_index=0, acknowledgement_batches=batches)
        limits = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100, "batch_size": 100}
        return ShareFetchRequest(
            group_id="g",
            member_id=self.name,
            share_session_epoch=self.epoch,
            topics=[asked(topic_id=self.group.topic_id, partitions=[wanted])],
            **(limits | fields),
        )

    def fetch(self, *given: tuple[int, int, int | Sequence[int]], **fields: Any) -> Any:
        answer = self.group.ask(self.request(*given, **fields), 2)
        if not answer.error_code:
            self.epoch += 1
        return answer

    def acquired(self, *given: tuple[int, int, int], **fields: Any) -> list[tuple[int, int, int]]:
        """(first offset, last offset, delivery count) of what a fetch acquires."""
        rows = [row for topic in self.fetch(*given, **fields).responses for row in topic.partitions]
        assert all(not row.error_code and not row.acknowledge_error_code for row in rows)
        return [(a.first_offset, a.last_offset, a.delivery_count) for row in rows for a in row.acquired_records]

    def acknowledge(self, *given: tuple[int, int, int | Sequence[int]], **fields: Any) -> int:
        code: int = self.told(*given, **fields).error_code
        return code

    def told(self, *given: tuple[int, int, int | Sequence[int]], **fields: Any) -> Any:
        """What is said of acknowledgements, or of the whole request."""
        asked = ShareAcknowledgeRequest.AcknowledgeTopic
        batches = [
            asked.AcknowledgePartition.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=[kind] if isinstance(kind, int) else kind
            )
            for first, last, kind in given
        ]
        partition = asked.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        request = ShareAcknowledgeRequest(
            group_id="g",
            member_id=self.name,
            share_session_epoch=self.epoch,
            topics=[asked(topic_id=self.group.topic_id, partitions=[partition])],
            **fields,
        )
        answer = self.group.ask(request, 2)
        if answer.error_code:
            return answer
        self.epoch += 1
        return answer.responses[0].partitions[0]


def beat(group: Group, member: str, epoch: int = 0, topics: Sequence[str] | None = ("orders",), **fields: Any) -> Any:
    request = ShareGroupHeartbeatRequest(
        **{"group_id": "g", "member_id": member, "member_epoch": epoch, "subscribed_topic_names": topics, **fields}
    )
    return group.ask(request, 1)


def partitions(answer: Any) -> list[int]:
    return [index for topic in answer.assignment.topic_partitions for index in topic.partitions]


def test_members_share_the_partitions_out_at_once() -> None:
    group = Shared()
    first = beat(group, "a")
    assert (first.error_code, first.member_epoch, partitions(first)) == (0, 2, [0, 1, 2, 3])
    assert len(partitions(beat(group, "b"))) == 2
    assert partitions(beat(group, "a", 2, None)) == [0, 2]
    assert beat(group, "a", 3, None).assignment is None
    for name in "cdefgh":
        assert len(partitions(beat(group, name))) == 1


def test_members_leave_and_expire() -> None:
    group = Shared()
    beat(group, "a")
    beat(group, "b")
    assert partitions(beat(group, "a", 2, None)) == [0, 2]
    assert beat(group, "b", -1, None).member_epoch == -1
    assert partitions(beat(group, "a", 3, None)) == [0, 1, 2, 3]
    group.pass_time(46)
    assert beat(group, "a", 3, None).error_code == codes.UNKNOWN_MEMBER_ID.code


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, codes.INVALID_REQUEST),
        ({"member_id": ""}, codes.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, codes.INVALID_REQUEST),
        ({"member_epoch": -2}, codes.INVALID_REQUEST),
        ({"member_epoch": 1, "group_id": "none"}, codes.GROUP_ID_NOT_FOUND),
        ({"member_epoch": 1}, codes.UNKNOWN_MEMBER_ID),
        ({"member_epoch": 9, "member_id": "a"}, codes.FENCED_MEMBER_EPOCH),
    ],
)
def test_heartbeats_are_refused(fields: dict[str, Any], code: type[codes.INVALID_REQUEST]) -> None:
    group = Shared()
    beat(group, "a")
    assert beat(group, "m", **fields).error_code == code.code


def test_other_protocols_are_kept_out_of_a_share_group() -> None:
    group = Shared()
    beat(group, "a")
    assert group.ask(join(), 9).error_code == codes.INCONSISTENT_GROUP_PROTOCOL.code
    assert group.ask(heartbeat("a", 1), 4).error_code == codes.UNKNOWN_MEMBER_ID.code
    assert Member(group, "x").error == codes.GROUP_ID_NOT_FOUND.code
    refused = group.ask(commit({("orders", 0): 1}), 9).topics[0].partitions[0].error_code
    assert refused == codes.GROUP_ID_NOT_FOUND.code
    classic = Group()
    classic.stable()
    assert beat(classic, "a").error_code == codes.GROUP_ID_NOT_FOUND.code


def test_records_are_acquired_once_and_accepted() -> None:
    group = Shared()
    reader, other = Reader(group, "a"), Reader(group, "b")
    answer = reader.fetch()
    [row] = answer.responses[0].partitions
    assert records.decode(row.records).values() == [b"v"] * 10
    assert [(a.first_offset, a.last_offset, a.delivery_count) for a in row.acquired_records] == [(0, 9, 1)]
    assert answer.acquisition_lock_timeout_ms == LOCK_S * 1000
    assert other.acquired() == []
    assert reader.acknowledge((0, 9, ACCEPT)) == 0
    assert reader.acquired() == []
    group.produce(3)
    assert other.acquired() == [(10, 12, 1)]


def test_released_and_rejected_records_and_gaps() -> None:
    group = Shared()
    reader = Reader(group, "a")
    reader.fetch()
    assert reader.acknowledge((0, 3, [ACCEPT, RELEASE, REJECT, GAP]), (4, 9, RELEASE)) == 0
    assert reader.acquired() == [(1, 1, 2), (4, 9, 2)]


def test_a_lock_times_out() -> None:
    group = Shared()
    reader, other = Reader(group, "a"), Reader(group, "b")
    reader.fetch()
    waiting = group.begin(other.request(max_wait_ms=60_000), 2)
    group.pass_time(LOCK_S + 1)
    assert waiting.wake()
    assert waiting.response.responses[0].partitions[0].acquired_records[0].delivery_count == 2
    refused = reader.told((0, 9, ACCEPT))
    assert refused.error_code == codes.INVALID_RECORD_STATE.code
    assert refused.error_message == "Member is not the owner of batch record"


def test_a_renewed_lock_lasts_longer() -> None:
    group = Shared()
    reader, other = Reader(group, "a"), Reader(group, "b")
    reader.fetch()
    group.pass_time(LOCK_S - 1)
    assert reader.acknowledge((0, 9, RENEW)) == codes.INVALID_REQUEST.code
    assert reader.acknowledge((0, 9, RENEW), is_renew_ack=True) == 0
    group.pass_time(LOCK_S - 1)
    assert other.acquired() == []
    group.pass_time(2)
    assert other.acquired() == [(0, 9, 2)]


def test_records_are_delivered_up_to_the_limit() -> None:
    group = Shared(group_share_delivery_count_limit=2)
    reader = Reader(group, "a")
    assert reader.acquired() == [(0, 9, 1)]
    assert reader.acquired((0, 9, RELEASE)) == [(0, 9, 2)]
    assert reader.acquired((0, 9, RELEASE)) == []


def test_the_end_of_a_session_releases_what_its_member_holds() -> None:
    group = Shared()
    reader, other = Reader(group, "a"), Reader(group, "b")
    reader.fetch()
    reader.epoch = -1
    reader.fetch((0, 4, ACCEPT))
    assert other.acquired() == [(5, 9, 2)]


def test_a_lost_connection_ends_the_session() -> None:
    group = Shared()
    reader, other = Reader(group, "a"), Reader(group, "b")
    served = group.broker.apis.connect()
    frame = encode_request(reader.request(), 2, correlation_id=1, client_id="c")[4:]
    with pytest.raises(StopIteration):
        next(served(frame))
    assert other.acquired() == []
    served.close()
    assert other.acquired() == [(0, 9, 2)]
    reader.epoch = 1
    assert reader.fetch().error_code == codes.SHARE_SESSION_NOT_FOUND.code


def test_a_fetch_waits_for_records() -> None:
    group = Shared()
    reader = Reader(group, "a")
    reader.fetch()
    waiting = group.begin(reader.request((0, 9, ACCEPT), max_wait_ms=1000), 2)
    assert waiting.answer is None
    group.produce(1)
    assert waiting.wake() or waiting.step() is None
    assert waiting.response.responses[0].partitions[0].acquired_records[0].first_offset == 10


def test_limits_of_a_fetch() -> None:
    group = Shared()
    assert Reader(group, "a").acquired(max_records=3) == [(0, 4, 1)]
    assert Reader(group, "b").acquired(max_records=3, share_acquire_mode=1) == [(5, 7, 1)]
    assert Reader(group, "c").acquired() == [(8, 9, 1)]
    released = Reader(group, "c")
    released.epoch = 1
    released.acknowledge((8, 9, RELEASE))
    assert Reader(group, "d").acquired(max_records=1) == [(8, 9, 2)]
    again = Shared()
    assert Reader(again, "a").acquired(batch_size=2) == [(0, 4, 1), (5, 9, 1)]
    few = Shared(group_share_partition_max_record_locks=7)
    assert Reader(few, "a").acquired() == [(0, 6, 1)]
    assert Reader(few, "b").acquired() == []


def test_what_a_limit_leaves_of_a_batch_comes_later() -> None:
    group = Shared()
    group.produce(5)
    reader = Reader(group, "a")
    assert reader.acquired(max_records=3, share_acquire_mode=1) == [(0, 2, 1)]
    assert reader.acquired((0, 2, ACCEPT)) == [(3, 14, 1)]


def test_what_the_number_of_locks_leaves_of_a_batch_comes_later() -> None:
    group = Shared(group_share_partition_max_record_locks=7)
    group.produce(5)
    reader = Reader(group, "a")
    assert reader.acquired() == [(0, 6, 1)]
    assert reader.acquired((0, 6, ACCEPT)) == [(7, 13, 1)]
    assert reader.acquired((7, 13, ACCEPT)) == [(14, 14, 1)]


@pytest.mark.parametrize("seed", range(40))
def test_every_record_is_had_within_any_limits(seed: int) -> None:
    chance = random.Random(seed)
    group = Shared(group_share_partition_max_record_locks=chance.choice([4, 9, 2000]))
    cluster = group.broker.cluster
    cluster.groups.configs.set("g", "share.isolation.level", "read_committed")
    visible = [*range(10), *_append_any(group, chance)]
    reader, accepted = Reader(group, "a"), list[int]()
    given: list[tuple[int, int, int]] = []
    while len(accepted) < len(visible):
        strict, most = chance.randrange(2), chance.randint(1, 6)
        rows = reader.acquired(*given, max_records=most, share_acquire_mode=strict, batch_size=chance.randint(1, 5))
        assert rows
        given = [(first, last, chance.choice([ACCEPT, RELEASE] if had < 4 else [ACCEPT])) for first, last, had in rows]
        accepted += [offset for first, last, kind in given if kind == ACCEPT for offset in range(first, last + 1)]
    assert sorted(accepted) == visible


def _append_any(group: Shared, chance: random.Random) -> list[int]:
    """Appends batches of any size, some of aborted transactions; the offsets that a reader gets, markers among them."""
    partition = group.broker.cluster.topics["orders"].partitions[0]
    visible: list[int] = []
    for _ in range(chance.randint(1, 8)):
        first, count = partition.log.end_offset, chance.randint(1, 6)
        if chance.random() < 0.6:
            group.produce(count)
            visible += range(first, first + count)
            continue
        sequence = {"producer_id": first, "producer_epoch": 0, "base_sequence": 0}
        values = [b"v"] * count
        partition.append(stored_entries(batch(*values, **sequence, is_transactional=True)), None)
        partition.end_transaction(first, 0, commit=False, coordinator_epoch=0, raises_epoch=False, timestamp=0)
        visible.append(first + count)
    return visible


def test_acknowledgements_that_make_no_sense_change_nothing() -> None:
    group = Shared()
    reader = Reader(group, "a")
    reader.fetch()
    invalid = codes.INVALID_REQUEST.code
    for wrong in ([(4, 3, ACCEPT)], [(0, 3, ACCEPT), (3, 4, ACCEPT)], [(0, 2, [ACCEPT, ACCEPT])], [(0, 0, 9)]):
        assert reader.acknowledge(*wrong) == invalid
    assert reader.acknowledge((0, 3, ACCEPT), (20, 20, ACCEPT)) == invalid
    reader.acknowledge((0, 0, ACCEPT))
    assert reader.acknowledge((0, 9, ACCEPT)) == 0
    assert reader.acknowledge((9, 9, ACCEPT)) == 0


def test_sessions_count_their_requests() -> None:
    group = Shared()
    reader = Reader(group, "a")
    assert reader.acknowledge((0, 0, ACCEPT)) == codes.INVALID_SHARE_SESSION_EPOCH.code
    reader.epoch = 3
    assert reader.fetch().error_code == codes.SHARE_SESSION_NOT_FOUND.code
    reader.epoch = 0
    assert reader.fetch((0, 0, ACCEPT)).error_code == codes.INVALID_REQUEST.code
    reader.fetch()
    reader.epoch = 5
    assert reader.fetch().error_code == codes.INVALID_SHARE_SESSION_EPOCH.code


def test_a_new_leader_has_no_locks() -> None:
    group = Shared(nodes=3)
    partition = group.broker.cluster.topics["orders"].partitions[0]
    group.node = partition.leader
    reader = Reader(group, "a")
    assert reader.acquired() == [(0, 9, 1)]
    partition.replicas = partition.isr = [1, 2, 3]
    moved = next(node for node in (1, 2, 3) if node != partition.leader)
    group.broker.cluster.move_leader(partition, moved)
    [row] = reader.fetch().responses[0].partitions
    assert (row.error_code, row.current_leader.leader_id) == (codes.NOT_LEADER_OR_FOLLOWER.code, moved)
    group.node = moved
    reader.epoch = 0
    assert reader.acquired() == [(0, 9, 1)]


def test_a_group_begins_where_its_setting_says() -> None:
    group = Shared()
    configs = group.broker.cluster.groups.configs
    configs.set("g", "share.auto.offset.reset", None)
    reader = Reader(group, "a")
    assert reader.acquired() == []
    group.produce(1)
    assert reader.acquired() == [(10, 10, 1)]
    duration = Shared()
    duration.broker.cluster.groups.configs.set("g", "share.auto.offset.reset", "by_duration:PT1H")
    assert Reader(duration, "a").acquired() == []
    with pytest.raises(codes.INVALID_CONFIG):
        configs.set("g", "share.auto.offset.reset", "by_duration:1h")


def test_deleted_records_are_done_with() -> None:
    group = Shared()
    reader = Reader(group, "a")
    reader.fetch(max_records=5)
    group.broker.cluster.topics["orders"].partitions[0].delete_before(7)
    assert reader.acquired() == [(7, 9, 1)]


def test_offsets_are_described_altered_and_deleted() -> None:
    group = Shared()
    beat(group, "a")
    reader = Reader(group, "a")
    reader.fetch()
    reader.acknowledge((0, 3, ACCEPT))
    asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    every = DescribeShareGroupOffsetsRequest(groups=[asked(group_id="g", topics=None)])

    def offsets() -> list[tuple[int, int, int]]:
        topics = group.ask(every, 1).groups[0].topics
        return [(row.partition_index, row.start_offset, row.lag) for topic in topics for row in topic.partitions]

    assert offsets() == [(0, 4, 6), (1, -1, -1), (2, -1, -1), (3, -1, -1)]
    topic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
    change = topic.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=2)
    alter = AlterShareGroupOffsetsRequest(group_id="g", topics=[topic(topic_name="orders", partitions=[change])])
    assert group.ask(alter, 0).error_code == codes.NON_EMPTY_GROUP.code
    beat(group, "a", -1, None)
    assert group.ask(alter, 0).responses[0].partitions[0].error_code == 0
    assert offsets()[0] == (0, 2, 8)
    gone = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name="orders")
    delete = DeleteShareGroupOffsetsRequest(group_id="g", topics=[gone])
    assert group.ask(delete, 0).responses[0].error_code == 0
    assert offsets() == []


def test_a_share_group_is_described() -> None:
    group = Shared()
    beat(group, "a")
    [found] = group.ask(ShareGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (found.group_state, found.group_epoch, found.assignor_name) == ("Stable", 2, "simple")
    assert found.members[0].assignment.topic_partitions[0].partitions == (0, 1, 2, 3)
    [missing] = group.ask(ShareGroupDescribeRequest(group_ids=["none"]), 1).groups
    assert missing.error_code == codes.GROUP_ID_NOT_FOUND.code
    group.broker.cluster.authorizer.deny("describe", "topic", "orders", None)
    [refused] = group.ask(ShareGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (refused.error_code, refused.members) == (codes.TOPIC_AUTHORIZATION_FAILED.code, ())


def test_readers_of_committed_records_do_not_get_aborted_ones() -> None:
    group = Shared()
    cluster = group.broker.cluster
    cluster.groups.configs.set("g", "share.isolation.level", "read_committed")
    partition = cluster.topics["orders"].partitions[0]
    transactional = batch(b"a", b"b", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    partition.append(stored_entries(transactional), None)
    reader = Reader(group, "a")
    assert reader.acquired() == [(0, 9, 1)]
    partition.end_transaction(7, 0, commit=False, coordinator_epoch=0, raises_epoch=False, timestamp=0)
    assert reader.acquired() == [(12, 12, 1)]
