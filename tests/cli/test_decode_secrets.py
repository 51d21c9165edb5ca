"""`kwire decode` shows no secret unless it is asked to: tokens of every mechanism and framing, settings, SCRAM keys."""

from __future__ import annotations

import base64
import itertools
import time
from pathlib import Path
from typing import Any

import pytest

from kwire import Admin, protocol, records
from kwire.errors import AuthError
from kwire.testing import Broker
from kwire.testing.sasl.oauthbearer import unsecured_token
from tests.cli.captures import Packet, Wire, pcap
from tests.cli.conftest import Kwire
from tests.cli.recording import Recording

SECRET = b"hunter2-Zxqvjky"
FORMS: list[list[str]] = [[], ["--json"], ["--summary"], ["--summary", "--json"]]

SCRAM_FIRST = b"n,,n=alice,r=nonce"
SCRAM_LAST = b"c=biws,r=nonceserver,p=" + base64.b64encode(SECRET)
TOKENS = {
    "PLAIN": [b"\0alice\0" + SECRET],
    "PLAIN with authorization id": [b"admin\0alice\0" + SECRET],
    "PLAIN, one letter": [b"\0a\0" + SECRET],
    "PLAIN, an API's key": [b"\0A\0" + SECRET],
    "PLAIN without a user": [b"\0\0" + SECRET],
    "SCRAM": [SCRAM_FIRST, SCRAM_LAST],
    "OAUTHBEARER": [b"n,,\x01auth=Bearer " + SECRET + b"\x01\x01"],
    "GSSAPI": [b"\x60\x48" + SECRET, b"", b"\x05\x04\x04\xff" + SECRET],
}


def shown(data: bytes) -> list[str]:
    """The forms in which four or more bytes of a secret could be shown."""
    parts = [data[at : at + 4] for at in range(len(data) - 3)]
    found = [text for part in parts for text in (part.decode(), part.hex(), str(int.from_bytes(part, "big")))]
    return found + [base64.b64encode(data[at:])[4:12].decode() for at in range(3)]


def assert_masked(text: str, secret: bytes = SECRET) -> None:
    assert [form for form in shown(secret) if form in text] == []


def request(message: Any, version: int, correlation_id: int = 1) -> bytes:
    return protocol.encode_request(message, version, correlation_id=correlation_id, client_id="app")


def response(message: Any, version: int, correlation_id: int = 1) -> bytes:
    return protocol.encode_response(message, version, correlation_id=correlation_id)


def framed(token: bytes) -> bytes:
    return len(token).to_bytes(4, "big") + token


def handshake(version: int) -> bytes:
    return request(protocol.SaslHandshakeRequest(mechanism="PLAIN"), version)


def metadata(correlation_id: int) -> tuple[bytes, bytes]:
    return (
        request(protocol.MetadataRequest(topics=None), 12, correlation_id),
        response(protocol.MetadataResponse(), 12, correlation_id),
    )


def login(tokens: list[bytes], *, answered: bool = True, announced: bool = True) -> Wire:
    """SaslHandshake v0, the tokens as they are, each with an answer but GSSAPI's last, then Metadata."""
    wire = Wire().open()
    if announced:
        wire.ask(handshake(0))
        if answered:
            wire.answer(response(protocol.SaslHandshakeResponse(mechanisms=["PLAIN"]), 0))
    for number, token in enumerate(tokens, 1):
        wire.ask(framed(token))
        if answered and not (number == len(tokens) and token.startswith(b"\x05\x04")):
            wire.answer(framed(b"r=nonceserver,s=c2FsdA==,i=4096" if number < len(tokens) else b""))
    asked, answer = metadata(9)
    return wire.ask(asked).answer(answer)


def decoded(kwire: Kwire, folder: Path, data: bytes, *arguments: str) -> str:
    path = folder / "input"
    path.write_bytes(data)
    outcome = kwire("decode", *arguments, str(path))
    return outcome.out.decode() + outcome.err


@pytest.mark.parametrize("mechanism", TOKENS)
@pytest.mark.parametrize("form", FORMS)
def test_tokens_without_a_header(kwire: Kwire, tmp_path: Path, mechanism: str, form: list[str]) -> None:
    text = decoded(kwire, tmp_path, pcap(login(TOKENS[mechanism]).packets), *form)
    assert_masked(text)
    assert text.count("Metadata") >= 2
    assert "not in the capture" not in text
    assert "belong to no frame" not in text


@pytest.mark.parametrize("mechanism", TOKENS)
def test_tokens_are_shown_when_asked_for(kwire: Kwire, tmp_path: Path, mechanism: str) -> None:
    capture = pcap(login(TOKENS[mechanism]).packets)
    wanted = base64.b64encode(SECRET) if mechanism == "SCRAM" else SECRET
    assert wanted.decode() in decoded(kwire, tmp_path, capture, "--secrets")


@pytest.mark.parametrize("mechanism", TOKENS)
def test_tokens_whose_context_is_not_captured(kwire: Kwire, tmp_path: Path, mechanism: str) -> None:
    """Without answers, without the handshake, or cut off by a small snap length."""
    whole = login(TOKENS[mechanism])
    cut = [Packet(packet.data, packet.time_ns, 14 + 52 + 15) for packet in whole.packets]
    bare = login(TOKENS[mechanism], announced=False)
    captures = [login(TOKENS[mechanism], answered=False).packets, cut, bare.packets, bare.packets[3:]]
    for packets, form, port in itertools.product(captures, FORMS[:4], ([], ["--port", "9092"])):
        assert_masked(decoded(kwire, tmp_path, pcap(packets), *form, *port))


@pytest.mark.parametrize("mechanism", TOKENS)
def test_frames_without_a_capture(kwire: Kwire, tmp_path: Path, mechanism: str) -> None:
    tokens = b"".join(map(framed, TOKENS[mechanism]))
    for data in (handshake(0) + tokens + metadata(9)[0], tokens, framed(TOKENS[mechanism][-1])):
        for form in (*FORMS, ["--as", "frames"], ["--as", "records"], ["--at", "30"]):
            assert_masked(decoded(kwire, tmp_path, data, *form))
            assert_masked(decoded(kwire, tmp_path, data[:-3], *form))


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("mechanism", TOKENS)
def test_tokens_in_requests(kwire: Kwire, tmp_path: Path, mechanism: str, version: int) -> None:
    wire = Wire().open().ask(handshake(1))
    wire.answer(response(protocol.SaslHandshakeResponse(mechanisms=["PLAIN"]), 1))
    for number, token in enumerate(TOKENS[mechanism], 2):
        wire.ask(request(protocol.SaslAuthenticateRequest(auth_bytes=token), version, number))
        wire.answer(response(protocol.SaslAuthenticateResponse(auth_bytes=SECRET), version, number))
    for form in FORMS:
        assert_masked(decoded(kwire, tmp_path, pcap(wire.packets), *form))
    cut = [Packet(packet.data, packet.time_ns, 14 + 52 + 40) for packet in wire.packets]
    assert_masked(decoded(kwire, tmp_path, pcap(cut)))


def alter_configs() -> bytes:
    resource = protocol.IncrementalAlterConfigsRequest.AlterConfigsResource
    setting = resource.AlterableConfig(name="ssl.key.password", value=SECRET.decode())
    return request(protocol.IncrementalAlterConfigsRequest(resources=[resource(configs=[setting])]), 1)


def alter_scram() -> bytes:
    upsertion = protocol.AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    user = upsertion(name="alice", mechanism=2, iterations=4096, salt=b"salt", salted_password=SECRET)
    return request(protocol.AlterUserScramCredentialsRequest(upsertions=[user]), 0)


def renew_token() -> bytes:
    return request(protocol.RenewDelegationTokenRequest(hmac=SECRET), 2)


def wrapped() -> bytes:
    return request(protocol.EnvelopeRequest(request_data=alter_scram()), 0)


@pytest.mark.parametrize("make", [alter_configs, alter_scram, renew_token, wrapped])
def test_secrets_in_requests(kwire: Kwire, tmp_path: Path, make: Any) -> None:
    data = make()
    for form in (*FORMS, *(["--at", str(at)] for at in range(len(data) - len(SECRET) - 2, len(data)))):
        assert_masked(decoded(kwire, tmp_path, data, *form))
    for size in range(14, len(data)):
        assert_masked(decoded(kwire, tmp_path, data[:size]))


def described(version: int, *, sensitive: bool) -> bytes:
    result = protocol.DescribeConfigsResponse.DescribeConfigsResult
    setting = result.DescribeConfigsResourceResult
    synonym = setting.DescribeConfigsSynonym(name="ssl.key.password", value=SECRET.decode(), source=1)
    found = setting(name="ssl.key.password", value=SECRET.decode(), is_sensitive=sensitive, synonyms=[synonym])
    return response(protocol.DescribeConfigsResponse(results=[result(configs=[found])]), version)


@pytest.mark.parametrize("version", range(5))
def test_settings_that_are_marked_sensitive(kwire: Kwire, tmp_path: Path, version: int) -> None:
    """In an answer that is cut off before the mark as well."""
    answers = ("--response", f"DescribeConfigs:{version}")
    data = described(version, sensitive=True)
    for size in (*range(20, len(data), 3), len(data)):
        assert_masked(decoded(kwire, tmp_path, data[:size], *answers))
        assert_masked(decoded(kwire, tmp_path, data[:size], *answers, "--json"))
    assert SECRET.decode() in decoded(kwire, tmp_path, data, *answers, "--secrets")
    assert SECRET.decode() in decoded(kwire, tmp_path, described(version, sensitive=False), *answers)


@pytest.mark.parametrize(
    "form", [["decode"], ["dump", "--records"], ["dump", "--json", "-r"], ["dump", "--output=value"]]
)
def test_the_log_of_metadata(kwire: Kwire, tmp_path: Path, form: list[str]) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    path = folder / f"{0:020d}.log"
    scram = protocol.logs.UserScramCredentialRecord(name="alice", stored_key=SECRET).to_log(0)
    setting = protocol.logs.ConfigRecord(name="ssl.key.password", value=SECRET.decode()).to_log(0)
    topic = protocol.logs.TopicRecord(name="orders").to_log(0)
    unreadable = (b"\x01\x0b\x7f" + SECRET, None)
    path.write_bytes(records.encode([scram, setting, topic, unreadable]))
    text = kwire(*form, str(path)).out.decode()
    assert_masked(text)
    assert "orders" in text
    assert "Zxqv" in kwire(*form, "--secrets", str(path)).out.decode()


@pytest.mark.parametrize(
    ("release", "mechanism"),
    [
        *(("4.4.0", name) for name in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")),
        *(("0.10.2", name) for name in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
    ],
)
@pytest.mark.parametrize("password", [SECRET.decode(), "wrong-" + SECRET.decode()])
def test_a_login_to_a_broker(kwire: Kwire, tmp_path: Path, release: str, mechanism: str, password: str) -> None:
    """Old releases take tokens without a header, new ones in SaslAuthenticate."""
    users = {"alice": SECRET.decode()}
    token = unsecured_token("alice", time.time(), 60.0)
    login: dict[str, Any] = {"sasl_username": "alice", "sasl_password": password}
    secrets = [password.encode()]
    if mechanism == "OAUTHBEARER":
        login, secrets = {"sasl_oauth_token": lambda: (token, 60.0)}, [token.split(".")[1].encode()]
    with (
        Broker(users=users, mechanisms=[mechanism], release=release) as broker,
        Recording(broker.bootstrap_servers) as recording,
        Admin(
            f"127.0.0.1:{recording.port}", security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, **login
        ) as a,
    ):
        try:
            a.list_topics()
        except AuthError:
            assert password.startswith("wrong")
    secrets += [field[2:] for field in b",".join(packet.data for packet in recording.packets).split(b",")
                if field.startswith(b"p=")]  # fmt: skip
    capture = pcap(recording.packets)
    assert "SCRAM" in mechanism or secrets[0] in capture
    for form in FORMS[:4]:
        text = decoded(kwire, tmp_path, capture, *form)
        assert "SaslHandshake" in text
        for secret in secrets:
            assert_masked(text, secret)
