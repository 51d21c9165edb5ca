"""The metadata as a value: what is asked at each version, and what a response changes."""

from __future__ import annotations

from typing import Any

from kwire import protocol
from kwire.engine.addresses import Address
from kwire.engine.metadata import Changes, Metadata, metadata_request

Made = protocol.MetadataResponse
Topic = Made.MetadataResponseTopic


def names(message: Any) -> list[str] | None:
    return None if message.topics is None else [row.name for row in message.topics]


def response(*topics: Topic, brokers: tuple[int, ...] = (0,)) -> Made:
    rows = [Made.MetadataResponseBroker(node_id=node, host="h", port=9000 + node) for node in brokers]
    return Made(brokers=rows, topics=list(topics), controller_id=0)


def topic(name: str, leader: int = 0, epoch: int = 0) -> Topic:
    row = Topic.MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return Topic(name=name, partitions=[row])


def known(metadata: Metadata, message: Made, *wanted: str, version: int = 13) -> Changes:
    return metadata.apply(message, version, asked_for=wanted, wanted=wanted)


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
