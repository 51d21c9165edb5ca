"""Messages: every request and response in every version, frames, logs of Kafka's own topics, blobs, old generations.

    messages        two bytes choose class and version, the rest is the body: what decodes comes back from its encoding,
                    its dict and its description; what does not is refused where the description says
    drawn-messages  a valid message drawn from the input, encoded, decoded, and encoded into parts
    frames          a byte stream cut into frames, each taken as request or response
    log-records     keys and values of Kafka's own topics, member metadata and assignments, user data
    generations     frames of Kafka 0.7, of the proposal and of the draft of 0.8
    described-records   what `describe_records` says of record sets, and that it says damage where `decode` does

Random bytes rarely get past the first array of a message, so a mutation may also replace the body by a valid one.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator
from typing import Any

from kwire import errors, protocol, records
from kwire._codec import FrameReceiver
from kwire.schema.logs.lookup import decode_log_record
from tests.fuzz.drawing import Drawing, DrawnRandom
from tests.fuzz.records import BUDGET, assert_placed, right, wants_a_large_window
from tests.fuzz.records import WORDS as RECORD_WORDS
from tests.fuzz.targets import target
from tests.schema.description_checks import assert_every_byte_is_in_one_leaf, plain_message
from tests.schema.messages.random import random_message
from tests.schema.messages.typical import typical

EVERY: list[tuple[Any, int]] = [
    (message, version)
    for key in sorted(protocol.APIS, key=str)
    if isinstance(key, int)
    for message in (protocol.APIS[key].request, protocol.APIS[key].response)
    for version in message.__versions__
]
INSIDE_RECORDS = re.compile(r"(?<!acquired_)records\[\d+\]")
WORDS = (
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\x00\x23",
)


def _mutated(data: bytes, most: int, seed: int, plain: Any) -> bytes:
    """Now and then another message, or another version of the same; the rest is libFuzzer's."""
    rng = random.Random(seed)
    number = rng.randrange(len(EVERY))
    if seed % 8 < 4 and len(data) >= 2:
        number = (int.from_bytes(data[:2], "big") + rng.choice((0, 0, -1, 1))) % len(EVERY)
    cls, version = EVERY[number]
    body = random_message(cls, version, rng).encode(version)
    return struct.pack(">H", number) + (plain(body, most - 2) if seed & 16 else body)[: most - 2]


def _one_of_each() -> Iterator[bytes]:
    for number, (cls, version) in enumerate(EVERY):
        if number % 12 == 0:
            yield struct.pack(">H", number) + typical(cls, version).encode(version)


@target(seeds=_one_of_each, mutate=_mutated, words=WORDS, max_len=600, budget=(8 << 20, 16 << 10), share=3)
def messages(data: bytes) -> None:
    """bodies of every request and response, in every version"""
    if len(data) < 2:
        return
    cls, version = EVERY[int.from_bytes(data[:2], "big") % len(EVERY)]
    body = data[2:]
    try:
        message = cls.decode(body, version)
    except errors.CodecError as error:
        assert_placed(error, len(body))
        return
    again = message.encode(version)
    assert cls.decode(again, version).encode(version) == again
    if len(body) < 300:
        values = message.to_dict()
        assert cls.from_dict(values).encode(version) == again
        assert repr(message) == repr(cls.decode(again, version))
    if cls.__api_key__ not in (48, 49) or "nan" not in repr(message):
        assert cls.decode(again, version) == message


def _framed(cls: Any, version: int, body: bytes) -> bytes:
    empty = cls() if cls is not protocol.ApiVersionsResponse else cls(error_code=0)
    made = protocol.encode_request if issubclass(cls, protocol.Request) else protocol.encode_response
    whole = made(empty, version, correlation_id=9)
    head = whole[4 : len(whole) - len(empty.encode(version))]
    return struct.pack(">i", len(head) + len(body)) + head + body


@target(seeds=_one_of_each, mutate=_mutated, words=WORDS, max_len=600, traced="schema", budget=(16 << 20, 64 << 10))
def described_messages(data: bytes) -> None:
    """what describe says of every message: each byte once, the decoder's values, the decoder's errors"""
    if len(data) < 2:
        return
    cls, version = EVERY[int.from_bytes(data[:2], "big") % len(EVERY)]
    if cls is protocol.ApiVersionsResponse and data[2:4] == b"\0\x23":
        return  # "unsupported version": its decoder takes whatever follows
    try:
        frame = _framed(cls, version, data[2:])
    except errors.CodecError:
        return
    is_request = issubclass(cls, protocol.Request)
    refused, message = None, None
    try:
        if is_request:
            _, message = protocol.decode_request(frame)
        else:
            _, message = protocol.decode_response(frame, cls.__api_key__, version)
    except errors.CodecError as error:
        refused = error
    how: dict[str, Any] = {"secrets": True, "max_decompressed_bytes": BUDGET}
    found = protocol.describe(frame, **how) if is_request else protocol.describe(
        frame, cls.__api_key__, version, **how
    )  # fmt: skip
    assert_every_byte_is_in_one_leaf(found, len(frame))
    found.to_text(), found.to_json()
    own = [error for error in found.errors if not INSIDE_RECORDS.search(str(error.field))]
    assert bool(own) == (refused is not None), f"{refused!r} against {own}"
    if refused is not None:
        assert type(own[0]) is type(refused)
        assert own[0].offset == refused.offset, f"{own[0]!r} against {refused!r}"
    elif type(message) is cls and "nan" not in repr(message):
        assert plain_message(cls, found["body"], frame) == message.to_dict()


@target(max_len=512, mutate=None, seeds=lambda: [struct.pack(">H", n) + bytes(n % 200) for n in range(0, 1200, 40)])
def drawn_messages(data: bytes) -> None:
    """valid messages, drawn, through every encoder and back"""
    drawing = Drawing(data)
    cls, version = EVERY[drawing.number() % len(EVERY)]
    message = random_message(cls, version, DrawnRandom(drawing))
    try:
        body = message.encode(version)
    except errors.CodecError:
        return  # a text that is no UTF-8, of a version without the field
    decoded = cls.decode(body, version)
    assert decoded == message
    assert decoded.encode(version) == body
    if issubclass(cls, protocol.Request):
        frame = protocol.encode_request(message, version, correlation_id=5, client_id="c")
        parts = protocol.encode_request_parts(message, version, correlation_id=5, client_id="c")
        assert protocol.decode_request(frame)[1] == message
    else:
        frame = protocol.encode_response(message, version, correlation_id=5)
        parts = protocol.encode_response_parts(message, version, correlation_id=5)
    assert b"".join(map(bytes, parts)) == frame


def _frame_seeds() -> Iterator[bytes]:
    for number, (cls, version) in enumerate(EVERY):
        if number % 60 == 0:
            yield bytes([3, 9, 1, number & 0xFF]) + _framed(cls, version, cls().encode(version)) * 2
    yield b"\0\0\0\0\x16\x03\x01\x02\x00\x01"


@target(seeds=_frame_seeds, words=WORDS, max_len=512)
def frames(data: bytes) -> None:
    """a stream of frames cut anywhere, each as a request, as a header and as a response"""
    drawing = Drawing(data)
    cut, max_frame = drawing.byte() + 1, drawing.below(4) * 100 + 50
    key, version = drawing.byte() % 96, drawing.byte() % 20
    stream, receiver, found = drawing.rest(), FrameReceiver(max_frame), []
    try:
        for at in range(0, len(stream), cut):
            if cut % 2:
                found += receiver.feed(stream[at : at + cut])
            else:
                part = stream[at : at + cut]
                room = receiver.buffer(len(part))
                room[: len(part)] = part
                del room
                found += receiver.received(len(part))
            assert receiver.fault is not None or receiver.pending <= max_frame + 4
            receiver.looks_like_tls  # noqa: B018
        if receiver.fault is None:
            assert (
                b"".join(struct.pack(">i", len(f)) + bytes(f) for f in found)
                == stream[: len(stream) - receiver.pending]
            )
    except errors.FrameError:
        pass
    for frame in found[:8]:
        for take in (
            protocol.decode_request_body,
            protocol.decode_request_header,
            lambda body: protocol.decode_response_body(body, key, version),
        ):
            try:
                take(frame)
            except errors.CodecError:
                pass


_TOPICS = (
    "__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata",
    "t",
)  # fmt: skip


def _log_seeds() -> Iterator[bytes]:
    offset_key = b"\x00\x01\x00\x02g0\x00\x02t1\x00\x00\x00\x00"
    value = bytes.fromhex("0004 0000000000000014 00000000 01 000001a1fe6d4267 01 00 10") + bytes(16)
    yield bytes([0, len(offset_key)]) + offset_key + bytes([len(value)]) + value
    yield bytes([3, 255]) + b"\x17" + bytes.fromhex("01 0c 00") + b"\x11metadata.version\x00\x21\x00"
    for control in (0, 1, 2, 3, 4, 5):
        yield bytes([6, 4, 0, 0, 0, control, 6]) + bytes(6)
    for topic in range(6):
        for kind in range(30):
            yield bytes([topic, 4, 0, kind, 0, 1, 20, 1, kind, 0]) + bytes(17)
    blob = bytes.fromhex("0003 00000001 0002 7431 00000000 00000000 ffffffff 0000")
    yield bytes([0, len(blob)]) + blob + bytes([len(blob)]) + blob


@target(seeds=_log_seeds, words=WORDS, max_len=256, traced="schema", budget=(8 << 20, 16 << 10))
def log_records(data: bytes) -> None:
    """keys and values of Kafka's own topics; what group members tell each other"""
    drawing = Drawing(data)
    number = drawing.byte() % (len(_TOPICS) + 1)
    topic = _TOPICS[number % len(_TOPICS)]
    key, value = drawing.blob_or_none(), drawing.blob_or_none()
    found = decode_log_record(topic, key, value, is_control=number == len(_TOPICS))
    for part, raw in zip(found or (), (key, value), strict=False):
        if part is None or raw is None:
            continue
        assert 0 <= part.start <= part.end <= len(raw)
        assert part.problem is None or isinstance(part.problem, errors.CodecError)
        if part.message is not None and part.problem is None and part.version in part.message.__versions__:
            again = part.message.encode(part.version)
            assert type(part.message).decode(again, part.version).encode(part.version) == again
    for raw in filter(None, (key, value)):
        for kind in ("consumer", "connect", "other"):
            protocol.decode_member_metadata(raw, protocol_type=kind)
            protocol.decode_member_assignment(raw, protocol_type=kind)
        for name in ("sticky", "cooperative-sticky", "range"):
            protocol.decode_user_data(name, raw)


def _generation_seeds() -> Iterator[bytes]:
    old, new, draft = protocol.kafka_0_7, protocol.proposal, protocol.draft_0_8
    for body in (old.ProduceRequest(topic="t", messages=b"abc"), old.FetchRequest(topic="t"), old.MultiFetchRequest(),
                 old.MultiProduceRequest(), old.OffsetsRequest(topic="t")):  # fmt: skip
        yield bytes([0, 0]) + old.encode_request(body)
    for number, body in enumerate(
        (old.FetchResponse(messages=b"abc"), old.MultiFetchResponse(), old.OffsetsResponse())
    ):
        yield bytes([1, (1, 2, 4)[number]]) + old.encode_response(body)
    yield bytes([2, 0]) + new.encode_request(new.ProduceRequest())
    yield bytes([2, 0]) + new.encode_request(new.FetchRequest())
    yield bytes([3, 0]) + new.encode_response(new.ProduceResponse())
    yield bytes([3, 1]) + new.encode_response(new.FetchResponse())
    yield bytes([4, 0]) + draft.encode_request(draft.MetadataRequest())
    yield bytes([5, 6]) + draft.encode_response(draft.MetadataResponse())


@target(seeds=_generation_seeds, words=WORDS, max_len=256, traced="schema", share=0.7)
def generations(data: bytes) -> None:
    """frames of Kafka 0.7, of the proposal and of the draft of 0.8"""
    drawing = Drawing(data)
    kind, key = drawing.byte() % 6, drawing.byte() % 8
    frame = drawing.rest()
    old, new, draft = protocol.kafka_0_7, protocol.proposal, protocol.draft_0_8
    decode, encode = [
        (old.decode_request, old.encode_request),
        (lambda raw: old.decode_response(raw, key), None),
        (new.decode_request, new.encode_request),
        (lambda raw: new.decode_response(raw, key), None),
        (draft.decode_request, None),
        (lambda raw: draft.decode_response(raw, key), None),
    ][kind]
    try:
        _, body = decode(frame)
    except (errors.CodecError, errors.FrameError):
        body = None
    if body is not None and encode is not None:
        again = encode(body)
        assert decode(again)[1] == body
    for found in (protocol.describe(frame, generation="0.7"), protocol.describe(frame, key, generation="0.7"),
                  protocol.describe_records(frame, generation="0.7", max_decompressed_bytes=BUDGET)):  # fmt: skip
        assert_every_byte_is_in_one_leaf(found, len(frame))


def _set_seeds() -> Iterator[bytes]:
    for magic in (0, 1, 2):
        for codec in ("none", "gzip", "snappy", "lz4", *(["zstd"] if magic == 2 else [])):
            for topic in (0, 1):
                items = [(b"value", b"k", 5, [("h", b"x")] if magic == 2 else [])]
                yield bytes([1, topic]) + records.encode(items, magic=magic, compression=codec)


@target(seeds=_set_seeds, words=RECORD_WORDS, max_len=256, traced="schema", budget=(16 << 20, 64 << 10))
def described_records(data: bytes) -> None:
    """what describe_records says of record sets: each byte once, and damage where decode finds it"""
    drawing = Drawing(data)
    options, topic = drawing.byte(), _TOPICS[-1 - drawing.byte() % len(_TOPICS)]
    wire = drawing.rest()
    wire = right(wire) if options & 1 else wire
    if wants_a_large_window(wire):
        return
    check = not options & 2
    found = protocol.describe_records(wire, topic=topic, check_crc=check, max_decompressed_bytes=BUDGET)
    assert_every_byte_is_in_one_leaf(found, len(wire))
    found.to_text()
    refused = None
    try:
        records.decode(wire, check_crc=check, max_decompressed_bytes=BUDGET)
    except errors.LimitError:
        return
    except errors.CodecError as error:
        refused = error
    if topic == "t":  # of other topics what keys and values hold is told, too
        assert bool(found.errors) == (refused is not None), f"{refused!r} against {found.errors}"
