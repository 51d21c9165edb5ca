"""GSSAPI with a Kerberos of the test's own: its tokens, its errors, and the way in that Kafka 0.9 wants."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.common.request import ANY
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.sasl.gssapi import gssapi
from kwire.schema.api_keys import API_VERSIONS, METADATA
from tests.engine.connections.sasl.broker import SASL_HANDSHAKE, A, SaslBroker, settings
from tests.engine.connections.sasl.flows import play, say
from tests.engine.world import HANG_UP, SILENCE, Answer, Broker, Outcome, World

OFFER = b"wrapped:\x07\x00\x10\x00"


class GssError(Exception):
    """As gssapi.exceptions.GSSError has it."""

    def __init__(self, text: str, min_code: int) -> None:
        super().__init__(text)
        self.min_code = min_code


class Context:
    """Says "one", and after the broker's "two" nothing more."""

    initiator_name = "alice@REALM"

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.complete = False
        made.append(self)

    def step(self, token: bytes | None = None) -> bytes | None:
        if fault := faults.get("step"):
            raise fault
        if token is None:
            return b"one"
        assert token == b"two", token
        self.complete = "endless" not in faults
        return None

    def unwrap(self, data: bytes) -> Any:
        if not data.startswith(b"wrapped:"):
            raise GssError("Token was invalid", 0)
        return SimpleNamespace(message=data.removeprefix(b"wrapped:"))

    def wrap(self, data: bytes, encrypt: bool) -> Any:
        assert not encrypt
        return SimpleNamespace(message=b"wrapped:" + data)


made: list[Context] = []
faults: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _kerberos(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    faults.clear()
    flags = SimpleNamespace(mutual_authentication=2, out_of_sequence_detection=8, integrity=32)
    library = SimpleNamespace(
        Name=lambda text, kind: (text, kind),
        NameType=SimpleNamespace(hostbased_service="service", kerberos_principal="principal"),
        MechType=SimpleNamespace(kerberos="krb5"),
        RequirementFlag=flags,
        SecurityContext=Context,
        Credentials=lambda **given: given,
    )
    monkeypatch.setitem(sys.modules, "gssapi", library)


def test_the_tokens_are_those_of_the_rfc() -> None:
    said, ran = play(gssapi(say, "kafka", "host.example"), [b"two", OFFER])
    assert said == [b"one", b"", b"wrapped:\x01\0\0\0alice@REALM"]
    assert set(ran) == {"Kerberos"}
    [context] = made
    assert context.given["name"] == ("kafka@host.example", "service")
    assert context.given["creds"] is None
    assert context.given["flags"] == 42


def test_a_principal_and_a_key_table_are_used() -> None:
    play(gssapi(say, "kafka", "h", "alice@REALM", "/keys"), [b"two", OFFER])
    [context] = made
    assert context.given["creds"] == {
        "name": ("alice@REALM", "principal"),
        "usage": "initiate",
        "store": {"client_keytab": "/keys"},
    }


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([b"two", b"wrapped:\x06\0\0\0"], "demands a security layer"),
        ([b"two", b"wrapped:\x01\0\0"], "in 3 bytes instead of 4"),
        ([b"two", b"junk"], "Token was invalid"),
        ([b"junk"], "AssertionError"),
    ],
)
def test_what_the_broker_may_not_say_is_refused(answers: list[bytes], reason: str) -> None:
    with pytest.raises(errors.AuthError, match=reason if reason != "AssertionError" else None) as raised:
        play(gssapi(say, "kafka", "h"), answers)
    assert raised.value.step == "Kerberos"


def test_a_kerberos_without_an_end_is_left() -> None:
    faults["endless"] = True
    with pytest.raises(errors.AuthError, match="not finish within 16 tokens"):
        play(gssapi(say, "kafka", "h"), [b"two"] * 16)


def test_an_unreachable_kdc_may_be_reached_later() -> None:
    faults["step"] = GssError("Cannot contact any KDC for realm", 2529639068)
    with pytest.raises(errors.ConnectError, match="Cannot contact any KDC"):
        play(gssapi(say, "kafka", "h"), [])


def test_a_missing_ticket_is_told() -> None:
    faults["step"] = GssError("No Kerberos credentials available", 2529639053)
    with pytest.raises(errors.AuthError, match="No Kerberos credentials available"):
        play(gssapi(say, "kafka", "h"), [])


def test_the_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(errors.AuthError, match=r'pip install "kwire\[gssapi\]"'):
        play(gssapi(say, "kafka", "h"), [])


# -- the exchange with brokers ------------------------------------------------------------------------------------


class Kerberos:
    """The broker's side."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    @property
    def done(self) -> bool:
        return len(self.heard) == 3

    def answer(self, token: bytes) -> bytes:
        self.heard.append(token)
        return [b"two", OFFER, b""][len(self.heard) - 1]


class SaslKerberos(SaslBroker):
    """0.10 and later."""

    def __init__(self, release: str = "4.4.0") -> None:
        super().__init__(release, mechanisms=("GSSAPI",))

    def server(self, mechanism: str) -> Any:
        return Kerberos()

    def bare_token(self, door: Any, token: bytes, now: float) -> Answer:
        answer = super().bare_token(door, token, now)
        return SILENCE if door.server.done else answer  # nothing answers the last token


class Before010(Broker):
    """0.9: takes the first bytes of a connection for a token, and knows neither ApiVersions nor SaslHandshake."""

    def __init__(self, *, silent: bool = False) -> None:
        super().__init__("0.9.0.1")
        self.doors: dict[Connection, Kerberos] = {}
        self.silent = silent
        self.strangers = 0

    def answer_on(self, connection: Connection, frame: bytes, now: float) -> Answer:
        door = self.doors.setdefault(connection, Kerberos())
        if door.done:
            return self.answer(frame, now)
        if not door.heard and frame[4:] != b"one":
            self.strangers += 1
            return SILENCE if self.silent else HANG_UP
        answer = door.answer(frame[4:])
        return SILENCE if door.done else [len(answer).to_bytes(4, "big") + answer]


def ask(world: World) -> Outcome:
    outcome = world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))
    world.run(lambda: outcome.ended)
    return outcome


@pytest.mark.parametrize("release", ["4.4.0", "1.1.1", "0.10.2.2"])
def test_a_client_logs_in_by_kerberos(release: str) -> None:
    broker = SaslKerberos(release)
    world = World({A: broker}, settings("GSSAPI"))
    assert ask(world).error is None
    assert (broker.connections, len(broker.logins)) == (1, 1)


@pytest.mark.parametrize("silent", [False, True])
def test_a_broker_of_0_9_gets_tokens_before_any_request(silent: bool) -> None:
    broker = Before010(silent=silent)
    world = World({A: broker}, settings("GSSAPI"))
    begin = world.now
    assert ask(world).error is None
    assert world.now - begin < 0.5
    [node] = world.core._nodes.values()
    assert node.versions is not None
    assert node.versions.before_0_10
    strangers = broker.strangers
    world.lose_all(A)
    assert ask(world).error is None
    assert broker.strangers == strangers  # what is known to be old gets its tokens first


def test_a_broker_of_0_9_that_is_replaced_is_found_out() -> None:
    old, new = Before010(), SaslKerberos()
    world = World({A: old}, settings("GSSAPI"))
    assert ask(world).error is None
    world.lose_all(A)
    world.peers[A] = new
    assert ask(world).error is None
    [node] = world.core._nodes.values()
    assert node.versions is not None
    assert not node.versions.before_0_10


class LateApiVersions(SaslKerberos):
    """Answers ApiVersions after a second, and takes tokens without a handshake meanwhile, as 0.10 to 3.9 do."""

    def answer_on(self, connection: Connection, frame: bytes, now: float) -> Answer:
        if frame[4:] == b"one":
            self.doors.setdefault(connection, self.door()).state = "tokens"
            self.doors[connection].server = Kerberos()
        if int.from_bytes(frame[4:6], "big") == API_VERSIONS:
            self.holds = 1.0
        return super().answer_on(connection, frame, now)

    @staticmethod
    def door() -> Any:
        from tests.engine.connections.sasl.broker import Door

        return Door()


def test_a_late_answer_to_api_versions_and_a_bare_login_race_to_one_connection() -> None:
    broker = LateApiVersions()
    world = World({A: broker}, settings("GSSAPI"))
    assert ask(world).error is None
    world.run(world.now + 5)
    assert len(world.open) == 1
    [node] = world.core._nodes.values()
    assert node.versions is not None
    assert not node.versions.before_0_10


def test_a_broker_of_0_9_that_refuses_the_token_is_told() -> None:
    class Refuses(Before010):
        def answer_on(self, connection: Connection, frame: bytes, now: float) -> Answer:
            return HANG_UP

    world = World({A: Refuses()}, settings("GSSAPI"))
    begin = world.now
    outcome = ask(world)
    while not isinstance(outcome.error, errors.AuthError):
        assert world.now - begin < 4
        outcome = ask(world)
    assert outcome.error.step == "the tokens of GSSAPI"


def test_the_handshake_is_not_asked_of_an_old_broker() -> None:
    broker = Before010()
    world = World({A: broker}, settings("GSSAPI"))
    assert ask(world).error is None
    assert not any(key == SASL_HANDSHAKE for key, _, _ in broker.requests)
