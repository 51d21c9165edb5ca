"""The metadata as a value: what is asked at each version, and what a response changes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.metadata.metadata import BELIEVED_AFTER_S, Changes, Metadata, metadata_request

Made = protocol.MetadataResponse
Topic = Made.MetadataResponseTopic
SOME_ID = UUID(int=7)


def names(message: Any) -> list[str] | None:
    return None if message.topics is None else [row.name for row in message.topics]


def response(*topics: Topic, brokers: tuple[int, ...] = (0,)) -> Made:
    rows = [Made.MetadataResponseBroker(node_id=node, host="h", port=9000 + node) for node in brokers]
    return Made(brokers=rows, topics=list(topics), controller_id=0)


def topic(name: str, leader: int = 0, epoch: int = 0) -> Topic:
    row = Topic.MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return Topic(name=name, partitions=[row])


def known(metadata: Metadata, message: Made, *wanted: str, version: int = 13, now: float = 0.0) -> Changes:
    return metadata.apply(message, version, asked_for=wanted, wanted=wanted, now=now)


def numbered(*numbers: int, epoch: int = 0, topic_id: UUID = SOME_ID) -> Topic:
    row = Topic.MetadataResponsePartition
    return Topic(
        name="t",
        topic_id=topic_id,
        partitions=[row(partition_index=number, leader_id=0, leader_epoch=epoch) for number in numbers],
    )


def test_no_topic_and_all_topics_mean_the_same_at_every_version() -> None:
    assert names(metadata_request(0, None, allow_auto_create=True)) == []
    assert names(metadata_request(1, None, allow_auto_create=True)) is None
    assert names(metadata_request(1, [], allow_auto_create=True)) == []
    assert names(metadata_request(13, None, allow_auto_create=True)) is None


def test_a_client_that_may_not_create_never_names_a_topic_to_an_old_broker() -> None:
    assert names(metadata_request(0, ["t"], allow_auto_create=False)) == []
    assert names(metadata_request(3, ["t"], allow_auto_create=False)) is None
    new = metadata_request(4, ["t"], allow_auto_create=False)
    assert names(new) == ["t"]
    assert not new.allow_auto_topic_creation


def test_topics_are_kept_that_are_wanted() -> None:
    metadata = Metadata()
    known(metadata, response(topic("t"), topic("other")), "t")
    assert list(metadata.topics) == ["t"]
    assert metadata.generation == 1


def test_a_topic_asked_for_and_left_out_does_not_exist() -> None:
    metadata = Metadata()
    known(metadata, response(), "t")
    assert metadata.topics["t"].error == 3
    assert metadata.is_unsettled("t")


def test_an_older_leader_does_not_replace_a_newer_one() -> None:
    metadata = Metadata()
    known(metadata, response(topic("t", leader=1, epoch=5)), "t")
    known(metadata, response(topic("t", leader=0, epoch=4)), "t")
    assert (metadata.leader("t", 0), metadata.leader_epoch("t", 0)) == (1, 5)
    assert metadata.update_leader("t", 0, 2, 6)
    assert not metadata.update_leader("t", 0, 1, 5)
    assert metadata.leader("t", 0) == 2


def test_a_response_of_0_8_may_leave_brokers_out() -> None:
    metadata = Metadata()
    assert known(metadata, response(brokers=(0, 1)), version=1).complete
    changes = known(metadata, response(brokers=(2,)), version=0)
    assert changes == Changes({2: Address("h", 9002)}, complete=False)
    assert sorted(metadata.brokers) == [0, 1, 2]


@pytest.mark.parametrize("number", [1_000_000_000, 2**31 - 1, -(2**31), -1, 3, 2])
def test_a_partition_that_cannot_be_is_refused_and_the_others_are_taken(number: int) -> None:
    metadata = Metadata()
    known(metadata, response(numbered(number, 0)), "t")
    info = metadata.topics["t"]
    assert list(info.partitions) == [0]
    assert info.refused == f"partition {number} among 2 rows"
    assert metadata.is_unsettled("t")
    known(metadata, response(numbered(0)), "t")
    assert not metadata.is_unsettled("t")


def test_partitions_that_cannot_be_are_named_up_to_a_bound() -> None:
    metadata = Metadata()
    known(metadata, response(numbered(0, *range(100, 200))), "t")
    assert metadata.topics["t"].refused == "partition 101, partition 102, partition 103, 96 more among 101 rows"


def test_a_partition_told_twice_is_asked_for_again() -> None:
    metadata = Metadata()
    known(metadata, response(numbered(0, 0, 1)), "t")
    assert list(metadata.topics["t"].partitions) == [0, 1]
    assert metadata.topics["t"].refused == "a partition twice among 3 rows"


def test_no_broker_has_a_negative_id() -> None:
    metadata = Metadata()
    assert known(metadata, response(brokers=(-2, -1001, 4))).brokers == {4: Address("h", 9004)}


def test_a_leader_epoch_that_was_a_lie_is_forgotten_when_no_response_says_it_again() -> None:
    metadata = Metadata()
    known(metadata, response(numbered(0, epoch=2**31 - 1)), "t")
    known(metadata, response(numbered(0, epoch=3)), "t", now=1.0)
    assert metadata.leader_epoch("t", 0) == 2**31 - 1
    assert metadata.is_unsettled("t")
    known(metadata, response(numbered(0, epoch=3)), "t", now=1.0 + BELIEVED_AFTER_S)
    assert metadata.leader_epoch("t", 0) == 3
    assert not metadata.is_unsettled("t")


def test_partitions_that_were_a_lie_are_forgotten_when_no_response_names_them_again() -> None:
    metadata = Metadata()
    known(metadata, response(numbered(*range(5))), "t")
    known(metadata, response(numbered(0)), "t", now=1.0)
    assert list(metadata.topics["t"].partitions) == [0, 1, 2, 3, 4]
    known(metadata, response(numbered(*range(5))), "t", now=20.0)
    known(metadata, response(numbered(0)), "t", now=40.0)
    assert len(metadata.topics["t"].partitions) == 5
    known(metadata, response(numbered(0)), "t", now=40.0 + BELIEVED_AFTER_S)
    assert list(metadata.topics["t"].partitions) == [0]


def test_a_topic_without_an_id_may_have_been_made_anew_with_fewer_partitions() -> None:
    metadata = Metadata()
    known(metadata, response(numbered(0, 1, topic_id=UUID(int=0))), "t")
    known(metadata, response(numbered(0, topic_id=UUID(int=0))), "t", now=1.0)
    assert list(metadata.topics["t"].partitions) == [0]
