"""Whole clients in virtual time, whose brokers' answers are changed on their way: no socket, no thread.

    client-answers  a producer, a transactional one, a reader, members of groups of each kind and a share consumer
                    work on an embedded cluster; the input says which answers are cut, changed, doubled, or replaced by
                    drawn ones of the same API
    sent-records    a producer whose leader answers as drawn, with small batches, many partitions and hostile arguments

Only KafkaErrors come out of a client, and after `_SECONDS` of its time it has not done more than so many steps.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

from kwire import errors, protocol
from kwire._codec import Delivery
from kwire.engine.connections.connection import Connection
from kwire.testing.serving.apis import Answer
from tests.engine.embedded_world import EmbeddedClient
from tests.engine.lying_world import (
    Member,
    NewMember,
    OldTransacting,
    Producing,
    Program,
    Reading,
    Sharing,
    Transacting,
)
from tests.engine.produce_world import Leader, ProducerWorld
from tests.fuzz.classes import look_at
from tests.fuzz.drawing import Drawing, DrawnRandom
from tests.fuzz.targets import target
from tests.schema.messages.random import random_message

MEMORY = (96 << 20, 256 << 10)
_SECONDS = 0.8
_PROGRAMS: tuple[type[Program], ...] = (Producing, Reading, Member, NewMember, Transacting, OldTransacting, Sharing)


class _Answers:
    """Stands between the nodes and their clients, and changes what the drawing says."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._deliver = EmbeddedClient.deliver
        self._send = EmbeddedClient.send_answer
        self._asked: dict[Connection, deque[tuple[int, int, int]]] = {}

    def deliver(self, client: EmbeddedClient, connection: Connection, frame: bytes) -> None:
        header = protocol.decode_request_header(frame[4:])
        row = header.request_api_key, header.request_api_version, header.correlation_id
        self._asked.setdefault(connection, deque()).append(row)
        self._deliver(client, connection, frame)

    def send_answer(self, client: EmbeddedClient, connection: Connection, answer: Answer) -> None:
        key, version, correlation_id = self._asked[connection].popleft()
        how = self._drawing.byte()
        if how == 0 or not answer.parts or not self._drawing.left:
            self._send(client, connection, answer)
            return
        data = b"".join(bytes(part) for part in answer.parts)
        changed = self._changed(how % 8, data, key, version, correlation_id)
        self._send(client, connection, replace(answer, parts=[changed]))

    def _changed(self, how: int, data: bytes, key: int, version: int, correlation_id: int) -> bytes:
        drawing = self._drawing
        if how == 1:
            return data[: drawing.number() % (len(data) + 1)]
        if how == 2:
            return data + data
        if how == 3:
            made = random_message(protocol.APIS[key].response, version, DrawnRandom(drawing))
            with contextlib.suppress(errors.CodecError):
                return protocol.encode_response(made, version, correlation_id=correlation_id)
        body = bytearray(data)
        for _ in range(1 + how % 3):
            at = 4 + drawing.number() % (len(body) - 4)
            body[at : at + 1] = drawing.take(1) or b"\0"
        return bytes(body)


@target(seeds=lambda: [bytes([n % 7, 0, 0, 0, 0, 0, *(m * n & 0xFF for m in range(40))]) for n in range(21)],
        traced="engine", max_len=300, budget=MEMORY, share=2)  # fmt: skip
def client_answers(data: bytes) -> None:
    """clients of every kind on a cluster whose answers are changed on their way"""
    drawing = Drawing(data)
    program = _PROGRAMS[drawing.byte() % len(_PROGRAMS)]
    answers = _Answers(drawing)

    def deliver(client: EmbeddedClient, connection: Connection, frame: bytes) -> None:
        answers.deliver(client, connection, frame)

    def send_answer(client: EmbeddedClient, connection: Connection, answer: Answer) -> None:
        answers.send_answer(client, connection, answer)

    with mock.patch.multiple(EmbeddedClient, deliver=deliver, send_answer=send_answer):
        work = program()
        work.world.run(work.world.now + _SECONDS / 2)
        with contextlib.suppress(errors.KafkaError):
            work.mend()
        work.disconnect()
        work.world.run(work.world.now + _SECONDS / 2)
        look_at(*(client.core for client in work.world.clients))
        for client in work.world.clients:
            client.core.close(work.world.now)  # as users do: what waits for an answer holds what it is to tell
        work.world.agenda.clear()


_FAULTS: tuple[Any, ...] = (None, None, None, "unseen", "unheard", 6, 7, 10, 19, 45, 46, 47, 56, 59, 100, 76, 87, 3, 89)
_VALUES: tuple[Any, ...] = (
    b"", b"v", b"v" * 300, None, bytearray(b"v" * 20), memoryview(b"vv"), "text", 5, b"v" * 5000, b"v" * 9000,
)  # fmt: skip


def _send(world: ProducerWorld, drawing: Drawing) -> Delivery | None:
    partition = drawing.choice((None, None, 0, 1, 5, -1, 2**31, "x"))
    topic: Any = drawing.choice(("t", "t", "u", "none", "", "bad name", 5, b"t"))
    headers: Any = drawing.choice(((), None, [("h", b"x")], [("h", None)], [b"h"], 5, {"h": b"x"}))
    timestamp: Any = drawing.choice((None, 0, -1, -2, 2**63, 1.5))
    more = {"partition": partition, "headers": headers, "timestamp": timestamp, "nowait": True}
    if drawing.byte() > 240:
        more |= drawing.choice(({"callback": print}, {"on_delivery": print}, {"timestamp_ms": 5}))
    with contextlib.suppress(errors.KafkaError, TypeError, ValueError, OverflowError):
        return world.send(drawing.choice(_VALUES), topic, key=drawing.choice(_VALUES), **more)
    return None


def _partition_badly(key: bytes | None, numbers: object, available: object) -> Any:
    if key == b"v":
        raise ValueError(key)
    return {b"": 7, None: 2**70}.get(key, "x")


@target(
    seeds=lambda: [bytes(range(n, n + 60)) for n in range(0, 180, 12)],
    traced="engine/producer",
    max_len=300,
    budget=MEMORY,
)
def sent_records(data: bytes) -> None:
    """a producer whose leader refuses, forgets and hangs up as drawn"""
    drawing = Drawing(data)
    release = drawing.choice(("4.4.0", "4.4.0", "0.11.0.3", "0.10.2.2", "2.8.2"))
    options: dict[str, Any] = {
        "batch_size": drawing.choice((1, 100, 16384)), "linger_ms": drawing.choice((0, 5)),
        "acks": drawing.choice((-1, 1, 0)),
        "compression": drawing.choice(("none", "gzip")), "max_block_ms": 1000, "delivery_timeout_ms": 3000,
        "request_timeout_ms": 1000, "buffer_memory": 1 << 13, "max_request_size": 1 << 12,
        "partitioner": drawing.choice(("default", "random", "murmur2_random", "unknown", _partition_badly)),
    }  # fmt: skip
    if options["acks"] != -1 or drawing.flag():
        options["enable_idempotence"] = False
    leader = Leader(release)
    try:
        world = ProducerWorld(leader, topics={"t": [0, 0], "u": [0]}, **options)
    except errors.ConfigError:
        return
    leader.most_records = drawing.choice((1_000_000, 1, 3))
    sent: list[Delivery] = []
    while drawing.left:
        leader.script.append(drawing.choice(_FAULTS))
        sent += filter(None, [_send(world, drawing) for _ in range(1 + drawing.below(5))])
        if drawing.flag():
            world.run(world.now + drawing.choice((0.001, 0.1, 1.0)))
        for delivery in sent[-1:]:
            if drawing.byte() > 200:
                delivery.add_done_callback(_reenter(world, sent))
    leader.script.clear()
    look_at(world.core, world.accumulator, world.sender, sent)
    world.run(lambda: all(delivery.done() for delivery in sent))
    for delivery in sent:
        assert isinstance(delivery.exception(), errors.KafkaError | None)
    world.core.close(world.now)
    while world.core.after_step:
        world.core.after_step.popleft()()


def _reenter(world: ProducerWorld, sent: list[Delivery]) -> Callable[[Delivery], None]:
    def again(delivery: Delivery) -> None:
        with contextlib.suppress(errors.KafkaError):
            sent.append(world.send(b"again", "t"))

    return again
