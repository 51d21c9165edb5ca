"""What Admin makes of odd answers about share groups."""

from __future__ import annotations

import pytest

from kwire import TopicPartition, errors, protocol
from kwire.engine.admin.share_group_offsets import (
    AlterShareGroupOffsets,
    DeleteShareGroupOffsets,
    ListShareGroupOffsets,
)
from kwire.engine.admin.share_group_results import SharePartitionOffsetInfo

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
Listed = protocol.DescribeShareGroupOffsetsResponse
ListedGroup = Listed.DescribeShareGroupOffsetsResponseGroup
ListedTopic = ListedGroup.DescribeShareGroupOffsetsResponseTopic
ListedRow = ListedTopic.DescribeShareGroupOffsetsResponsePartition
Altered = protocol.AlterShareGroupOffsetsResponse
AlteredTopic = Altered.AlterShareGroupOffsetsResponseTopic
AlteredRow = AlteredTopic.AlterShareGroupOffsetsResponsePartition


def listed(*rows: ListedRow) -> Listed:
    return Listed(groups=[ListedGroup(group_id="g", topics=[ListedTopic(topic_name="t", partitions=rows)])])


def test_a_partition_without_a_start_has_no_offset_and_old_brokers_tell_no_lag() -> None:
    found = ListShareGroupOffsets({"g": None}).result(
        ["g"], listed(ListedRow(partition_index=1, start_offset=-1), ListedRow(start_offset=7, leader_epoch=-1)), 0
    )
    assert found == {"g": {T0: SharePartitionOffsetInfo(7), T1: None}}


def test_a_partition_that_is_told_twice_is_an_error() -> None:
    twice = listed(ListedRow(start_offset=1, leader_epoch=0, lag=0), ListedRow(start_offset=2, leader_epoch=0, lag=0))
    found = ListShareGroupOffsets({"g": None}).result(["g"], twice, 1)
    assert "several entries for t-0" in str(found["g"])


def test_a_group_that_is_told_twice_is_an_error() -> None:
    twice = Listed(groups=[*listed(ListedRow(start_offset=1)).groups, ListedGroup(group_id="g")])
    found = ListShareGroupOffsets({"g": None}).result(["g"], twice, 1)
    assert "several entries for 'g'" in str(found["g"])


def test_the_error_of_a_partition_is_told_in_the_brokers_words() -> None:
    found = ListShareGroupOffsets({"g": [T0]}).result(["g"], listed(ListedRow(error_code=3, error_message="gone")), 1)
    error = found["g"]
    assert isinstance(error, errors.broker.UnknownTopicOrPartitionError)
    assert "t-0: gone" in str(error)
    assert list(error.failures) == [T0]


def test_what_an_answer_leaves_out_is_an_error() -> None:
    altered = Altered(responses=[AlteredTopic(topic_name="t", partitions=[AlteredRow(partition_index=0)])])
    with pytest.raises(errors.KafkaError, match="group 'g' has no entry for t-1"):
        AlterShareGroupOffsets("g", {T0: 1, T1: 1}).result(["g"], altered, 0)
    with pytest.raises(errors.KafkaError, match="group 'g' has no entry for 't'"):
        DeleteShareGroupOffsets("g", ["t"]).result(["g"], protocol.DeleteShareGroupOffsetsResponse(), 0)
