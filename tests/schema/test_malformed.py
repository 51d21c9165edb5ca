"""Bytes that no correct writer produces: each is refused with its field and byte offset; nothing else escapes."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from kwire import errors, protocol
from kwire.protocol import ApiVersionsResponse, FetchRequest, FetchResponse, MetadataRequest, MetadataResponse
from kwire.schema.messages import Message
from tests.schema.messages.checks import by_api, with_random_messages
from tests.schema.messages.every import MESSAGES
from tests.thorough import THOROUGH

TRUNCATED, LENGTH, CORRUPT = errors.TruncatedError, errors.InvalidLengthError, errors.CorruptError

# (what, message, version, hex, error, field, offset)
VECTORS = [
    ("nothing at all", MetadataRequest, 0, "", TRUNCATED, "topics", 0),
    ("a string below -1", MetadataRequest, 0, "00000001 fffe", LENGTH, "topics[0].name", 4),
    ("a string beyond the end", MetadataRequest, 0, "00000001 0005 6162", TRUNCATED, "topics[0].name", 4),
    ("null where it may not be", MetadataRequest, 0, "00000001 ffff", LENGTH, "topics[0].name", 4),
    ("a null array where it may not be", MetadataRequest, 0, "ffffffff", LENGTH, "topics", 0),
    ("a count below -1", MetadataRequest, 1, "fffffffe", LENGTH, "topics", 0),
    ("more elements than bytes", MetadataRequest, 1, "7fffffff 0000", LENGTH, "topics", 0),
    ("more elements than bytes can hold", MetadataRequest, 1, "00000003 0000 0000 00", LENGTH, "topics", 0),
    ("text that is no UTF-8", MetadataRequest, 0, "00000001 0003 61ff62", CORRUPT, "topics[0].name", 7),
    ("a surrogate in UTF-8", MetadataRequest, 0, "00000001 0003 eda080", CORRUPT, "topics[0].name", 6),
    ("a compact null string", MetadataRequest, 9, "02 00 00 01 00 00 00", LENGTH, "topics[0].name", 1),
    ("a compact null array", FetchRequest, 12, "00" * 21 + "ffffffff 00", LENGTH, "topics", 25),
    ("a varint of six bytes", MetadataRequest, 9, "8080808080 01", LENGTH, "topics", 0),
    ("a varint of 33 bits", MetadataRequest, 9, "ffffffff1f", LENGTH, "topics", 0),
    ("a varint that does not end", MetadataRequest, 9, "ffff", TRUNCATED, "topics", 0),
    ("a compact string over 32767", MetadataRequest, 9, "02 818002" + "61" * 32768 + "00000000 00", LENGTH,
     "topics[0].name", 1),
    ("bytes left over", MetadataRequest, 0, "00000000 00", LENGTH, "MetadataRequest", 4),
    ("records below -1", FetchResponse, 0, "00000001 0000 00000001 00000000 0000 0000000000000000 fffffffe",
     LENGTH, "responses[0].partitions[0].records", 24),
    ("records beyond the end", FetchResponse, 0, "00000001 0000 00000001 00000000 0000 0000000000000000 00000002 61",
     TRUNCATED, "responses[0].partitions[0].records", 24),
    ("a tag twice", ApiVersionsResponse, 3, "0000 01 00000000 02 01080000000000000001 01080000000000000001", LENGTH,
     "tagged fields", 18),
    ("tags out of order", ApiVersionsResponse, 3, "0000 01 00000000 02 0500 0400", LENGTH, "tagged fields", 10),
    ("the tag that Java refuses", ApiVersionsResponse, 3, "0000 01 00000000 01 ffffffff07 00", LENGTH,
     "tagged fields", 8),
    ("a tagged field beyond the end", ApiVersionsResponse, 3, "0000 01 00000000 01 0509 00", TRUNCATED,
     "tagged fields", 10),
    ("more tags than bytes", ApiVersionsResponse, 3, "0000 01 00000000 7f 0500", LENGTH, "tagged fields", 7),
    ("a tagged int64 of 7 bytes", ApiVersionsResponse, 3, "0000 01 00000000 01 0107 00000000000000",
     TRUNCATED, "finalized_features_epoch", 10),
    ("a tagged int64 of 9 bytes", ApiVersionsResponse, 3, "0000 01 00000000 01 0109 000000000000000000",
     LENGTH, "finalized_features_epoch", 18),
    ("a tag in a nested struct", ApiVersionsResponse, 3, "0000 02 0001 0000 0001 02 0500 0500 00000000 00", LENGTH,
     "api_keys[0].tagged fields", 12),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "version", "data", "kind", "field", "offset"), [row[1:] for row in VECTORS], ids=[row[0] for row in VECTORS]
)
def test_is_refused(
    cls: type[Message], version: int, data: str, kind: type[errors.CodecError], field: str, offset: int
) -> None:
    with pytest.raises(kind) as caught:
        cls.decode(bytes.fromhex(data), version)
    assert type(caught.value) is kind
    assert (caught.value.field, caught.value.offset) == (field, offset)


def test_a_varint_that_is_longer_than_it_must_be_is_read_and_never_written() -> None:
    message = MetadataRequest.decode(bytes.fromhex("8200 0261 00 000000 00".replace(" ", "")), 9)
    assert message.topics is not None
    assert [topic.name for topic in message.topics] == ["a"]
    assert message.encode(9) == bytes.fromhex("02 0261 00 000000 00".replace(" ", ""))


def test_unknown_tagged_fields_are_kept_and_written_again() -> None:
    data = bytes.fromhex("0000 02 0001 0000 0001 01 0a 02 abcd 00000000 02 01 08 0000000000000007 2a 01 ff")
    message = ApiVersionsResponse.decode(data, 3)
    assert message.unknown_tagged_fields == {0x2A: b"\xff"}
    assert message.api_keys[0].unknown_tagged_fields == {10: b"\xab\xcd"}
    assert message.finalized_features_epoch == 7
    assert message.encode(3) == data
    assert ApiVersionsResponse.from_dict(message.to_dict()).encode(3) == data


def test_unknown_tagged_fields_of_headers_are_kept() -> None:
    header = bytes.fromhex("0003 0009 00000001 0002 6d65 01 07 01 61")
    body = MetadataRequest().encode(9)
    frame = struct.pack(">i", len(header) + len(body)) + header + body
    parsed, _ = protocol.decode_request(frame)
    assert parsed.unknown_tagged_fields == {7: b"a"}
    assert parsed.encode(2) == header


def test_left_over_bytes_are_left_alone_when_not_strict() -> None:
    assert MetadataRequest.decode(b"\0\0\0\0rest", 0, strict=False) == MetadataRequest()


@pytest.mark.parametrize("size", [-1, 3, 5, 2**31 - 1])
def test_a_frame_whose_size_lies_is_refused(size: int) -> None:
    with pytest.raises(errors.FrameError, match=str(size)):
        protocol.decode_response(struct.pack(">i", size) + b"\0\0\0\0", 3, 0)
    with pytest.raises(errors.FrameError):
        protocol.decode_request(struct.pack(">i", size) + b"\0\0\0\0")


@pytest.mark.parametrize("frame", [b"", b"\0", b"\0\0\0"])
def test_a_frame_without_a_whole_size_is_refused(frame: bytes) -> None:
    with pytest.raises(errors.FrameError):
        protocol.decode_request(frame)


def test_a_count_that_lies_allocates_nothing() -> None:
    data = struct.pack(">i", 2**28) + b"\0" * 1000
    tracemalloc.start()
    try:
        with pytest.raises(LENGTH):
            MetadataRequest.decode(data, 1)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@by_api(MESSAGES)
@with_random_messages(6 if THOROUGH else 2)
def test_cut_anywhere_it_is_refused(cls: type[Message], version: int, message: Message) -> None:
    """Every message ends with a field that takes bytes, so no proper prefix of it is a message."""
    encoded = message.encode(version)
    for length in range(len(encoded)) if THOROUGH else _some_cuts(len(encoded)):
        error = _refusal(cls, version, encoded[:length])
        assert error is not None
        assert error.offset is not None
        assert 0 <= error.offset <= length
        assert error.field is not None


def _refusal(cls: type[Message], version: int, data: bytes) -> errors.CodecError | None:
    try:
        cls.decode(data, version)
    except errors.CodecError as error:
        return error
    return None


def _some_cuts(size: int) -> list[int]:
    """The first and last 40 lengths below `size`, and what a step of 7 meets between them."""
    return sorted({*range(min(40, size)), *range(0, size, 7), *range(max(0, size - 40), size)})


def test_records_outlive_the_message_and_the_frame_they_came_from() -> None:
    topic = FetchResponse.FetchableTopicResponse
    sent = FetchResponse(responses=[topic(topic="t", partitions=[topic.PartitionData(records=b"kept" * 1000)])])
    frame = bytearray(sent.encode(4))
    records = FetchResponse.decode(frame, 4).responses[0].partitions[0].records
    with pytest.raises(BufferError):
        frame.clear()
    assert bytes(records) == b"kept" * 1000
    assert bytes(MetadataResponse().encode(0)) == b"\0" * 8
