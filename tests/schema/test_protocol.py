"""Frames: headers, the rule for ApiVersions, lookups by key and name, gather form, and what an import costs."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest

from kwire import errors, protocol
from kwire._codec import FrameReceiver
from kwire.protocol import ApiVersionsResponse, FetchResponse, MetadataRequest, ProduceRequest

FETCHED = FetchResponse.FetchableTopicResponse
TOPIC = ProduceRequest.TopicProduceData
PARTITION = TOPIC.PartitionProduceData


def produce(*records: object) -> ProduceRequest:
    return ProduceRequest(topic_data=[TOPIC(name="t", partition_data=[PARTITION(records=each) for each in records])])


def test_apis_by_key_and_by_name() -> None:
    assert protocol.APIS[3] is protocol.APIS["Metadata"]
    api = protocol.APIS[3]
    assert (api.key, api.name, api.versions) == (3, "Metadata", range(14))
    assert api.request is MetadataRequest
    assert list(protocol.APIS) == list(range(95))
    with pytest.raises(errors.UnknownVersionError, match="3 Metadata"):
        protocol.APIS[95]
    with pytest.raises(errors.UnknownVersionError, match="metadata"):
        protocol.APIS["metadata"]
    with pytest.raises(AttributeError, match="NoSuchRequest"):
        protocol.NoSuchRequest  # type: ignore[attr-defined]  # noqa: B018


def test_the_client_id_keeps_its_fixed_length_in_flexible_headers() -> None:
    frame = protocol.encode_request(MetadataRequest(topics=None), 12, correlation_id=7, client_id="me")
    assert frame == bytes.fromhex("00000011 0003 000c 00000007 0002 6d65 00 00 01 00 00".replace(" ", ""))


def test_the_answer_of_api_versions_has_no_flexible_header() -> None:
    frame = protocol.encode_response(ApiVersionsResponse(), 3, correlation_id=7)
    assert frame == bytes.fromhex("0000000c 00000007 0000 01 00000000 00".replace(" ", ""))
    assert protocol.decode_response(frame, 18, 3)[1] == ApiVersionsResponse()


@pytest.mark.parametrize("asked", [0, 1, 3, 5])
def test_an_unsupported_api_versions_is_answered_in_version_0(asked: int) -> None:
    answer = ApiVersionsResponse(
        error_code=35, api_keys=[ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=2)]
    )
    frame = protocol.encode_response(answer, 0, correlation_id=1)
    assert protocol.decode_response(frame, 18, asked)[1] == answer
    assert protocol.decode_response_body(frame[4:], 18, asked)[1] == answer


@pytest.mark.parametrize("body", ["0023", "0023 01 00000000 00", "0023 7fffffff", "0023 00000001 0012", "0023 0000"])
def test_an_unsupported_api_versions_with_any_body_is_understood(body: str) -> None:
    rest = bytes.fromhex("00000001" + body)
    _, answer = protocol.decode_response(struct.pack(">i", len(rest)) + rest, 18, 4)
    assert answer == ApiVersionsResponse(error_code=35)


def test_a_request_of_unknown_version_still_has_a_header() -> None:
    body = bytes.fromhex("0012 0063 00000005 0002 6d65 00 0a0b0c")
    header = protocol.decode_request_header(body)
    assert (header.request_api_key, header.request_api_version) == (18, 99)
    assert (header.correlation_id, header.client_id) == (5, "me")
    with pytest.raises(errors.UnknownVersionError, match="ApiVersionsRequest has no version 99"):
        protocol.decode_request_body(body)
    unknown = bytes.fromhex("03e7 0000 00000005 0002 6d65")
    assert protocol.decode_request_header(unknown).request_api_key == 999
    assert protocol.APIS.get(999) is None
    assert protocol.APIS.get("Metadata") is protocol.APIS[3]
    with pytest.raises(errors.UnknownVersionError, match="no API 999"):
        protocol.decode_request_body(unknown)
    old = bytes.fromhex("0007 0000 00000005 00000001")
    assert protocol.decode_request_header(old).correlation_id == 5


def test_frames_of_a_receiver_are_decoded_without_a_copy() -> None:
    sent = FetchResponse(responses=[FETCHED(topic="t", partitions=[FETCHED.PartitionData(records=b"r" * 5000)])])
    [frame] = FrameReceiver().feed(protocol.encode_response(sent, 11, correlation_id=3))
    header, answer = protocol.decode_response_body(frame, 1, 11)
    assert (header.correlation_id, answer) == (3, sent)
    assert isinstance(answer, FetchResponse)
    records = answer.responses[0].partitions[0].records
    del frame, answer
    assert bytes(records) == b"r" * 5000


def test_large_records_are_handed_over_and_small_ones_copied() -> None:
    large, small = b"L" * 5000, b"s" * 10
    request = produce(large, small, [large, small], None)
    parts = protocol.encode_request_parts(request, 7, correlation_id=1, client_id="c")
    assert [len(part) for part in parts if len(part) == 5000] == [5000, 5000]
    assert len(parts) == 5
    assert b"".join(map(bytes, parts)) == protocol.encode_request(request, 7, correlation_id=1, client_id="c")


def test_records_that_were_handed_over_cannot_be_resized_until_they_are_sent() -> None:
    records = bytearray(b"x" * 5000)
    parts = protocol.encode_request_parts(produce(records), 3)
    with pytest.raises(BufferError):
        records.clear()
    del parts
    records.clear()


def test_importing_the_protocol_imports_no_message() -> None:
    code = (
        "import sys, kwire.protocol as p; first = [m for m in sys.modules if m.startswith('kwire.schema.k')];"
        "p.MetadataRequest; print(first, [m for m in sys.modules if m.startswith('kwire.schema.k')])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30, env=env)
    assert done.stdout.strip() == "[] ['kwire.schema.k03_metadata']"
