"""The embedded broker's front door: whatever a client sends, no request and no timer of the broker may fail.

    broker-requests   drawn requests of every API about topics and groups that exist, valid or damaged, on connections
                      that close, while the broker's time goes on
    broker-frames     bytes as frames

Errors inside the broker come out of `InProcess`; over a socket they would end the connection and be logged.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from kwire import errors, protocol, records
from kwire.schema.fields import Field
from kwire.testing.requests import CloseConnectionError
from kwire.testing.sasl import Accounts
from kwire.testing.serving.apis import Answer
from tests.fuzz.drawing import Drawing, DrawnRandom
from tests.fuzz.targets import target
from tests.schema.messages.random import random_message
from tests.schema.messages.typical import typical
from tests.testing.in_process import InProcess

MEMORY = (64 << 20, 256 << 10)
_TOPIC = "orders"
_NAMES = (_TOPIC, "g", "", "more", "member", "range", "consumer", "client")
_MOST_STEPS = 50


def _requests() -> list[tuple[Any, int]]:
    served = protocol.versions_of("4.4.0")
    return [(protocol.APIS[key].request, version) for key, (least, most) in sorted(served.items())
            for version in range(least, most + 1)]  # fmt: skip


REQUESTS = _requests()
_BATCHES = (records.encode([b"v"]), records.encode([b"v", b"w"], producer_id=1, producer_epoch=0, base_sequence=0),
            records.encode([b"v"], magic=1), b"", b"x" * 70)  # fmt: skip


def aim(struct_: Any, fields: tuple[Field, ...], drawing: Drawing, names: Sequence[str] = _NAMES) -> None:
    """Names, partitions and records that are random become, mostly, those that the broker has."""
    for field in fields:
        value = getattr(struct_, field.name)
        how = drawing.byte()
        if field.struct is not None and value is not None:
            for each in value if isinstance(value, list | tuple) else [value]:
                aim(each, field.struct.__fields__, drawing, names)
        elif how < 60:
            continue
        elif field.kind == "string":
            setattr(struct_, field.name, drawing.choice(names))
        elif field.kind == "array" and field.element == "string":
            setattr(struct_, field.name, [drawing.choice(names)])
        elif field.kind == "records":
            setattr(struct_, field.name, drawing.choice(_BATCHES))
        elif field.kind in ("int16", "int32", "int64") and how < 200:
            setattr(struct_, field.name, drawing.below(4) - 1)


def _drawn_frame(drawing: Drawing, broker: InProcess) -> bytes:
    cls, version = REQUESTS[drawing.number() % len(REQUESTS)]
    message = random_message(cls, version, DrawnRandom(drawing)) if drawing.flag() else typical(cls, version)
    aim(message, cls.__fields__, drawing)
    try:
        frame = protocol.encode_request(message, version, correlation_id=7, client_id="c")[4:]
    except errors.CodecError:
        return b""
    if drawing.byte() > 230:
        at = drawing.number() % len(frame)
        frame = frame[:at] + drawing.take(drawing.below(5)) + frame[at + drawing.below(5) :]
    return frame


def _serve(broker: InProcess, serve: Any, frame: bytes, drawing: Drawing) -> bool:
    """Plays the request to its answer; whether the connection goes on."""
    flow = serve(frame)
    try:
        for _ in range(_MOST_STEPS):
            suspended = next(flow)
            due = broker.cluster.timers.next_due
            soonest = suspended.until if due is None else min(suspended.until, due)
            broker.advance(max(0.0, min(soonest - broker.now, 1000.0)))
        flow.close()
    except StopIteration as finished:
        answer: Answer = finished.value
        b"".join(bytes(part) for part in answer.parts)
        return answer.close_reason is None
    except CloseConnectionError:
        return False
    return drawing.flag()


def _broker(drawing: Drawing) -> InProcess:
    accounts = (
        Accounts({"user": "secret"}, ("PLAIN", "SCRAM-SHA-256"), clock=lambda: 1000.0) if drawing.byte() > 220 else None
    )
    broker = InProcess("4.4.0", accounts)
    broker.cluster.create_topic(_TOPIC, 2)
    return broker


@target(seeds=lambda: [bytes([n, (n * 7) & 0xFF, n >> 3, *range(n, n + 40)]) for n in range(0, 200, 3)],
        traced="testing", max_len=400, budget=MEMORY, share=1.5)  # fmt: skip
def broker_requests(data: bytes) -> None:
    """drawn requests of every API to the embedded broker, about what it has"""
    drawing = Drawing(data)
    broker = _broker(drawing)
    connection = broker.nodes[1].connect()
    for _ in range(6):
        if not drawing.left:
            break
        if not _serve(broker, connection, _drawn_frame(drawing, broker), drawing):
            connection.close()
            connection = broker.nodes[1].connect()
        broker.advance(drawing.choice((0.0, 0.1, 5.0, 60.0, 1e6)))
    connection.close()
    broker.advance(100.0)


def _frame_seeds() -> Iterator[bytes]:
    for number, (cls, version) in enumerate(REQUESTS):
        if number % 9 == 0:
            frame = protocol.encode_request(typical(cls, version), version, correlation_id=7, client_id="c")[4:]
            yield b"\0" + struct.pack(">H", len(frame)) + frame


@target(seeds=_frame_seeds, traced="testing", max_len=700, budget=MEMORY)
def broker_frames(data: bytes) -> None:
    """bytes as requests to the embedded broker"""
    drawing = Drawing(data)
    broker = _broker(drawing)
    connection = broker.nodes[1].connect()
    for _ in range(6):
        if drawing.left and not _serve(broker, connection, drawing.take(drawing.number()), drawing):
            connection.close()
            connection = broker.nodes[1].connect()
    connection.close()
