"""Linear exchanges over one connection: requests and raw tokens, one after the other."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, protocol
from kwire._codec import Buffer
from kwire.engine.common.addresses import Address
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.flows import Apart, Ask, Flow, Raw, run
from kwire.schema.api_keys import API_VERSIONS
from tests.engine.world import HANG_UP, Answer, Broker, World

A = Address("a", 1)
SASL_HANDSHAKE = 17


class Sasl(Broker):
    """After SaslHandshake v0 every frame is a token, answered by "<token>!", and "end" by an empty one."""

    tokens: list[bytes]

    def __init__(self) -> None:
        super().__init__("1.1.1")
        self.tokens = []
        self.shaken_hands = False
        self.handlers[SASL_HANDSHAKE] = self.handshake

    def handshake(self, message: protocol.SaslHandshakeRequest, version: int, now: float) -> object:
        self.shaken_hands = True
        return protocol.SaslHandshakeResponse(mechanisms=["PLAIN"])

    def answer(self, frame: bytes, now: float) -> Answer:
        if not self.shaken_hands:
            return super().answer(frame, now)
        token = frame[4:]
        self.tokens.append(token)
        if token == b"bad":
            return HANG_UP
        reply = b"" if token == b"end" else token + b"!"
        return [len(reply).to_bytes(4, "big") + reply]


def login(*tokens: bytes) -> Flow[list[bytes]]:
    """The answers to these tokens, after the handshake."""
    frame = yield Ask(SASL_HANDSHAKE, 0, protocol.SaslHandshakeRequest(mechanism="PLAIN"))
    assert protocol.decode_response_body(frame, SASL_HANDSHAKE, 0)[1].mechanisms
    answers = []
    for token in tokens:
        answers.append(bytes((yield Raw(token))))
    return answers


class Exchange:
    """A flow over a fresh connection."""

    def __init__(self, world: World, flow: Flow[list[bytes]]) -> None:
        self.world = world
        self.result: list[bytes] | None = None
        self.error: Exception | None = None
        self.flow = flow
        world.core._connections.open(A, world.now, self.made, self.lost)

    def made(self, connection: Connection, now: float) -> None:
        run(connection, self.flow, self.done, self.failed, now, self.world.core.run_apart)

    def lost(self, connection: Connection, error: errors.KafkaError, now: float) -> None:
        pass

    def done(self, result: list[bytes], now: float) -> None:
        self.result = result

    def failed(self, error: errors.KafkaError, now: float) -> None:
        self.error = error

    def ended(self) -> bool:
        return self.result is not None or self.error is not None


def test_tokens_are_frames_without_a_header() -> None:
    broker = Sasl()
    world = World({A: broker})
    exchange = Exchange(world, login(b"\0alice\0secret", b"x", b"end"))
    world.run(exchange.ended)
    assert broker.tokens == [b"\0alice\0secret", b"x", b"end"]
    assert exchange.result == [b"\0alice\0secret!", b"x!", b""]


def test_a_token_that_is_refused_ends_the_flow() -> None:
    world = World({A: Sasl()})
    exchange = Exchange(world, login(b"bad"))
    world.run(exchange.ended)
    assert isinstance(exchange.error, errors.ConnectError)


def test_requests_follow_tokens_on_the_same_connection() -> None:
    broker = Sasl()
    world = World({A: broker})

    def flow() -> Flow[list[bytes]]:
        yield from login(b"x")
        broker.shaken_hands = False
        frame = yield Ask(API_VERSIONS, 0, protocol.ApiVersionsRequest())
        assert protocol.decode_response_body(frame, API_VERSIONS, 0)[1].error_code == 0
        return [b"asked"]

    exchange = Exchange(world, flow())
    world.run(exchange.ended)
    assert exchange.result == [b"asked"]
    assert broker.connections == 1


def test_what_a_flow_raises_is_its_error() -> None:
    def flow() -> Flow[list[bytes]]:
        frame: Buffer = yield Ask(SASL_HANDSHAKE, 0, protocol.SaslHandshakeRequest(mechanism="PLAIN"))
        raise errors.AuthError(f"{len(frame)} bytes")

    world = World({A: Sasl()})
    exchange = Exchange(world, flow())
    world.run(exchange.ended)
    with pytest.raises(errors.AuthError):
        raise exchange.error or AssertionError


def test_a_last_token_without_an_answer_is_over_when_it_is_written() -> None:
    def flow() -> Flow[list[bytes]]:
        yield Ask(SASL_HANDSHAKE, 0, protocol.SaslHandshakeRequest(mechanism="GSSAPI"))
        return [(yield Raw(b"last", answered=False))]

    world = World({A: Sasl()})
    exchange = Exchange(world, flow())
    world.run(exchange.ended)
    assert exchange.result == [None]


def apart(function: Any) -> Flow[list[bytes]]:
    """The answers to a token that a function makes, and what it raises as a token."""
    yield Ask(SASL_HANDSHAKE, 0, protocol.SaslHandshakeRequest(mechanism="PLAIN"))
    try:
        token, _ = yield Apart(function, "the function")
    except OSError as error:
        token = str(error).encode()
    return [bytes((yield Raw(token)))]


def raise_error() -> bytes:
    raise OSError("not there")


@pytest.mark.parametrize(("function", "answer"), [(lambda: b"made", b"made!"), (raise_error, b"not there!")])
def test_a_function_runs_apart_and_its_result_comes_back(function: Any, answer: bytes) -> None:
    world = World({A: Sasl()})
    exchange = Exchange(world, apart(function))
    world.run(exchange.ended)
    assert exchange.result == [answer]


def test_the_step_of_a_flow_can_be_asked_for_and_its_end_comes_too_late_for_a_closed_connection() -> None:
    world = World({A: Sasl()})
    waiting: list[Any] = []
    world.core.run_apart = lambda *calls: waiting.append(calls)
    exchange = Exchange(world, apart(lambda: b"token"))
    world.run(lambda: bool(waiting))
    [connection] = world.open
    assert connection.step == "the function"
    world.lose(connection, "reset")
    function, on_result, on_error = waiting.pop()
    on_result(function(), world.now)
    on_error(OSError(), world.now)
    world.run(world.now + 1)
    assert not exchange.ended()


def test_what_the_driver_says_of_a_refusal_is_kept() -> None:
    world = World({A: Sasl()})
    exchange = Exchange(world, login(b"x"))
    lost: list[errors.KafkaError] = []
    exchange.lost = lambda connection, error, now: lost.append(error)  # type: ignore[method-assign]
    refusal = errors.AuthError(step="TLS handshake", reason="certificate has expired")
    world.core._connections.open(A, world.now, exchange.made, exchange.lost)
    _kind, connection = world.core.events.pop()
    world.core.connection_lost(connection, refusal, world.now)
    assert lost == [refusal]
    assert str(refusal) == "a:1, TLS handshake: certificate has expired"
