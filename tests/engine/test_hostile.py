"""Answers that are damaged anywhere: nothing but KafkaErrors come out, every request ends, the client goes on."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.settings.clients import ConsumerSettings
from kwire.schema.api_keys import METADATA
from tests.engine.consumer.test_fetcher import T0, T1, LogBroker
from tests.engine.world import HANG_UP, Answer, World

A = Address("a", 1)


def confirm(fetcher: Fetcher, *, arrived: bool) -> None:
    fetcher.hand_out.arrived = arrived
    fetcher.settle()


class Anywhere(dict[Address, Any]):
    """Damaged metadata names brokers anywhere: every address is the same broker."""

    def __missing__(self, address: Address) -> Any:
        return self[A]


class Damaging(LogBroker):
    """Damages `share` of its answers: flipped, dropped or doubled bytes, or a cut."""

    def __init__(self, seed: int, share: float) -> None:
        super().__init__()
        self.topics = {"t": [0, 0]}
        self.rng = random.Random(seed)
        self.share = share
        self.long_poll = True

    def answer(self, frame: bytes, now: float) -> Answer:
        try:
            answer = super().answer(frame, now)
        except AssertionError:
            return HANG_UP
        if not answer or self.rng.random() >= self.share:
            return answer
        return [self.damaged(bytearray(part)) for part in answer]

    def damaged(self, part: bytearray) -> bytes:
        for _ in range(self.rng.randrange(1, 4)):
            at = self.rng.randrange(len(part))
            kind = self.rng.randrange(4)
            if kind == 0:
                part[at] = self.rng.randrange(256)
            elif kind == 1:
                part[at : at + 4] = self.rng.choice([b"\xff" * 4, b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0"])
            elif kind == 2:
                del part[at : at + self.rng.randrange(1, 9)]
            else:
                part[at:at] = part[at : at + self.rng.randrange(1, 9)]
            if not part:
                break
        if self.rng.random() < 0.7 and len(part) >= 4:
            part[:4] = (len(part) - 4).to_bytes(4, "big")
        return bytes(part)


@pytest.mark.parametrize("seed", range(25))
def test_damaged_answers_end_requests_and_nothing_else(seed: int) -> None:
    broker = Damaging(seed, share=0.5)
    for number in range(20):
        broker.append(number % 2, [b"%d" % number] * 3)
    settings = ConsumerSettings(
        bootstrap_servers="a:1",
        auto_offset_reset="earliest",
        request_timeout_ms=500,
        socket_connection_setup_timeout_ms=500,
    )
    world = World(Anywhere({A: broker}), settings)
    fetcher = Fetcher(world.core, settings)
    fetcher.subscription.assign([T0, T1], world.now)
    outcomes = []
    for _ in range(60):
        outcomes.append(
            world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]), deadline=world.now + 2)
        )
        with suppress(errors.KafkaError):
            fetcher.take(None)
        confirm(fetcher, arrived=True)
        fetcher.pump(world.now)
        world.run(world.now + 0.2)
    world.run(world.now + 3.0)
    assert all(outcome.calls == 1 for outcome in outcomes)
    broker.share = 0.0
    for connection in list(world.open):  # what it was told about versions it keeps as long as the connection lives
        world.lose(connection, "reset")
    world.run(world.now + 20.0)
    last = world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]), deadline=world.now + 30)
    world.run(lambda: last.ended)
    assert last.error is None
