"""`kwire decode` of logins to real brokers, Kerberos included: the tokens are told apart, and none of them is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire import Admin
from tests.brokers.listeners import USERS
from tests.brokers.plugin import SecureClusterOf
from tests.cli.captures import pcap
from tests.cli.conftest import Kwire, kwire
from tests.cli.recording import Recording

__all__ = ["kwire"]

_TICKET = b"\x60\x82"
_SHOWN_AT_ONCE = 4


@pytest.mark.parametrize(
    ("release", "mechanism"),
    [("0.9.0.1", "GSSAPI"), ("0.10.2.2", "GSSAPI"), ("0.10.2.2", "SCRAM-SHA-512"), ("4.4.0", "GSSAPI")],
)
def test_tokens_are_not_shown(
    secure_kafka: SecureClusterOf, kwire: Kwire, tmp_path: Path, release: str, mechanism: str
) -> None:
    cluster = secure_kafka(release)
    if mechanism not in cluster.listeners.mechanisms:
        pytest.skip("no KDC here")
    login = {} if mechanism == "GSSAPI" else {"sasl_username": "alice", "sasl_password": USERS["alice"]}
    with (
        Recording(cluster.listeners["SASL_PLAINTEXT"].address) as recording,
        Admin(
            f"127.0.0.1:{recording.port}", security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, **login
        ) as admin,
    ):
        admin.list_topics()
    packets = recording.packets
    capture = tmp_path / "login.pcap"
    capture.write_bytes(pcap(packets))
    for form in ([], ["--json"], ["--summary"]):
        outcome = kwire("decode", *form, str(capture))
        text = outcome.out.decode()
        assert "Metadata" in text
        assert "request is not in the capture" not in outcome.err
        assert "belong to no frame" not in outcome.err
        assert [piece for packet in packets for piece in _secret_pieces(packet.data, mechanism) if piece in text] == []
    assert "secret" in text or form == ["--summary"]


def _secret_pieces(data: bytes, mechanism: str) -> list[str]:
    """Parts of the ticket, or of the proof, in a packet, as hex and as text."""
    begin = data.find(_TICKET) if mechanism == "GSSAPI" else data.find(b"p=")
    token = data[begin:] if begin >= 0 else b""
    pieces = [token[at : at + _SHOWN_AT_ONCE] for at in range(8, len(token) - _SHOWN_AT_ONCE, _SHOWN_AT_ONCE)]
    return [piece.hex() for piece in pieces] + [
        piece.decode() for piece in pieces if piece.isascii() and piece.isalnum()
    ]
