"""The switches of the proposal, and what each generation refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, protocol
from kwire.protocol import draft_0_8, kafka_0_7, proposal
from kwire.protocol import proposal as p


def one_set(messages: bytes = b"abc", count: int = 1) -> p.ProduceRequest:
    parts = [p.ProduceRequest.TopicData.PartitionData(partition=i, messages=messages) for i in range(count)]
    return p.ProduceRequest(data=[p.ProduceRequest.TopicData(topic="t", partition_data=parts)])


def test_the_printed_fetch_header_swaps_two_fields() -> None:
    request = p.FetchRequest(max_wait=5)
    table = p.encode_request(request, correlation_id=0x01020304, version_id=9)
    printed = p.encode_request(request, correlation_id=0x01020304, version_id=9, dialect=p.PRINTED)
    assert table[6:12].hex(" ") == "00 09 01 02 03 04"
    assert printed[6:12].hex(" ") == "01 02 03 04 00 09"
    assert p.decode_request(printed, dialect=p.PRINTED) == p.decode_request(table)


def test_printed_message_sets_have_no_length_so_only_one_can_be() -> None:
    unsized = p.encode_request(one_set(), dialect=p.PRINTED)
    assert len(p.encode_request(one_set())) == len(unsized) + 4
    assert unsized.endswith(b"\x00\x00\x00\x00abc")
    assert p.decode_request(unsized, dialect=p.PRINTED)[1] == one_set()
    with pytest.raises(errors.CodecError, match=r'2 message sets without lengths.*message_sets="sized"'):
        p.encode_request(one_set(count=2), dialect=p.PRINTED)
    fetched = p.FetchResponse(data=one_set().data)
    again = p.decode_response(p.encode_response(fetched, dialect=p.PRINTED), 1, dialect=p.PRINTED)[1]
    assert again == fetched


def test_the_error_that_a_comment_swallows() -> None:
    produced = p.ProduceResponse(errors=[-1], offsets=[7])
    with_error = p.encode_response(produced, error=3)
    without = p.encode_response(produced, dialect=p.PRINTED)
    assert len(with_error) == len(without) + 2
    assert p.decode_response(with_error, 0)[0].error == 3
    assert p.decode_response(without, 0, dialect=p.PRINTED)[1] == produced
    with pytest.raises(errors.CodecError, match="error"):
        p.encode_response(produced, error=3, dialect=p.PRINTED)


def test_fetch_offsets_are_32_bits_unless_told_otherwise() -> None:
    wide = p.Dialect(offsets="int64")
    far = p.FetchRequest(topic_offsets=[p.FetchRequest.OffsetData(topic="t", partitions=[0], offsets=[1 << 40])])
    with pytest.raises(errors.CodecError, match="does not fit int32"):
        p.encode_request(far)
    assert p.decode_request(p.encode_request(far, dialect=wide), dialect=wide)[1] == far


def test_request_types_are_the_dialects() -> None:
    dialect = p.Dialect(produce=8, fetch=9)
    frame = p.encode_request(one_set(), dialect=dialect)
    assert frame[4:6] == b"\x00\x08"
    assert p.decode_request(frame, dialect=dialect)[0].request_type_id == 8
    with pytest.raises(
        errors.UnknownVersionError, match=r"request type 8; this dialect has 0 \(produce\), 1 \(fetch\)"
    ):
        p.decode_request(frame)
    with pytest.raises(errors.UnknownVersionError, match="request type 5"):
        p.decode_response(p.encode_response(p.ProduceResponse()), 5)


@pytest.mark.parametrize("no_error", [0, -1])
def test_both_ways_to_say_no_error_are_read(no_error: int) -> None:
    dialect = p.Dialect(no_error=no_error)
    assert not dialect.failed(no_error)
    assert dialect.failed(3)


def test_keys_mean_what_the_generation_says() -> None:
    """Key 3 of 0.8 is a MULTIPRODUCE of nothing in 0.7, and 0.7's OFFSETS is a LeaderAndIsr of 0.8."""
    metadata = protocol.encode_request(protocol.MetadataRequest(), 0, correlation_id=0, client_id="")
    assert kafka_0_7.decode_request(metadata, strict=False)[1] == kafka_0_7.MultiProduceRequest()
    answer = kafka_0_7.encode_response(kafka_0_7.OffsetsResponse(offsets=[1]))
    with pytest.raises(errors.CodecError):
        protocol.decode_response(answer, 4, 0)


@pytest.mark.parametrize("request_type", [5, 6, 18, 255, -1])
def test_0_7_has_five_requests(request_type: int) -> None:
    frame = (2).to_bytes(4, "big") + request_type.to_bytes(2, "big", signed=True)
    with pytest.raises(errors.UnknownVersionError, match=rf"request type {request_type}; Kafka 0.7 has 0 \(Produce"):
        kafka_0_7.decode_request(frame)


def test_produce_of_0_7_has_no_answer() -> None:
    with pytest.raises(errors.UnknownVersionError, match="request type 0 has no answer"):
        kafka_0_7.decode_response(b"\x00\x00\x00\x02\x00\x00", 0)
    with pytest.raises(errors.CodecError, match="ProduceRequest is not a response"):
        kafka_0_7.encode_response(kafka_0_7.ProduceRequest())
    with pytest.raises(errors.CodecError, match="FetchResponse is not a request"):
        kafka_0_7.encode_request(kafka_0_7.FetchResponse())


def test_an_answer_with_an_error_may_have_no_body() -> None:
    header, message = kafka_0_7.decode_response(b"\x00\x00\x00\x02\x00\x03", 4)
    assert (header.error_code, message) == (3, kafka_0_7.OffsetsResponse())


@pytest.mark.parametrize(
    ("content", "error", "offset"),
    [
        (b"\x00\x00\x00", errors.TruncatedError, 6),
        (b"\x00\x00\x00\x05\x00\x00", errors.TruncatedError, 6),
        (b"\x80\x00\x00\x00", errors.InvalidLengthError, 6),
        (b"\x00\x00\x00\x01\x00", errors.TruncatedError, 10),
        (b"\x00\x00\x00\x02\x00\x00\x7f\xff\xff\xff", errors.TruncatedError, 12),
    ],
)
def test_damaged_parts_are_named(content: bytes, error: type[errors.CodecError], offset: int) -> None:
    frame = (len(content) + 2).to_bytes(4, "big") + b"\x00\x00" + content
    with pytest.raises(error) as caught:
        kafka_0_7.decode_response(frame, 2)
    assert caught.value.offset == offset
    assert type(caught.value) is error


def test_the_draft_has_four_requests_in_version_0() -> None:
    fetch = protocol.FetchRequest(max_wait_ms=3)
    header, message = draft_0_8.decode_request(draft_0_8.encode_request(fetch, correlation_id=2, client_id="c"))
    assert (header.request_api_key, message) == (1, fetch)
    produced = protocol.ProduceResponse()
    answer = draft_0_8.encode_response(produced, correlation_id=2, response_version=0)
    assert answer.hex(" ") == "00 00 00 0a 00 00 00 00 00 02 00 00 00 00"
    assert draft_0_8.decode_response(answer, 0)[1] == produced
    with pytest.raises(errors.UnknownVersionError, match="API key 8; the draft has"):
        draft_0_8.decode_response(answer, 8)
    with pytest.raises(errors.CodecError, match="is not a message of the draft"):
        draft_0_8.encode_request(protocol.MetadataRequest())
    newer = protocol.encode_request(protocol.MetadataRequest(), 1, client_id="")
    with pytest.raises(errors.UnknownVersionError, match="version 1"):
        draft_0_8.decode_request(newer)


@pytest.mark.parametrize("module", [kafka_0_7, proposal, draft_0_8])
def test_a_frame_states_its_size(module: Any) -> None:
    with pytest.raises(errors.FrameError, match="states a size of 9"):
        module.decode_request(b"\x00\x00\x00\x09\x00\x00")
