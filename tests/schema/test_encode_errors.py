"""Values that a version cannot carry: each is refused with the name of its field, and nothing is written."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, protocol
from kwire.protocol import CreateTopicsRequest, FetchRequest, MetadataRequest, MetadataResponse, ProduceRequest
from kwire.schema.messages import Message

TOPIC = MetadataResponse.MetadataResponseTopic
PARTITION = TOPIC.MetadataResponsePartition
DATA = ProduceRequest.TopicProduceData


def refused(message: Message, version: int) -> errors.CodecError:
    with pytest.raises(errors.CodecError) as caught:
        message.encode(version)
    return caught.value


def metadata_with(**partition: Any) -> MetadataResponse:
    return MetadataResponse(topics=[TOPIC(), TOPIC(partitions=[PARTITION(), PARTITION(**partition)])])


@pytest.mark.parametrize(
    ("values", "field", "text"),
    [
        ({"leader_id": 2**31}, "topics[1].partitions[1].leader_id", "2147483648 does not fit int32"),
        ({"leader_id": -(2**31) - 1}, "topics[1].partitions[1].leader_id", "does not fit int32"),
        ({"leader_id": 2**200}, "topics[1].partitions[1].leader_id", "does not fit int32"),
        ({"leader_id": 10**5000}, "topics[1].partitions[1].leader_id", "an integer of 16610 bits does not fit int32"),
        ({"leader_id": int}, "topics[1].partitions[1].leader_id", "needs int32, not type"),
        ({"error_code": 2**15}, "topics[1].partitions[1].error_code", "does not fit int16"),
        ({"leader_id": "1"}, "topics[1].partitions[1].leader_id", "needs int32, not str"),
        ({"leader_id": 1.5}, "topics[1].partitions[1].leader_id", "needs int32, not float"),
        ({"leader_id": None}, "topics[1].partitions[1].leader_id", "needs int32, not NoneType"),
        ({"isr_nodes": [1, None]}, "topics[1].partitions[1].isr_nodes[1]", "needs int32, not NoneType"),
        ({"isr_nodes": [2**40]}, "topics[1].partitions[1].isr_nodes[0]", "does not fit int32"),
        ({"isr_nodes": 7}, "topics[1].partitions[1].isr_nodes", "needs array, not int"),
        ({"isr_nodes": b"ab"}, "topics[1].partitions[1].isr_nodes", "needs array, not bytes"),
        ({"isr_nodes": None}, "topics[1].partitions[1].isr_nodes", "None, where this version needs array"),
    ],
)
def test_a_wrong_value_is_named(values: dict[str, Any], field: str, text: str) -> None:
    error = refused(metadata_with(**values), 1)
    assert error.field == field
    assert text in error.message


@pytest.mark.parametrize(
    ("message", "version", "field", "text"),
    [
        (MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=None)]), 9, "topics[0].name", "None"),
        (MetadataRequest(topics=None), 0, "topics", "None"),
        (MetadataRequest(topics=["a"]), 1, "topics[0]", "needs MetadataRequest.MetadataRequestTopic, not str"),  # type: ignore[list-item]
        (MetadataRequest(topics="ab"), 1, "topics", "needs array, not str"),  # type: ignore[arg-type]
        (MetadataRequest(allow_auto_topic_creation=0), 4, "allow_auto_topic_creation", "needs bool, not int"),
        (MetadataResponse(cluster_id="x" * 32768), 2, "cluster_id", "a string of 32768 bytes"),
        (MetadataResponse(cluster_id="x" * 32768), 9, "cluster_id", "a string of 32768 bytes"),
        (MetadataResponse(cluster_id="\ud800"), 2, "cluster_id", "UTF-8"),
        (MetadataResponse(cluster_id=b"x"), 2, "cluster_id", "needs string, not bytes"),  # type: ignore[arg-type]
        (ProduceRequest(topic_data=[DATA(topic_id="no")]), 13, "topic_data[0].topic_id", "needs uuid"),  # type: ignore[arg-type]
        (FetchRequest(replica_state=3), 15, "replica_state", "needs FetchRequest.ReplicaState, not int"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_the_wrong_kind_is_named(message: Message, version: int, field: str, text: str) -> None:
    error = refused(message, version)
    assert error.field == field
    assert text in error.message


@pytest.mark.parametrize("records", [7, "text", [b"a", 7], memoryview(b"abcd")[::2]])
def test_records_must_be_bytes(records: Any) -> None:
    request = ProduceRequest(topic_data=[DATA(partition_data=[DATA.PartitionProduceData(records=records)])])
    assert refused(request, 3).field == "topic_data[0].partition_data[0].records"


def test_a_field_that_the_version_lacks_is_refused_unless_it_has_its_default() -> None:
    error = refused(CreateTopicsRequest(validate_only=True), 0)
    assert error.field == "validate_only"
    assert "version 0 of CreateTopicsRequest has no such field (versions 1+ have)" in error.message
    assert CreateTopicsRequest(validate_only=False).encode(0) == CreateTopicsRequest().encode(0)


def test_a_nested_field_that_the_version_lacks_is_named_with_its_place() -> None:
    partition = protocol.ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse
    topic = protocol.ListOffsetsResponse.ListOffsetsTopicResponse
    response = protocol.ListOffsetsResponse(topics=[topic(partitions=[partition(), partition(old_style_offsets=[1])])])
    assert refused(response, 1).field == "topics[0].partitions[1].old_style_offsets"


def test_a_struct_that_the_version_lacks_counts_as_its_default_while_untouched() -> None:
    request = FetchRequest()
    assert request.replica_state.replica_id == -1
    assert request.encode(14) == FetchRequest().encode(14)
    request.replica_state.replica_id = 5
    assert refused(request, 14).field == "replica_state"


def test_an_ignorable_field_is_dropped() -> None:
    assert FetchRequest(rack_id="r1").encode(10) == FetchRequest().encode(10)


def test_a_deleted_field_is_named() -> None:
    request = FetchRequest()
    del request.max_wait_ms
    assert refused(request, 4).field == "max_wait_ms"


def test_unknown_versions_are_refused_with_the_range() -> None:
    for version in (-1, 14, 2**20):
        with pytest.raises(errors.UnknownVersionError, match="kwire knows 0 to 13"):
            MetadataRequest().encode(version)
        with pytest.raises(errors.UnknownVersionError, match="kwire knows 0 to 13"):
            MetadataRequest.decode(b"", version)


def test_a_list_that_shrinks_while_it_is_encoded_is_refused() -> None:
    class Shrinking:
        def __index__(self) -> int:
            nodes.clear()
            return 1

    nodes: list[Any] = [Shrinking(), 2, 3]
    assert "changed its length" in str(refused(metadata_with(isr_nodes=nodes), 1))


def test_unknown_tagged_fields_need_a_flexible_version_and_a_free_tag() -> None:
    request = FetchRequest()
    request.unknown_tagged_fields = {77: b"x"}
    assert "cannot carry tagged fields" in refused(request, 11).message
    request.unknown_tagged_fields = {1: b"x"}
    assert "tag 1 is a known field" in refused(request, 15).message
    for bad in ({-1: b""}, {2**31 - 1: b""}, {5: "text"}, {"5": b""}):
        request.unknown_tagged_fields = bad  # type: ignore[assignment]
        assert "unknown tagged fields are" in refused(request, 15).message


def test_requests_and_responses_are_not_taken_for_each_other() -> None:
    assert protocol.encode_request(MetadataRequest(), 1)
    assert protocol.encode_response(MetadataResponse(), 1)
    with pytest.raises(errors.CodecError, match="MetadataResponse is not a request"):
        protocol.encode_request(MetadataResponse(), 1)  # type: ignore[arg-type]
    with pytest.raises(errors.CodecError, match="MetadataRequest is not a response"):
        protocol.encode_response(MetadataRequest(), 1)  # type: ignore[arg-type]
