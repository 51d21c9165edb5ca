"""No secret of any client is in what people get to see: reprs, dumps, errors, warnings, logs."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
import pprint
import socket
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kwire import Admin, Consumer, KafkaError, Producer, ShareConsumer, aio, errors, legacy, protocol
from kwire.engine.common.secret import Secret
from kwire.testing import Broker
from tests.certificates import PASSWORD, Authority
from tests.each import each

AUTHORITY = Authority()
ALICE = AUTHORITY.issue("alice", hosts=())
HUSH = "hush-5f1c"
CLIENTS: tuple[Callable[..., Any], ...] = (Producer, Consumer, Admin)
ASYNC_CLIENTS: tuple[Callable[..., Any], ...] = (aio.Producer, aio.Consumer, aio.Admin)
Logins = dict[str, dict[str, Any]]


def token() -> tuple[str, float]:
    return HUSH + "-token" * 100, 300.0


def credentials() -> tuple[str, str]:
    return "alice", HUSH


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> Logins:
    """Settings that between them have each secret."""
    folder = tmp_path_factory.mktemp("logins")
    files = ALICE.write(folder)
    (folder / "trust.p12").write_bytes(AUTHORITY.trust_store)
    sasl = {"security_protocol": "SASL_PLAINTEXT"}
    return {
        "password": {**sasl, "sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": HUSH},
        "scram": {**sasl, "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "alice", "sasl_password": HUSH},
        "jaas": {**sasl, "sasl_jaas_config": f'x.PlainLoginModule required username="alice" password="{HUSH}";'},
        "callable": {**sasl, "sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token": token},
        "changing": {**sasl, "sasl_mechanism": "PLAIN", "sasl_credentials": credentials},
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


def told_with_locals(error: BaseException) -> Iterator[str]:
    """What shows the local variables of each frame, too, those of this file left out: they are the user's."""
    yield from told(error)
    yield repr(pickle.loads(pickle.dumps(error)))
    for link in chain_of(error):
        for frame, _ in traceback.walk_tb(link.__traceback__):
            if frame.f_code.co_filename != __file__:
                yield from (f"{name}={value!r}" for name, value in frame.f_locals.items())
        "".join(traceback.TracebackException.from_exception(link, capture_locals=True).format())


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.fixture(autouse=True)
def no_authorities_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here connects by TLS, and to read them takes longer than all else that a client does."""
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    monkeypatch.setenv("SSL_CERT_DIR", "/nowhere")


@pytest.fixture
def closed_port() -> int:
    with closing(socket.socket()) as door:
        door.bind(("127.0.0.1", 0))
        port: int = door.getsockname()[1]
        return port


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_shown(
    kind: Callable[..., Any], name: str, logins: Logins, closed_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    given = logins[name]
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
def test_no_client_on_a_loop_shows_a_secret(kind: Callable[..., Any], name: str, logins: Logins) -> None:
    client = kind("127.0.0.1:1", **logins[name])
    again = pickle.loads(pickle.dumps(client))
    assert again.settings == client.settings
    assert_none_in([*dumps(client), *dumps(again)])


@pytest.mark.parametrize("name", NAMES)
def test_a_dotted_configuration_that_is_refused_shows_none(name: str, logins: Logins) -> None:
    given = logins[name]
    config = {key.replace("_", "."): value for key, value in given.items()}
    kind: Any
    for kind in (*CLIENTS, *ASYNC_CLIENTS):
        for fault in ({"linger.mx": 1}, {"security.protocol": "PLAINTEXT"}, {"sasl.password": [HUSH]}):
            with pytest.raises(errors.ConfigError) as caught:
                kind.from_config({**config, **fault})
            assert_none_in(list(told(caught.value)))


ALL_CLIENTS: tuple[Any, ...] = (*CLIENTS, ShareConsumer, *ASYNC_CLIENTS, aio.ShareConsumer)
FAULTS: dict[str, dict[str, Any]] = {
    "an unknown setting": {"linger_mx": 1},
    "a misspelt one": {"sasl_pasword": HUSH, "ssl.key.pasword": PASSWORD},
    "a conflict": {"security_protocol": "PLAINTEXT"},
    "a value of another type": {"request_timeout_ms": "soon"},
    "a secret of another type": {"sasl_password": [HUSH]},
    "a secret that cannot be encoded": {"sasl_password": HUSH + "\ud800"},
    "another mechanism": {"sasl_mechanism": "KERBEROS"},
    "a file that is not there": {"ssl_ca_location": "/nowhere.pem", "security_protocol": "SSL"},
    "a user in the address": {"bootstrap_servers": f"alice:{HUSH}@host:9092"},
    "a URL with a user for an address": {"bootstrap_servers": f"https://alice:{HUSH}@host:9092"},
    "a user in an address of several": {"bootstrap_servers": ["a:1", f"alice:{HUSH}@host:9092"]},
    "a user in a pair": {"bootstrap_servers": [("a", 1), (f"alice:{HUSH}@host", 9092)]},
    "a JAAS text that cannot be read": {"sasl_jaas_config": f'x.PlainLoginModule required password="{HUSH}" {HUSH};'},
    "a JAAS text of another module": {"sasl_jaas_config": f'x.OtherLoginModule required password="{HUSH}";'},
    "a JAAS option that is a secret": {"sasl_jaas_config": f"x.PlainLoginModule required username=a {HUSH}=b;"},
    "a key that is none": {"security_protocol": "SSL", "ssl_certificate_pem": ALICE.pem, "ssl_key_pem": HUSH},
    "a key without a certificate": {
        "security_protocol": "SSL",
        "ssl_key_pem": ALICE.key_pem,
        "ssl_certificate_pem": None,
        "ssl_keystore_location": None,
    },
    "a key of another password": {
        "security_protocol": "SSL",
        "ssl_certificate_pem": ALICE.pem,
        "ssl_key_pem": ALICE.encrypted_key_pem,
        "ssl_key_password": HUSH,
    },
    "a key of another certificate": {
        "security_protocol": "SSL",
        "ssl_certificate_pem": AUTHORITY.pem,
        "ssl_key_pem": ALICE.key_pem,
    },
    "a user in the endpoint's URL": {
        "sasl_oauthbearer_token_endpoint_url": f"https://me:{HUSH}@id.example/token",
        "sasl_mechanism": "OAUTHBEARER",
    },
}


def refusal_of(make: Callable[[], Any]) -> errors.ConfigError:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(errors.ConfigError) as caught:
            make()
    return caught.value


def dotted(given: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "."): value for key, value in given.items()}


@pytest.mark.parametrize("name", NAMES)
@each("fault", FAULTS)
def test_no_frame_of_a_config_error_has_a_secret(fault: str, name: str, logins: Logins) -> None:
    given = {"bootstrap_servers": "a:1", **logins[name], **FAULTS[fault]}
    servers = given.pop("bootstrap_servers")
    shown: list[str] = []
    for kind in ALL_CLIENTS:
        for make in (
            partial(kind, servers, **given),
            partial(kind, bootstrap_servers=servers, **given),
            partial(kind.from_config, dotted({**given, "bootstrap_servers": servers})),
            partial(kind.from_config, {f"kafka.{key}": value for key, value in dotted(given).items()}, servers),
            partial(kind.from_config, {}, servers, **given),
        ):
            shown += told_with_locals(refusal_of(make))
    assert_none_in(shown)


def test_an_address_with_a_user_is_refused_by_every_client(closed_port: int) -> None:
    for kind in (*ALL_CLIENTS, legacy.Client):
        for servers in (f"alice:{HUSH}@host:9092", [f"alice:{HUSH}@host:9092"], [(f"alice:{HUSH}@host", 9092)]):
            error = refusal_of(partial(kind, servers))
            assert "sasl_username and sasl_password" in str(error)
            assert_none_in(list(told_with_locals(error)))


def test_a_client_that_cannot_be_made_again_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(ALICE.encrypted_key_pem)
    (tmp_path / "certificate.pem").write_text(ALICE.pem)
    files = {"ssl_certificate_location": "certificate.pem", "ssl_key_location": "key.pem"}
    given = {name: str(tmp_path / file) for name, file in files.items()}
    for kind in (*CLIENTS, *ASYNC_CLIENTS):
        client = kind("a:1", security_protocol="SSL", ssl_key_password=PASSWORD, **given)
        pickled = pickle.dumps(client)
        (tmp_path / "certificate.pem").write_text(AUTHORITY.pem)
        assert_none_in(list(told_with_locals(refusal_of(partial(pickle.loads, pickled)))))
        (tmp_path / "certificate.pem").write_text(ALICE.pem)


def test_a_warning_that_is_an_error_shows_no_secret() -> None:
    jaas = f'x.PlainLoginModule required username="alice" password="{HUSH}" {HUSH}="x";'
    for kind in ALL_CLIENTS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning) as caught:
                kind("a:1", security_protocol="SASL_SSL", sasl_jaas_config=jaas)
        assert_none_in(list(told_with_locals(caught.value)))


def test_a_secret_is_its_text_for_those_only_who_ask_for_it() -> None:
    secret = Secret(HUSH)
    made = [json.dumps({"password": secret}), "".join((secret,)), secret + "", secret[:4], secret.upper(), str(secret)]
    made += [
        f"{secret}",
        f"{secret!r:>20}",
        secret.replace("x", "y"),
        repr([secret]),
        *secret.split("-"),
    ]
    assert_none_in(made)
    assert (secret.reveal(), secret.encode(), secret == HUSH, [secret] == [HUSH]) == (HUSH, HUSH.encode(), True, True)
    assert (secret != HUSH, secret != "[hidden]", Secret(secret) == secret, {secret: 1}[HUSH]) == (False, True, True, 1)
    assert (bool(Secret("")), bool(secret), copy.deepcopy(secret).reveal()) == (False, True, HUSH)
    assert (type(secret.reveal()), pickle.loads(pickle.dumps(secret)).reveal()) == (str, HUSH)


def test_what_was_never_open_is_shown_all_the_same() -> None:
    for kind in (*ALL_CLIENTS, legacy.Client, Broker):
        client = kind.__new__(kind)
        assert "not" in repr(client)
        assert "not" in str(client)
    for fault in FAULTS.values():
        for kind in ALL_CLIENTS:
            error = refusal_of(partial(kind, **{"bootstrap_servers": "a:1", "linger_mx": 1, **fault}))
            shown = traceback.TracebackException.from_exception(error, capture_locals=True)
            assert "ConfigError" in "".join(shown.format())


def test_misplaced_arguments_are_refused_without_their_content() -> None:
    config = {"bootstrap.servers": "a:1", "sasl.password": HUSH}
    kind: Any
    for kind in (*CLIENTS, *ASYNC_CLIENTS):
        for arguments in ((config,), ("a:1", config), ([config],), ("a:1", [config]), (("a", config),)):
            with pytest.raises(errors.ConfigError) as caught:
                kind(*arguments)
            assert_none_in(list(told(caught.value)))


def test_a_client_with_a_secret_copies_and_pickles(logins: Logins) -> None:
    given = logins["password"]
    with Admin("a:1", **given) as client, copy.copy(client) as copied:
        assert copied.settings.sasl_password.reveal() == HUSH


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers refuse each login with all that they heard in it."""

    def answer(context: Any) -> Any:
        said = bytes(context.request.auth_bytes).decode()
        context.session.fail("refused")
        return protocol.SaslAuthenticateResponse(error_code=58, error_message=f"I heard {said}")

    monkeypatch.setattr("kwire.testing.answers.b36_sasl_authenticate.answer", answer)


def attempts(mechanism: str) -> dict[str, Any]:
    given: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return {**given, "sasl_oauth_token": token}
    if mechanism == "SCRAM-SHA-256":
        return {**given, "sasl_credentials": credentials}
    return {**given, "sasl_username": "alice", "sasl_password": HUSH}


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
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
