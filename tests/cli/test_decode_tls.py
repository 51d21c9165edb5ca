"""`kwire decode` says that bytes are TLS, and on which side of a connection it is missing."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from kwire import protocol
from kwire.cli.capture.tls_records import is_tls, what_tls
from tests.cli.captures import Packet, Wire, pcap
from tests.cli.conftest import Kwire

ALERT_VERSION = b"\x15\x03\x03\x00\x02\x02\x46"
DATA = b"\x17\x03\x03\x00\x05\x00\x01\x02\x03\x04"
REQUEST = protocol.encode_request(protocol.ApiVersionsRequest(), 3, correlation_id=1, client_id="app")


def client_hello(name: str | None = "broker1.example") -> bytes:
    out = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    session = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        session.do_handshake()
    return out.read()


def notes(kwire: Kwire, folder: Path, packets: list[Packet], *arguments: str) -> str:
    path = folder / "trace.pcap"
    path.write_bytes(pcap(packets))
    outcome = kwire("decode", "--summary", *arguments, str(path))
    assert outcome.code == 0
    return outcome.err


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (client_hello(), "a TLS ClientHello for 'broker1.example'"),
        (client_hello(None), "a TLS ClientHello"),
        (client_hello()[:60], "a TLS ClientHello"),
        (ALERT_VERSION, "a TLS alert, protocol_version"),
        (b"\x15\x03\x03\x00\x02\x02\xfe", "a TLS alert, number 254"),
        (DATA, "TLS records"),
    ],
    ids=["host", "no-host", "cut", "alert", "unknown-alert", "records"],
)
def test_bytes_of_tls_are_named(kwire: Kwire, tmp_path: Path, data: bytes, what: str) -> None:
    assert is_tls(data)
    assert what_tls(data) == what
    path = tmp_path / "stream.bin"
    path.write_bytes(data)
    for arguments in ([str(path)], ["--hex", data.hex()], ["--as", "frames", str(path)]):
        outcome = kwire("decode", *arguments)
        assert (outcome.code, outcome.out) == (1, b"")
        assert outcome.err.startswith(f"kwire decode: {what}, not Kafka")


def test_every_part_of_a_hello_is_read_safely() -> None:
    hello = client_hello()
    for size in range(5, len(hello)):
        assert what_tls(hello[:size]) in ("TLS records", "a TLS ClientHello", "a TLS ClientHello for 'broker1.example'")
    for at in range(5, len(hello)):
        what_tls(hello[:at] + b"\xff" + hello[at + 1 :])


def test_frames_are_not_taken_for_tls() -> None:
    assert not is_tls(REQUEST)
    assert not is_tls(b"\x16\x03\x01")
    assert not is_tls(b"\x16\x03\x01\xff\xff")


def test_a_connection_with_tls(kwire: Kwire, tmp_path: Path) -> None:
    wire = Wire().open().ask(client_hello()).answer(DATA).ask(DATA).close()
    said = notes(kwire, tmp_path, wire.packets)
    assert "connections with TLS, which cannot be read here: 1" in said
    assert "listener" not in said


@pytest.mark.parametrize("arguments", [[], ["--port", "9092"]])
@pytest.mark.parametrize("server_first", [False, True])
def test_a_capture_that_begins_within_tls(
    kwire: Kwire, tmp_path: Path, arguments: list[str], server_first: bool
) -> None:
    wire = Wire().answer(DATA).ask(DATA) if server_first else Wire().ask(DATA).answer(DATA)
    said = notes(kwire, tmp_path, wire.packets, *arguments)
    assert "connections with TLS, which cannot be read here" in said
    assert "listener" not in said


def test_a_client_without_tls_at_a_listener_with_it(kwire: Kwire, tmp_path: Path) -> None:
    wire = Wire().open().ask(REQUEST).answer(ALERT_VERSION).close()
    said = notes(kwire, tmp_path, wire.packets)
    assert "10.0.0.2:9092 answered a client without TLS by the TLS alert protocol_version: this listener wants" in said


def test_a_client_with_tls_at_a_listener_without_it(kwire: Kwire, tmp_path: Path) -> None:
    closed = Wire().open().ask(client_hello()).close()
    assert "10.0.0.2:9092 did not answer TLS: is this a listener without TLS?" in notes(kwire, tmp_path, closed.packets)
    answered = Wire().open().ask(client_hello()).answer(bytes(8))
    said = notes(kwire, tmp_path, answered.packets)
    assert "10.0.0.2:9092 answered TLS with something else: is this a listener without TLS?" in said
    cut = Wire().open().ask(client_hello())
    assert "listener" not in notes(kwire, tmp_path, cut.packets)


def test_alerts_that_are_not_encrypted(kwire: Kwire, tmp_path: Path) -> None:
    unknown_ca = b"\x15\x03\x03\x00\x02\x02\x30"
    wire = Wire().open().ask(client_hello()).answer(b"\x16\x03\x03\x00\x01\x02").ask(unknown_ca).close()
    assert "connection 1: the client ended TLS with the alert unknown_ca" in notes(kwire, tmp_path, wire.packets)
    refused = Wire().open().ask(client_hello()).answer(b"\x15\x03\x03\x00\x02\x02\x28").close()
    assert "10.0.0.2:9092 ended TLS with the alert handshake_failure" in notes(kwire, tmp_path, refused.packets)
