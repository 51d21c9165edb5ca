"""What a description says: names, values, meanings, secrets, damage; and its forms as text and JSON."""

from __future__ import annotations

import json
import re
import uuid

import pytest

from kwire import errors, protocol, records
from kwire.schema.registry import APIS
from tests.schema.description_checks import assert_every_byte_is_in_one_leaf
from tests.schema.messages.typical import typical

ANSI = re.compile(r"\x1b\[[0-9;]*m")
ORDERS = uuid.UUID(int=0x0123456789ABCDEF << 64 | 42)


def produce_frame(data: bytes, version: int = 9) -> bytes:
    topic = protocol.ProduceRequest.TopicProduceData
    partition = topic.PartitionProduceData(index=2, records=data)
    message = protocol.ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[topic(name="orders", topic_id=ORDERS, partition_data=[partition])]
    )
    return protocol.encode_request(message, version, correlation_id=7, client_id="app")


def metadata_frame() -> bytes:
    topic = protocol.MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition(error_code=5, leader_id=-1, replica_nodes=[1, 2])
    message = protocol.MetadataResponse(
        cluster_id="abc",
        brokers=[protocol.MetadataResponse.MetadataResponseBroker(node_id=1, host="a", port=9092)],
        topics=[topic(name="orders", topic_id=ORDERS, partitions=[partition], topic_authorized_operations=0b11000)],
    )
    return protocol.encode_response(message, 12, correlation_id=7)


def test_a_request_names_itself() -> None:
    found = protocol.describe(produce_frame(b""))
    assert (found.direction, found.api_key, found.api_name, found.version) == ("request", 0, "Produce", 9)
    assert (found.correlation_id, found.client_id, found.errors) == (7, "app", [])
    assert found.title == "Produce request v9, correlation id 7, client 'app', 42 bytes"
    assert found["header"]["request_api_key"].meaning == "Produce"


def test_values_come_with_their_place_and_meaning() -> None:
    frame = metadata_frame()
    topic = protocol.describe(frame, "Metadata", 12)["body"]["topics"]["[0]"]
    name = topic["name"]
    assert frame[name.start : name.end] == b"\x07orders"
    assert (name.value, name.type) == ("orders", "compact string")
    assert topic["topic_id"].value == ORDERS
    assert topic["topic_authorized_operations"].meaning == "read, write"
    partition = topic["partitions"]["[0]"]
    assert partition["error_code"].meaning.startswith("LEADER_NOT_AVAILABLE: ")
    assert partition["error_code"].meaning.endswith("; retriable")
    assert partition["leader_id"].meaning == "none"
    assert partition["replica_nodes"].value == (1, 2)
    assert frame[partition["replica_nodes"].start : partition["replica_nodes"].end] == b"\x03\0\0\0\1\0\0\0\2"


def test_numbers_have_names() -> None:
    body = protocol.describe(produce_frame(b""))["body"]
    assert (body["acks"].meaning, body["timeout_ms"].meaning) == ("all in-sync replicas", "30 s")
    topic = protocol.ListOffsetsRequest.ListOffsetsTopic
    message = protocol.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1,
        topics=[topic(name="t", partitions=[topic.ListOffsetsPartition(timestamp=-2)])],
    )
    body = protocol.describe(protocol.encode_request(message, 7))["body"]
    assert (body["replica_id"].meaning, body["isolation_level"].meaning) == ("a consumer", "read committed")
    assert body["topics"]["[0]"]["partitions"]["[0]"]["timestamp"].meaning == "the earliest"


def test_resources_of_configs_are_not_those_of_acls() -> None:
    configs = protocol.DescribeConfigsRequest(
        resources=[protocol.DescribeConfigsRequest.DescribeConfigsResource(resource_type=4, resource_name="1")]
    )
    acls = protocol.DescribeAclsRequest(resource_type_filter=4, operation=3, permission_type=3, pattern_type_filter=4)
    found = protocol.describe(protocol.encode_request(configs, 4))["body"]["resources"]["[0]"]
    assert found["resource_type"].meaning == "broker"
    body = protocol.describe(protocol.encode_request(acls, 2))["body"]
    assert body["resource_type_filter"].meaning == "cluster"
    assert body["operation"].meaning == "read"
    assert (body["permission_type"].meaning, body["pattern_type_filter"].meaning) == ("allow", "prefixed")


def test_a_batch_in_a_request() -> None:
    data = records.encode(
        [(b"v1", b"k", 1_700_000_000_000, [("h", b"x")]), (b"v2", None, 1_700_000_000_500)],
        producer_id=9, producer_epoch=1, base_sequence=4, base_offset=100,
    )  # fmt: skip
    frame = produce_frame(data)
    found = protocol.describe(frame)
    assert_every_byte_is_in_one_leaf(found, len(frame))
    batch = found["body"]["topic_data"]["[0]"]["partition_data"]["[0]"]["records"]["[0]"]
    assert frame[batch.start : batch.end] == data
    assert [batch[name].value for name in ("base_offset", "magic", "producer_id", "base_sequence")] == [100, 2, 9, 4]
    assert batch["crc"].meaning == "right"
    assert batch["attributes"].meaning == "none, create time"
    assert batch["last_offset_delta"].meaning == "offset 101"
    first, second = batch["record[0]"], batch["record[1]"]
    assert (first["key"].value, first["value"].value, second["key"].value) == (b"k", b"v1", None)
    assert first["header[0]"]["key"].value == b"h"
    assert (second["offset_delta"].meaning, second["timestamp_delta"].meaning) == (
        "offset 101", "2023-11-14T22:13:20.500Z",
    )  # fmt: skip


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_stand_beside_their_bytes(codec: str) -> None:
    data = records.encode([b"same " * 40, b"other"], compression=codec)
    frame = produce_frame(data)
    found = protocol.describe(frame)
    assert_every_byte_is_in_one_leaf(found, len(frame))
    batch = found["body"]["topic_data"]["[0]"]["partition_data"]["[0]"]["records"]["[0]"]
    packed = batch["records"]
    assert packed.type == f"{codec} bytes"
    assert packed.children == []
    assert packed.decompressed is not None
    assert [part["value"].value for part in packed.decompressed.children] == [b"same " * 40, b"other"]
    end = 0
    for leaf in packed.decompressed.leaves():
        assert leaf.start == end
        end = leaf.end
    assert end == packed.decompressed.end


def test_a_codec_that_nobody_knows_is_told_of_a_batch_without_records_too() -> None:
    for count in (0, 1):
        data = bytearray(records.encode([b"v"]))
        data[22] |= 6
        data[57:61] = count.to_bytes(4, "big")
        (error,) = protocol.describe_records(bytes(data), check_crc=False).errors
        assert isinstance(error, errors.UnknownCodecError)
        with pytest.raises(errors.UnknownCodecError):
            records.decode(bytes(data), check_crc=False)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_message_sets(magic: int, codec: str) -> None:
    data = records.encode([(b"v1", b"k", 5), (b"v2", None, 6)], magic=magic, compression=codec)
    found = protocol.describe_records(data)
    assert found.errors == []
    assert_every_byte_is_in_one_leaf(found, len(data))
    if codec != "none":
        assert found["[0]"]["attributes"].meaning.startswith(codec)
        assert len(found.fields) == 1
        inner = found["[0]"]["value"].decompressed
        assert inner is not None
        messages = inner.children
    else:
        messages = found.fields
    assert [(part["key"].value, part["value"].value) for part in messages] == [(b"k", b"v1"), (None, b"v2")]
    assert all(part["crc"].meaning == "right" for part in messages)
    assert (messages[0].find("timestamp") is not None) == (magic == 1)


def test_control_records_say_what_they_mark() -> None:
    marker = bytearray(records.encode([(b"\0\0\0\0\0\0", b"\0\0\0\1")], is_transactional=True, producer_id=1))
    marker[22] |= 0x20
    batch = protocol.describe_records(marker, check_crc=False)["[0]"]
    assert batch["attributes"].meaning == "none, create time, transactional, control"
    assert batch["record[0]"]["key"].meaning == "control record: transaction committed"
    assert batch["crc"].meaning == "not checked"


def test_a_wrong_checksum_is_said_and_the_rest_shown() -> None:
    good, bad = records.encode([b"one"]), records.encode([b"two"]).replace(b"two", b"2wo")
    found = protocol.describe_records(bad + good)
    assert found["[0]"]["crc"].meaning.startswith("WRONG: the bytes give ")
    assert found["[0]"]["record[0]"]["value"].value == b"2wo"
    assert found["[1]"]["record[0]"]["value"].value == b"one"
    assert [(type(error), error.field, error.offset) for error in found.errors] == [
        (errors.CorruptError, "records[0].crc", 17)
    ]


def test_a_batch_that_is_damaged_inside_ends_where_its_length_says() -> None:
    good = records.encode([b"one"])
    bad = bytearray(records.encode([b"two"]))
    bad[61] = 0x7F  # the length of the first record
    found = protocol.describe_records(bytes(bad) + good, check_crc=False)
    assert_every_byte_is_in_one_leaf(found, len(bad) + len(good))
    assert found["[0]"].children[-1].name == "undecoded"
    assert found["[1]"]["record[0]"]["value"].value == b"one"
    assert [(error.field, error.offset) for error in found.errors] == [("records[0].record[0].length", 61)]


def test_the_cut_end_of_a_fetch_is_no_error_and_that_of_a_produce_is() -> None:
    data = records.encode([b"one"]) + records.encode([b"two"])[:-3]
    topic = protocol.FetchResponse.FetchableTopicResponse
    response = protocol.FetchResponse(responses=[topic(topic="t", partitions=[topic.PartitionData(records=data)])])
    fetched = protocol.describe(protocol.encode_response(response, 4), 1, 4)
    cut = fetched["body"]["responses"]["[0]"]["partitions"]["[0]"]["records"]["partial batch"]
    assert (cut.size, fetched.errors) == (len(records.encode([b"two"])) - 3, [])
    sent = protocol.describe(produce_frame(data))
    assert [type(error) for error in sent.errors] == [errors.TruncatedError]
    assert sent.errors[0].field == "topic_data[0].partition_data[0].records[1]"


def test_a_bomb_is_refused_by_its_limit() -> None:
    data = records.encode([bytes(200_000)], compression="zstd")
    found = protocol.describe_records(data, max_decompressed_bytes=10_000)
    assert [type(error) for error in found.errors] == [errors.LimitError]
    assert found["[0]"]["records"].decompressed is None


def test_secrets_are_masked_unless_asked_for() -> None:
    planted = b"hunter2-and-more"
    frame = protocol.encode_request(protocol.SaslAuthenticateRequest(auth_bytes=planted), 2)
    found = protocol.describe(frame)
    assert found["body"]["auth_bytes"].secret
    for form in (str(found), found.to_json(), found.to_text(color=True), repr(list(found.leaves()))):
        assert "hunter2" not in form
    assert "<secret, 17 bytes>" in str(found)
    assert protocol.describe(frame, secrets=True)["body"]["auth_bytes"].value == planted


@pytest.mark.parametrize("key", [33, 36, 38, 39, 40, 41, 44, 51, 58])
def test_every_secret_of_the_schema_is_masked(key: int) -> None:
    for cls in (APIS[key].request, APIS[key].response):
        for version in cls.__versions__:
            message = typical(cls, version)
            if isinstance(message, protocol.Request):
                found = protocol.describe(protocol.encode_request(message, version))
            else:
                found = protocol.describe(protocol.encode_response(message, version), key, version)
            secret = {field.name for field in fields_of(cls) if field.secret and field.versions.has(version)}
            assert {leaf.name for leaf in found.leaves() if leaf.secret} == secret
            assert all(leaf.value is None for leaf in found.leaves() if leaf.secret)


def fields_of(cls: type) -> list:  # type: ignore[type-arg]
    inner = [part for field in cls.__fields__ if field.struct for part in fields_of(field.struct)]  # type: ignore[attr-defined]
    return [*cls.__fields__, *inner]  # type: ignore[attr-defined]


def test_a_refused_api_versions_is_read_as_version_0() -> None:
    frame = protocol.encode_response(protocol.ApiVersionsResponse(error_code=35), 0, correlation_id=1)
    found = protocol.describe(frame, 18, 3)
    assert (found.version, found.errors) == (0, [])
    assert found["body"]["error_code"].meaning.startswith("UNSUPPORTED_VERSION")
    assert found.notes == ["error 35: the body is of version 0, not of version 3 as asked"]


def test_an_unknown_api_shows_its_header() -> None:
    frame = bytes.fromhex("0000000f 03e7 0000 00000007 0003 617070 aabb".replace(" ", ""))
    found = protocol.describe(frame)
    assert_every_byte_is_in_one_leaf(found, len(frame))
    assert (found.api_key, found.correlation_id, found.client_id) == (999, 7, "app")
    assert [(type(error), error.offset) for error in found.errors] == [(errors.UnknownVersionError, 17)]
    answer = protocol.describe(frame, 3, 99)
    assert "kwire knows 0 to 13" in str(answer.errors[0])


def test_a_cut_frame_shows_what_is_there() -> None:
    frame = metadata_frame()
    found = protocol.describe(frame[:40], 3, 12)
    assert_every_byte_is_in_one_leaf(found, 40)
    assert found["body"]["brokers"]["[0]"]["host"].value == "a"
    assert [type(error) for error in found.errors] == [errors.TruncatedError, errors.InvalidLengthError]
    assert found.errors[0].field == "size"
    assert found.errors[1].offset is not None
    assert found.errors[1].offset <= 40


def test_bytes_behind_the_frame_are_said() -> None:
    frame = metadata_frame()
    found = protocol.describe(frame + b"more", 3, 12)
    assert_every_byte_is_in_one_leaf(found, len(frame) + 4)
    assert [error.offset for error in found.errors] == [len(frame)]


def test_max_items_bounds_the_tree_and_keeps_the_bytes() -> None:
    topic = protocol.MetadataRequest.MetadataRequestTopic
    message = protocol.MetadataRequest(topics=[topic(name=f"t{n}") for n in range(1000)])
    frame = protocol.encode_request(message, 9)
    found = protocol.describe(frame, max_items=3)
    assert_every_byte_is_in_one_leaf(found, len(frame))
    topics = found["body"]["topics"]
    assert [part.name for part in topics.children] == ["count", "[0]", "[1]", "[2]", "more"]
    assert topics["more"].meaning == "997 more, not shown"
    batch = records.encode([b"x"] * 50) * 5
    found = protocol.describe_records(batch, max_items=2)
    assert_every_byte_is_in_one_leaf(found, len(batch))
    assert [part.name for part in found.fields] == ["[0]", "[1]", "more"]
    assert found["[0]"]["more"].meaning == "48 more, not shown"


def test_only_the_batch_with_the_byte_is_looked_into() -> None:
    one = records.encode([b"x"] * 50)
    data = one * 9
    found = protocol.describe_records(data, only_at=len(one) * 4 + 70)
    assert_every_byte_is_in_one_leaf(found, len(data))
    assert [(part.name, part.value) for part in found.fields] == [("more", 4), ("[4]", None), ("more", 4)]
    assert found.at(len(one) * 4 + 70)[2].name == "record[1]"
    packed = records.encode([b"x"] * 3, magic=1, compression="gzip")
    found = protocol.describe_records(packed * 3, only_at=len(packed) + 40)
    inner = found["[1]"]["value"].decompressed
    assert inner is not None
    assert [part.name for part in inner.children] == ["[0]", "[1]", "[2]"]


def test_from_a_byte_to_its_line() -> None:
    frame = metadata_frame()
    found = protocol.describe(frame, 3, 12)
    at = frame.index(b"orders")
    assert [field.name for field in found.at(at)] == ["frame", "body", "topics", "[0]", "name"]
    lines = found.to_text(at=at).splitlines()
    assert lines[-1].split()[2:] == ["name", "compact", "string", '"orders"']
    assert found.at(len(frame)) == []


def test_colours_change_nothing_but_the_colour() -> None:
    found = protocol.describe(produce_frame(records.encode([b"x"])[:-1]))
    coloured = found.to_text(color=True)
    assert "\x1b[" in coloured
    assert ANSI.sub("", coloured) == found.to_text()


def test_the_lines_are_the_leaves() -> None:
    found = protocol.describe(metadata_frame(), 3, 12)
    lines = [line.split() for line in str(found).splitlines()[1:]]
    places = {(int(line[0]), int(line[1])) for line in lines}
    assert places >= {(leaf.start, leaf.end) for leaf in found.leaves()}


def test_json_has_everything() -> None:
    found = protocol.describe(produce_frame(records.encode([b"\xff\x00", b"text"], compression="lz4"), 13))
    plain = json.loads(found.to_json())
    assert plain == found.to_dict()
    assert (plain["api_name"], plain["version"], plain["size"]) == ("Produce", 13, found.root.size)
    body = plain["fields"][2]
    topic = body["fields"][3]["fields"][1]
    assert topic["fields"][0]["value"] == "ASNFZ4mrze8AAAAAAAAAKg"
    batch = topic["fields"][1]["fields"][1]["fields"][1]["fields"][1]
    values = [part["fields"][5]["value"] for part in batch["fields"][-1]["decompressed"]]
    assert values == [{"base64": "/wA="}, "text"]


def test_a_response_needs_key_and_version() -> None:
    with pytest.raises(errors.ConfigError, match="both"):
        protocol.describe(metadata_frame(), 3)
    with pytest.raises(errors.ConfigError, match="'Metadatum'"):
        protocol.describe(metadata_frame(), "Metadatum", 1)
