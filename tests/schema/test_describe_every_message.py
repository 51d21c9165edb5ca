"""Every key, version and direction: each byte of a frame is in one leaf, and the values are those of the decoder."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

from kwire import errors, protocol
from kwire.schema.messages import Message
from tests.schema.description_checks import assert_every_byte_is_in_one_leaf, plain_message
from tests.schema.messages.checks import by_api
from tests.schema.messages.every import MESSAGES
from tests.schema.messages.random import random_message
from tests.schema.messages.typical import typical
from tests.schema.test_mutations import damaged
from tests.thorough import THOROUGH

WHOLE_PER_MESSAGE = 4 if THOROUGH else 2
INSIDE_RECORDS = re.compile(r"(?<!acquired_)records\[\d+\]")
DAMAGED_PER_MESSAGE = 70 if THOROUGH else 6


def framed(message: Any, version: int) -> bytes:
    if isinstance(message, protocol.Request):
        return protocol.encode_request(message, version, correlation_id=9, client_id="app")
    if isinstance(message, protocol.ApiVersionsResponse) and message.error_code == 35:
        message.error_code = 0
    return protocol.encode_response(message, version, correlation_id=9)


def described(cls: Any, version: int, frame: bytes) -> protocol.Description:
    if issubclass(cls, protocol.Request):
        return protocol.describe(frame, secrets=True)
    return protocol.describe(frame, cls.__api_key__, version, secrets=True)


@by_api(MESSAGES)
def test_bytes_and_values_of_every_message(cls: type[Message], version: int) -> None:
    rng = random.Random(version)
    for _ in range(WHOLE_PER_MESSAGE):
        message = random_message(cls, version, rng)
        frame = framed(message, version)
        found = described(cls, version, frame)
        assert_every_byte_is_in_one_leaf(found, len(frame))
        assert (found.api_key, found.version, found.correlation_id) == (message.__api_key__, version, 9)
        assert plain_message(cls, found["body"], frame) == message.to_dict()
        assert [error for error in found.errors if not INSIDE_RECORDS.search(str(error.field))] == []
    if cls.__flexible__.has(version):
        assert_unknown_tags_are_shown(cls, version)


def assert_unknown_tags_are_shown(cls: Any, version: int) -> None:
    message = typical(cls, version)
    message.unknown_tagged_fields = {900: b"later", 901: b""}
    tags = described(cls, version, framed(message, version))["body"]["tagged fields"]
    assert [part.meaning for part in tags.children[-2:]] == ["not known to kwire"] * 2
    assert (tags["tag 900"]["tag"].value, tags["tag 900"]["value"].value) == (900, b"later")
    assert tags["tag 901"]["size"].value == 0


@by_api(MESSAGES)
def test_damage_is_shown_where_the_decoder_finds_it(cls: type[Message], version: int) -> None:
    """Never an exception, never a byte without a leaf, and the same first error as the decoder's."""
    message = random_message(cls, version, random.Random(version))
    body = message.encode(version)
    whole = framed(message, version)
    head = whole[4 : len(whole) - len(body)]
    rng = random.Random(len(body) * 1000 + version)
    outcomes: Counter[str] = Counter()
    for _ in range(DAMAGED_PER_MESSAGE):
        bad = damaged(body, rng)
        frame = (len(head) + len(bad)).to_bytes(4, "big") + head + bad
        found = described(cls, version, frame)
        assert_every_byte_is_in_one_leaf(found, len(frame))
        assert found.to_text()
        assert found.to_json()
        own = [error for error in found.errors if not INSIDE_RECORDS.search(str(error.field))]
        refused = decoders_error(cls, version, frame)
        assert bool(own) == (refused is not None), f"{refused} of {frame.hex()}"
        if refused is not None:
            assert_same_place(own[0], refused)
        outcomes["read" if refused is None else "refused"] += 1
    assert outcomes.total() == DAMAGED_PER_MESSAGE


def decoders_error(cls: Any, version: int, frame: bytes) -> errors.CodecError | None:
    try:
        if issubclass(cls, protocol.Request):
            protocol.decode_request(frame)
        else:
            protocol.decode_response(frame, cls.__api_key__, version)
    except errors.CodecError as error:
        return error
    return None


def assert_same_place(own: errors.CodecError, decoders: errors.CodecError) -> None:
    assert type(own) is type(decoders)
    assert own.offset == decoders.offset
    if "UTF-8" in own.message:
        assert str(own.field).startswith(str(decoders.field))
    elif "left over" not in own.message:
        assert own.field == decoders.field


def test_random_frames_are_described_without_an_exception() -> None:
    rng = random.Random(11)
    for _ in range(60_000 if THOROUGH else 2_000):
        frame = rng.randbytes(rng.randint(0, 60))
        if rng.random() < 0.8:
            frame = len(frame).to_bytes(4, "big") + bytes([0, rng.randrange(95), 0, rng.randrange(14)]) + frame
        assert_every_byte_is_in_one_leaf(protocol.describe(frame), len(frame))
        key, version = rng.randrange(-1, 96), rng.randrange(-1, 19)
        assert_every_byte_is_in_one_leaf(protocol.describe(frame, key, version), len(frame))
