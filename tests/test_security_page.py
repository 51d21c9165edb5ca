"""The programs of docs/security.md, run on an embedded broker with the listener that each is for."""

from __future__ import annotations

import re
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from kwire import records, testing
from kwire.testing.certificates import Certificates
from tests.brokers.security.logins import unsecured_token
from tests.snippets import run, snippet

PAGE = "docs/security.md"
_TOPICS = {"payments": 1}
_STORE_PASSWORD = b"hush hush"
_ALICE = {"alice": "secret"}


@pytest.fixture(autouse=True)
def certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    """The files that the page names, in the current folder."""
    ours = Certificates()
    ours.write(tmp_path)
    key = serialization.load_pem_private_key(ours.client_key_pem.encode(), None)
    certificate, ca = (
        x509.load_pem_x509_certificate(pem.encode()) for pem in (ours.client_certificate_pem, ours.ca_pem)
    )
    encryption = serialization.BestAvailableEncryption(_STORE_PASSWORD)
    store = pkcs12.serialize_key_and_certificates(b"key", key, certificate, None, encryption)  # type: ignore[arg-type]
    (tmp_path / "client.p12").write_bytes(store)
    trusted = pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(ca, b"ca")], encryption)
    (tmp_path / "truststore.p12").write_bytes(trusted)
    (tmp_path / "other-ca.pem").write_text(Certificates().ca_pem)
    monkeypatch.chdir(tmp_path)
    return ours


def outcome(broker: testing.Broker, phrase: str, **given: Any) -> dict[str, Any]:
    return run(snippet(PAGE, phrase), servers=broker.bootstrap_servers, **given)


def test_tls(certificates: Certificates, capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker(tls=True, certificates=certificates, topics=_TOPICS) as broker:
        outcome(broker, 'b"17.50"')
        outcome(broker, "create_default_context")
        assert capsys.readouterr().out.strip()
        outcome(broker, "other-ca.pem")
        told = capsys.readouterr().out
        assert broker.bootstrap_servers in told
        assert "| TLS handshake |" in told
        assert "certificate" in told


def test_client_certificates(certificates: Certificates, capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker(tls="mutual", certificates=certificates, topics=_TOPICS) as broker:
        outcome(broker, "for certificate in")
        assert capsys.readouterr().out == "['payments']\n" * 3


def test_passwords(certificates: Certificates, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "kafka").write_text("secret\n")
    with testing.Broker(users=_ALICE, tls=True, certificates=certificates, topics=_TOPICS) as broker:
        outcome(broker, 'b"18.00"')
        outcome(broker, 'b"18.50"')
        outcome(broker, "ScramLoginModule")
        assert capsys.readouterr().out.strip()


def test_tokens(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    signer: Any = types.ModuleType("aws_msk_iam_sasl_signer")
    signer.MSKAuthTokenProvider = _Signer
    monkeypatch.setitem(sys.modules, signer.__name__, signer)
    monkeypatch.setenv("SSL_CERT_FILE", "ca.pem")
    mechanisms = ["OAUTHBEARER"]
    with testing.Broker(
        users=_ALICE, mechanisms=mechanisms, tls=True, certificates=certificates, topics=_TOPICS
    ) as broker:
        outcome(broker, 'b"19.00"', fetch_token=lambda: unsecured_token()()[0])
        outcome(broker, 'b"20.00"')
        assert records.decode(broker.record_set("payments")).values() == [b"19.00", b"20.00"]
    outcome(broker, "token_endpoint_url")


class _Signer:
    """AWS's: a token, and when it ends in milliseconds since 1970."""

    @staticmethod
    def generate_auth_token(region: str) -> tuple[str, int]:
        assert region == "eu-central-1"
        token, lifetime = unsecured_token(900)()
        return token, round((time.time() + lifetime) * 1000)


def test_kerberos(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gssapi")
    with testing.Broker() as broker:
        outcome(broker, "GSSAPI")


def test_the_table_of_refusals_has_the_words_of_the_errors() -> None:
    root = Path(__file__).resolve().parents[1]
    said = re.findall(r"^\| .* \| (the broker[^|']*?)(?: (?:'|\.\.\.).*)? \| ", (root / PAGE).read_text(), re.MULTILINE)
    files = [*root.glob("src/kwire/engine/**/*.py"), *root.glob("src/kwire/drivers/*.py")]
    code = re.sub(r'"\s*f?"', "", "".join(file.read_text() for file in files))
    assert len(said) > 5
    assert not [words for words in said if words not in code]
