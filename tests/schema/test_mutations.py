"""Damaged messages, a million of them in `make test-all`: whatever the bytes, only kwire's errors leave the decoder."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter

import pytest

from kwire import errors, protocol
from kwire.schema.messages import Message
from tests.schema.messages.checks import by_api
from tests.schema.messages.every import DAMAGED_PER_EXAMPLE, EXAMPLES, MESSAGES
from tests.schema.messages.random import random_message

NASTY = [b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00"]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """One to three changes: a flipped bit, a nasty value, bytes cut out, doubled, or added."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(out))
        kind = rng.randrange(6)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            value = rng.choice(NASTY)
            out[at : at + len(value)] = value
        elif kind == 2:
            del out[at : at + rng.randint(1, 8)]
        elif kind == 3:
            out[at:at] = out[at : at + rng.randint(1, 16)]
        elif kind == 4:
            out[at:at] = rng.randbytes(rng.randint(1, 8))
        else:
            del out[at:]
    return bytes(out)


@by_api(MESSAGES)
def test_only_kwires_errors_escape(cls: type[Message], version: int) -> None:
    rng = random.Random(f"{cls.__name__} {version}")
    wholes = [random_message(cls, version, rng).encode(version) for _ in range(EXAMPLES)]
    outcomes: Counter[str] = Counter()
    for encoded in wholes * DAMAGED_PER_EXAMPLE:
        bad = damaged(encoded, rng)
        try:
            decoded = cls.decode(bad, version)
        except errors.CodecError as error:
            outcomes["refused" if error.offset in range(len(bad) + 1) else "refused nowhere"] += 1
        else:
            again = decoded.encode(version)
            assert cls.decode(again, version).encode(version) == again  # bytes: a float may have become a NaN
            outcomes["read"] += 1
    assert outcomes["refused"] + outcomes["read"] == EXAMPLES * DAMAGED_PER_EXAMPLE


def test_random_frames_as_requests_and_responses() -> None:
    rng = random.Random(7)
    for _ in range(20_000):
        body = rng.randbytes(rng.randint(0, 40))
        if rng.random() < 0.7:
            key = rng.choice(list(protocol.APIS))
            assert isinstance(key, int)
            body = key.to_bytes(2, "big") + bytes([0, rng.randrange(14)]) + body
        with contextlib.suppress(errors.CodecError):
            protocol.decode_request_body(body)
        api = protocol.APIS[rng.choice(list(protocol.APIS))]
        with contextlib.suppress(errors.CodecError):
            protocol.decode_response_body(body, api.key, rng.choice(api.versions))


@pytest.mark.parametrize(
    ("cls", "version", "unit"),
    [
        (protocol.MetadataResponse, 9, b"\x01"),
        (protocol.ApiVersionsResponse, 3, b"\x00\x00"),
        (protocol.FetchResponse, 12, b"\x80"),
        (protocol.MetadataRequest, 9, b"\xff"),
    ],
)
def test_a_megabyte_of_one_byte_is_answered_at_once(cls: type[Message], version: int, unit: bytes) -> None:
    data = unit * (1_000_000 // len(unit))
    begin = time.process_time()
    with pytest.raises(errors.CodecError):
        cls.decode(data, version)
    assert time.process_time() - begin < 20  # to go over the rest for each of a million takes hours
