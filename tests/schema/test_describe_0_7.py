"""Frames and messages of Kafka 0.7: every request and answer, compressed messages, and damage."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire import errors, protocol, records
from tests.schema.description_checks import assert_every_byte_is_in_one_leaf, plain_message
from tests.schema.messages.random import random_message
from tests.schema.test_mutations import damaged
from tests.thorough import THOROUGH

old = protocol.kafka_0_7
MESSAGES = records.encode([b"one", b"two"], generation="0.7")
GZIPPED = records.encode([b"one", b"two"], generation="0.7", compression="gzip")
RESPONSES: list[Any] = [old.FetchResponse, old.MultiFetchResponse, old.OffsetsResponse]


def describe_request(frame: bytes) -> protocol.Description:
    return protocol.describe(frame, generation="0.7")


@pytest.mark.parametrize("kind", old.REQUESTS)
def test_every_request(kind: int) -> None:
    cls: Any = old.REQUESTS[kind]
    for number in range(10):
        message = random_message(cls, 0, random.Random(number))
        frame = old.encode_request(message)
        found = describe_request(frame)
        assert_every_byte_is_in_one_leaf(found, len(frame))
        assert (found.api_key, found.version, found.api_name) == (kind, None, cls.__name__.removesuffix("Request"))
        assert plain_message(cls, found["body"], frame) == message.to_dict()


def test_messages_in_a_request() -> None:
    frame = old.encode_request(old.ProduceRequest(topic="orders", partition=-1, messages=MESSAGES + GZIPPED))
    found = describe_request(frame)
    assert found.errors == []
    assert_every_byte_is_in_one_leaf(found, len(frame))
    messages = found["body"]["messages"]
    assert [messages[f"[{n}]"]["payload"].value for n in range(2)] == [b"one", b"two"]
    assert all(messages[f"[{n}]"]["crc"].meaning == "right" for n in range(3))
    packed = messages["[2]"]
    assert packed["attributes"].meaning == "gzip"
    assert packed["payload"].decompressed is not None
    assert [part["payload"].value for part in packed["payload"].decompressed.children] == [b"one", b"two"]


def test_answers() -> None:
    fetched = old.encode_response(old.FetchResponse(messages=MESSAGES[:-2]))
    found = protocol.describe(fetched, "Fetch", generation="0.7")
    assert_every_byte_is_in_one_leaf(found, len(fetched))
    assert found.errors == []
    assert found["body"]["messages"]["[0]"]["payload"].value == b"one"
    assert found["body"]["messages"]["partial batch"].size == len(MESSAGES) // 2 - 2
    parts = [old.FetchedPart(error_code=0, messages=MESSAGES), old.FetchedPart(error_code=3, messages=b"")]
    several = old.encode_response(old.MultiFetchResponse(parts=parts))
    found = protocol.describe(several, 2, generation="0.7")
    assert_every_byte_is_in_one_leaf(found, len(several))
    assert found["body"]["parts[0]"]["messages"]["[1]"]["payload"].value == b"two"
    assert found["body"]["parts[1]"]["error_code"].meaning == "WrongPartitionCode"
    offsets = old.encode_response(old.OffsetsResponse(offsets=[9, 0]))
    assert protocol.describe(offsets, 4, generation="0.7")["body"]["offsets"].value == (9, 0)
    refused = old.encode_response(old.OffsetsResponse(), error_code=3)[:6]
    refused = b"\x00\x00\x00\x02" + refused[4:]
    found = protocol.describe(refused, 4, generation="0.7")
    assert (found.errors, found["header"]["error_code"].meaning) == ([], "WrongPartitionCode")


def test_what_0_7_does_not_have() -> None:
    unknown = describe_request(b"\x00\x00\x00\x04\x00\x07\xab\xcd")
    assert [type(error) for error in unknown.errors] == [errors.UnknownVersionError]
    assert_every_byte_is_in_one_leaf(unknown, 8)
    never = protocol.describe(b"\x00\x00\x00\x04\x00\x00\xab\xcd", 0, generation="0.7")
    assert "has no answer" in str(never.errors[0])
    with pytest.raises(errors.ConfigError, match=r"'0\.6'"):
        protocol.describe(b"", generation="0.6")
    magic = protocol.describe_records(b"\x00\x00\x00\x09\x05" + bytes(8), generation="0.7")
    assert [(error.field, error.offset) for error in magic.errors] == [("records[0].magic", 4)]


def test_a_wrong_checksum_and_a_compressed_message_within_another() -> None:
    found = protocol.describe_records(MESSAGES.replace(b"two", b"2wo"), generation="0.7")
    assert [error.field for error in found.errors] == ["records[1].crc"]
    nested = records.encode([b"x"], generation="0.7", compression="gzip")
    assert protocol.describe_records(nested, generation="0.7").errors == []


def test_damaged_frames_are_described_to_their_last_byte() -> None:
    rng = random.Random(4)
    whole = [old.encode_request(random_message(cls, 0, rng)) for cls in old.REQUESTS.values() for _ in range(4)]
    whole += [old.encode_request(old.ProduceRequest(topic="t", messages=MESSAGES + GZIPPED))]
    whole += [old.encode_response(old.MultiFetchResponse(parts=[old.FetchedPart(messages=GZIPPED)] * 2))]
    for _ in range(20_000 if THOROUGH else 1500):
        frame = damaged(rng.choice(whole), rng)
        found = describe_request(frame)
        assert_every_byte_is_in_one_leaf(found, len(frame))
        found = protocol.describe(frame, rng.randrange(6), generation="0.7")
        assert_every_byte_is_in_one_leaf(found, len(frame))
        assert found.to_text()
