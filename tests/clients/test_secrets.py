"""No secret of any client is in what people get to see: reprs, dumps, errors, warnings, logs."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import pprint
import socket
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kwire import Admin, Consumer, KafkaError, Producer, aio, errors, protocol
from kwire.testing import Broker
from tests.certificates import PASSWORD, Authority

AUTHORITY = Authority()
ALICE = AUTHORITY.issue("alice", hosts=())
HUSH = "hush-5f1c"
CLIENTS: tuple[Callable[..., Any], ...] = (Producer, Consumer, Admin)
ASYNC_CLIENTS: tuple[Callable[..., Any], ...] = (aio.Producer, aio.Consumer, aio.Admin)


def token() -> tuple[str, float]:
    return HUSH + "-token" * 100, 300.0


def logins(folder: Path) -> dict[str, dict[str, Any]]:
    """Settings that between them have each secret."""
    files = ALICE.write(folder)
    (folder / "trust.p12").write_bytes(AUTHORITY.trust_store)
    sasl = {"security_protocol": "SASL_PLAINTEXT"}
    return {
        "password": {**sasl, "sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": HUSH},
        "scram": {**sasl, "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "alice", "sasl_password": HUSH},
        "jaas": {**sasl, "sasl_jaas_config": f'x.PlainLoginModule required username="alice" password="{HUSH}";'},
        "callable": {**sasl, "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token": token},
        "endpoint": {
            **sasl,
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": "http://127.0.0.1:1/token",
            "sasl_oauthbearer_client_id": "client",
            "sasl_oauthbearer_client_secret": HUSH,
        },
        "key": {
            "security_protocol": "SSL",
            "ssl_certificate_pem": ALICE.pem + ALICE.key_pem,
        },
        "encrypted key": {
            "security_protocol": "SSL",
            "ssl_certificate_pem": ALICE.pem,
            "ssl_key_pem": ALICE.encrypted_key_pem,
            "ssl_key_password": PASSWORD,
        },
        "stores": {
            "security_protocol": "SSL",
            "ssl_keystore_location": files.store,
            "ssl_keystore_password": PASSWORD,
            "ssl_truststore_location": str(folder / "trust.p12"),
            "ssl_truststore_password": PASSWORD,
        },
    }


NAMES = ["password", "scram", "jaas", "callable", "endpoint", "key", "encrypted key", "stores"]


def secrets() -> list[str]:
    keys = [ALICE.key_pem, ALICE.encrypted_key_pem]
    return [HUSH, PASSWORD, *(key.splitlines()[1] for key in keys), *(key.splitlines()[2] for key in keys)]


def assert_none_in(texts: list[str]) -> None:
    found = [text for text in texts for secret in secrets() if secret in text]
    assert found == []


def dumps(client: Any) -> Iterator[str]:
    """What a user or a debugger may print of a client."""
    settings = client.settings
    yield from (repr(client), str(client), f"{client}", repr(settings), str(settings), pprint.pformat(vars(settings)))
    yield from (pprint.pformat(settings.given()), repr(vars(client) if hasattr(client, "__dict__") else ""))
    yield from (f"{name}={value}" for name, value in vars(settings).items())
    yield from attributes(client, set(), 6)


def attributes(thing: object, seen: set[int], depth: int) -> Iterator[str]:
    """The attributes of kwire's objects, and of those that they hold."""
    if id(thing) in seen or not depth or not type(thing).__module__.startswith("kwire"):
        return
    seen.add(id(thing))
    slots = {name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())}
    for name in {*getattr(thing, "__dict__", {}), *slots}:
        value = getattr(thing, name, None)
        yield repr(value)
        yield from attributes(value, seen, depth - 1)


def outcomes(client: Any, timeout: float = 0.3) -> Iterator[BaseException]:
    """The errors of calls that find no broker."""
    calls: list[Callable[[], object]] = [client.close]
    if isinstance(client, Producer):
        calls = [lambda: client.close(timeout=0.1)]
        calls.insert(0, lambda: client.send("topic", b"value").result(timeout=timeout))
    elif isinstance(client, Admin):
        calls.insert(0, lambda: client.list_topics(timeout=timeout))
    else:
        client.assign([("topic", 0)])
        calls.insert(0, lambda: client.poll(timeout=timeout))
    for call in calls:
        try:
            call()
        except KafkaError as error:
            yield error


def told(error: BaseException) -> Iterator[str]:
    yield from (str(error), repr(error), repr(error.args), repr(vars(error)), *traceback.format_exception(error))


@pytest.fixture
def closed_port() -> int:
    with closing(socket.socket()) as door:
        door.bind(("127.0.0.1", 0))
        port: int = door.getsockname()[1]
        return port


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_shown(
    kind: Callable[..., Any], name: str, tmp_path: Path, closed_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    given = logins(tmp_path)[name]
    shown: list[str] = []
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        client = kind(f"127.0.0.1:{closed_port}", default_api_timeout_ms=300, **given)
        shown += dumps(client)
        again = pickle.loads(pickle.dumps(client))
        assert again.settings == client.settings
        shown += dumps(again)
        again.close()
        for error in outcomes(client):
            shown += told(error)
        shown += dumps(client)
    shown += [str(warning.message) for warning in warned]
    shown += [record.getMessage() for record in caplog.records]
    shown.append(caplog.text)
    assert_none_in(shown)


@pytest.mark.parametrize("kind", ASYNC_CLIENTS)
@pytest.mark.parametrize("name", NAMES)
def test_no_client_on_a_loop_shows_a_secret(kind: Callable[..., Any], name: str, tmp_path: Path) -> None:
    client = kind("127.0.0.1:1", **logins(tmp_path)[name])
    again = pickle.loads(pickle.dumps(client))
    assert again.settings == client.settings
    assert_none_in([*dumps(client), *dumps(again)])


@pytest.mark.parametrize("name", NAMES)
def test_a_dotted_configuration_that_is_refused_shows_none(name: str, tmp_path: Path) -> None:
    given = logins(tmp_path)[name]
    config = {key.replace("_", "."): value for key, value in given.items()}
    kind: Any
    for kind in (*CLIENTS, *ASYNC_CLIENTS):
        for fault in ({"linger.mx": 1}, {"security.protocol": "PLAINTEXT"}, {"sasl.password": [HUSH]}):
            with pytest.raises(errors.ConfigError) as caught:
                kind.from_config({**config, **fault})
            assert_none_in(list(told(caught.value)))


def test_misplaced_arguments_are_refused_without_their_content() -> None:
    config = {"bootstrap.servers": "a:1", "sasl.password": HUSH}
    kind: Any
    for kind in (*CLIENTS, *ASYNC_CLIENTS):
        for arguments in ((config,), ("a:1", config), ([config],), ("a:1", [config]), (("a", config),)):
            with pytest.raises(errors.ConfigError) as caught:
                kind(*arguments)
            assert_none_in(list(told(caught.value)))


def test_a_client_with_a_secret_copies_and_pickles(tmp_path: Path) -> None:
    given = logins(tmp_path)["password"]
    with Admin("a:1", **given) as client, copy.copy(client) as copied:
        assert copied.settings.sasl_password.reveal() == HUSH


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers refuse each login with all that they heard in it."""

    def answer(context: Any) -> Any:
        said = bytes(context.request.auth_bytes).decode()
        context.session.fail("refused")
        return protocol.SaslAuthenticateResponse(error_code=58, error_message=f"I heard {said}")

    monkeypatch.setattr("kwire.testing.b36_sasl_authenticate.answer", answer)


def attempts(mechanism: str) -> dict[str, Any]:
    given: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return {**given, "sasl_oauth_token": token}
    return {**given, "sasl_username": "alice", "sasl_password": HUSH}


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_a_refused_login_shows_no_secret(
    kind: Callable[..., Any], mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        Broker(users={"alice": "other"}, mechanisms=[mechanism], topics={"topic": 1}) as broker,
        caplog.at_level(logging.DEBUG),
    ):
        client = kind(broker.bootstrap_servers, default_api_timeout_ms=2000, **attempts(mechanism))
        refusals = list(outcomes(client, 2.0))
        shown = list(dumps(client))
    assert any("I heard" in str(refusal) for refusal in refusals)
    for refusal in refusals:
        shown += told(refusal)
    assert_none_in([*shown, caplog.text])


async def refusals_on_a_loop(kind: Callable[..., Any], servers: str, given: dict[str, Any]) -> list[BaseException]:
    async with kind(servers, default_api_timeout_ms=2000, **given) as client:
        try:
            if isinstance(client, aio.Producer):
                await client.send("topic", b"value")
            elif isinstance(client, aio.Admin):
                await client.list_topics(timeout=2.0)
            else:
                client.assign([("topic", 0)])
                await client.poll(timeout=2.0)
        except KafkaError as error:
            return [error]
    return []


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("kind", ASYNC_CLIENTS)
@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
def test_a_login_refused_on_a_loop_shows_no_secret(
    kind: Callable[..., Any], mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker(users={"alice": "other"}, mechanisms=[mechanism], topics={"topic": 1}) as broker:
        with caplog.at_level(logging.DEBUG):
            refusals = asyncio.run(refusals_on_a_loop(kind, broker.bootstrap_servers, attempts(mechanism)))
    assert any("I heard" in str(refusal) for refusal in refusals)
    assert_none_in([text for refusal in refusals for text in told(refusal)] + [caplog.text])
