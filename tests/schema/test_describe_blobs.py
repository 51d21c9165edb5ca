"""Messages inside bytes: what group members hand each other, the records of Kafka's own topics, control records."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from kwire import protocol, records
from kwire.protocol import group_blobs
from kwire.schema.describing.tree import Field
from kwire.schema.logs import ROOMS
from kwire.schema.logs.base import MetadataRecord, RecordValue
from tests.each import each
from tests.schema.description_checks import assert_every_byte_is_in_one_leaf, plain_message
from tests.schema.messages.random import random_message

TOPICS = {"transaction_state": "__transaction_state", "share_state": "__share_group_state"}


def subscription(version: int) -> bytes:
    message = group_blobs.ConsumerProtocolSubscription(topics=["orders", "events"], user_data=b"\x00\x01")
    if version >= 1:
        owned = group_blobs.ConsumerProtocolSubscription.TopicPartition(topic="orders", partitions=[0, 2])
        message.owned_partitions = [owned]
    return version.to_bytes(2, "big") + message.encode(version)


def join_request(blob: bytes, protocol_type: str = "consumer") -> bytes:
    member = protocol.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=blob)
    message = protocol.JoinGroupRequest(group_id="g", protocol_type=protocol_type, protocols=[member])
    return protocol.encode_request(message, 5)


def metadata_of(frame: bytes) -> Field:
    found = protocol.describe(frame)
    assert found.errors == []
    assert_every_byte_is_in_one_leaf(found, len(frame))
    return found["body"]["protocols"]["[0]"]["metadata"]


@pytest.mark.parametrize("version", range(4))
def test_what_a_member_subscribes_to(version: int) -> None:
    field = metadata_of(join_request(subscription(version)))
    assert (field.meaning, field["version"].value) == ("ConsumerProtocolSubscription", version)
    assert [part.value for part in field["topics"].children] == [2, "orders", "events"]
    assert field["user_data"].value == b"\x00\x01"
    owned = field.find("owned_partitions")
    assert (None if owned is None else owned["[0]"]["partitions"].value) == ((0, 2) if version else None)
    assert field.value == subscription(version)


def test_fields_of_a_later_version_are_left_as_bytes() -> None:
    field = metadata_of(join_request(b"\x00\x09" + subscription(3)[2:] + b"later"))
    assert field["topics"]["[0]"].value == "orders"
    assert field["newer fields"].value == b"later"


@pytest.mark.parametrize("blob", [b"", b"\x00", b"\xff\xff\x00", b"\x00\x01\x7f\xff", subscription(1) + b"odd"])
def test_bytes_that_are_no_subscription_stay_bytes(blob: bytes) -> None:
    field = metadata_of(join_request(blob))
    assert (field.children, field.value) == ([], blob)


def test_what_the_sticky_assignor_remembers() -> None:
    owned = group_blobs.StickyAssignorUserData.TopicPartition(topic="orders", partitions=[1, 2])
    data = group_blobs.StickyAssignorUserData(previous_assignment=[owned], generation=7).encode(1)
    blob = b"\0\0" + group_blobs.ConsumerProtocolSubscription(topics=["orders"], user_data=data).encode(0)
    asked = protocol.JoinGroupRequest.JoinGroupRequestProtocol(name="sticky", metadata=blob)
    frame = protocol.encode_request(protocol.JoinGroupRequest(protocol_type="consumer", protocols=[asked]), 5)
    user_data = metadata_of(frame)["user_data"]
    assert user_data["generation"].value == 7
    assert user_data["previous_assignment"]["[0]"]["partitions"].value == (1, 2)
    member = protocol.JoinGroupResponse.JoinGroupResponseMember(metadata=blob)
    answer = protocol.encode_response(protocol.JoinGroupResponse(protocol_name="sticky", members=[member]), 5)
    found = protocol.describe(answer, 11, 5)
    assert_every_byte_is_in_one_leaf(found, len(answer))
    assert found["body"]["members"]["[0]"]["metadata"]["user_data"]["generation"].value == 7
    other = protocol.encode_response(protocol.JoinGroupResponse(protocol_name="range", members=[member]), 5)
    plain = protocol.describe(other, 11, 5)["body"]["members"]["[0]"]["metadata"]["user_data"]
    assert (plain.children, plain.value) == ([], data)


def test_another_protocol_type_is_not_read() -> None:
    assert metadata_of(join_request(subscription(0), "sr")).children == []
    assert metadata_of(join_request(subscription(0), "connect")).children == []


def test_a_worker_of_connect() -> None:
    state = group_blobs.ConnectWorkerState(url="http://worker:8083/", config_offset=7)
    field = metadata_of(join_request(state.to_blob(2), "connect"))
    assert (field.meaning, field["version"].value) == ("ConnectWorkerState", 2)
    assert (field["url"].value, field["config_offset"].value) == ("http://worker:8083/", 7)
    assert field["allocation"].value is None


def test_what_a_member_is_given() -> None:
    part = group_blobs.ConsumerProtocolAssignment.TopicPartition(topic="orders", partitions=[0, 1])
    blob = b"\x00\x01" + group_blobs.ConsumerProtocolAssignment(assigned_partitions=[part]).encode(1)
    answer = protocol.SyncGroupResponse(assignment=blob)
    found = protocol.describe(protocol.encode_response(answer, 3), 14, 3)["body"]["assignment"]
    assert found["assigned_partitions"]["[0]"]["partitions"].value == (0, 1)
    member = protocol.DescribeGroupsResponse.DescribedGroup.DescribedGroupMember(
        member_metadata=subscription(1), member_assignment=blob
    )
    group = protocol.DescribeGroupsResponse.DescribedGroup(protocol_type="consumer", members=[member])
    frame = protocol.encode_response(protocol.DescribeGroupsResponse(groups=[group]), 5)
    described = protocol.describe(frame, 15, 5)["body"]["groups"]["[0]"]["members"]["[0]"]
    assert described["member_metadata"]["topics"]["[0]"].value == "orders"
    assert described["member_assignment"]["assigned_partitions"]["[0]"]["topic"].value == "orders"


def log_messages() -> Iterator[tuple[str, Any, Any, int]]:
    """(topic, class of the key or None, class of the value, version of the value)."""
    for room in ROOMS:
        module = importlib.import_module(f"kwire.schema.logs.{room}")
        for name in module.__all__:
            cls = getattr(module, name)
            if not isinstance(cls, type):
                continue
            if issubclass(cls, MetadataRecord):
                topic = "__remote_log_metadata" if room == "remote_log_metadata" else "__cluster_metadata"
                keys: list[Any] = [None]
            elif issubclass(cls, RecordValue):
                topic = TOPICS.get(room, "__consumer_offsets")
                keys = [getattr(module, name.removesuffix("Value") + "Key")]
            else:
                continue
            for version in cls.__versions__:
                yield topic, keys[0], cls, version


@each(("topic", "key_class", "value_class", "version"), log_messages())
def test_records_of_kafkas_own_topics(topic: str, key_class: Any, value_class: Any, version: int) -> None:
    rng = random.Random(version)
    key = None if key_class is None else random_message(key_class, 0, rng)
    value = random_message(value_class, version, rng)
    data = records.encode([(value.to_log(version), None if key is None else key.to_log())])
    found = protocol.describe_records(data, topic=topic, secrets=True)
    assert found.errors == []
    assert_every_byte_is_in_one_leaf(found, len(data))
    record = found["[0]"]["record[0]"]
    assert record["value"].meaning == f"{value_class.__name__} v{version}"
    assert value_of(value_class, record["value"], data) == value.to_dict()
    if key is not None:
        assert record["key"].meaning == f"{key_class.__name__} v0"
        assert value_of(key_class, record["key"], data) == key.to_dict()


def value_of(cls: Any, field: Field, data: bytes) -> dict[str, Any]:
    """The message's own fields, without the length and the words before it."""
    known = {specifier.name for specifier in cls.__fields__} | {"tagged fields"}
    words = [part for part in field.children if part.name not in known]
    assert words[0].name == "length"
    body = Field(field.name, field.type, field.start, field.end)
    names = [part.name for part in field.children]
    first = next(
        (place for place, name in enumerate(names) if place and name in known and place >= words_end(names)), len(names)
    )
    body.children = field.children[first:]
    return plain_message(cls, body, data)


def words_end(names: list[str]) -> int:
    """Behind the length and the numbers that say which message follows; a message may have a field `type`, too."""
    return 4 if names[1:2] == ["frame_version"] else 2


def test_an_unknown_record_of_an_own_topic_says_why() -> None:
    data = records.encode([(b"\x00\x00", b"\x03\xe7")])
    record = protocol.describe_records(data, topic="__consumer_offsets")["[0]"]["record[0]"]
    assert "record type 999" in record["key"].meaning
    assert record["key"].value == b"\x03\xe7"


def test_topics_of_users_are_not_read() -> None:
    data = records.encode([(b"\x00\x00", b"\x00\x01")])
    assert protocol.describe_records(data, topic="orders")["[0]"]["record[0]"]["key"].children == []


def test_a_fetch_of_an_own_topic_shows_its_messages() -> None:
    key, value = protocol.logs.OffsetCommitKey(group="g", topic="t"), protocol.logs.OffsetCommitValue(offset=42)
    topic = protocol.FetchResponse.FetchableTopicResponse
    part = topic.PartitionData(records=records.encode([(value.to_log(3), key.to_log())], compression="gzip"))
    frame = protocol.encode_response(
        protocol.FetchResponse(responses=[topic(topic="__consumer_offsets", partitions=[part])]), 11
    )
    found = protocol.describe(frame, 1, 11)
    batch = found["body"]["responses"]["[0]"]["partitions"]["[0]"]["records"]["[0]"]
    inner = batch["records"].decompressed
    assert inner is not None
    record = inner["record[0]"]
    assert (record["key"]["group"].value, record["value"]["offset"].value) == ("g", 42)
    assert "OffsetCommitValue v3" in str(found)


def test_the_marker_in_a_control_record() -> None:
    marker = bytearray(
        records.encode([(b"\x00\x00\x00\x00\x00\x07", b"\x00\x00\x00\x01")], is_transactional=True, producer_id=1)
    )
    marker[22] |= 0x20
    record = protocol.describe_records(marker, check_crc=False)["[0]"]["record[0]"]
    assert record["value"]["coordinator_epoch"].value == 7
    assert record["key"]["type"].value == 1


def test_secrets_in_the_metadata_log_are_masked_with_the_bytes_around_them() -> None:
    planted = protocol.logs.UserScramCredentialRecord(name="alice", stored_key=b"hunter2-stored")
    data = records.encode([planted.to_log(0)])
    found = protocol.describe_records(data, topic="__cluster_metadata")
    value = found["[0]"]["record[0]"]["value"]
    assert (value.value, value["name"].value, value["stored_key"].secret) == (None, "alice", True)
    assert "hunter2" not in str(found) + found.to_json()
    shown = protocol.describe_records(data, topic="__cluster_metadata", secrets=True)
    assert shown["[0]"]["record[0]"]["value"]["stored_key"].value == b"hunter2-stored"


def test_the_metadata_log_is_known_by_its_id_and_others_by_what_the_caller_knows() -> None:
    key, value = protocol.logs.OffsetCommitKey(group="g", topic="t"), protocol.logs.OffsetCommitValue(offset=42)
    offsets = UUID(int=77)
    topic = protocol.FetchResponse.FetchableTopicResponse

    def fetched(topic_id: UUID, data: bytes) -> bytes:
        part = topic(topic_id=topic_id, partitions=[topic.PartitionData(records=data)])
        return protocol.encode_response(protocol.FetchResponse(responses=[part]), 13)

    noop = fetched(UUID(int=1), records.encode([protocol.logs.NoOpRecord().to_log(0)]))
    assert "NoOpRecord v0" in str(protocol.describe(noop, 1, 13))
    committed = fetched(offsets, records.encode([(value.to_log(3), key.to_log())]))
    assert "OffsetCommitValue v3" not in str(protocol.describe(committed, 1, 13))
    found = protocol.describe(committed, 1, 13, topic_names={offsets: "__consumer_offsets"})
    assert "OffsetCommitValue v3" in str(found)
    assert found["body"]["responses"]["[0]"]["topic_id"].meaning == "__consumer_offsets"
