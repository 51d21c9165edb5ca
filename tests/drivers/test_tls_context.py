"""TLS contexts of settings: who is trusted, who we say we are, and each fault by setting, file and reason."""

from __future__ import annotations

import ssl
import sys
import warnings
from base64 import b64encode
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given as drawn
from hypothesis import strategies as st

from kwire.drivers import pem_files
from kwire.drivers.tls_context import make_context
from kwire.engine.settings.clients import ClientSettings
from kwire.errors import ConfigError
from tests.certificates import PASSWORD, Authority, Issued

AUTHORITY = Authority()
BROKER = AUTHORITY.issue()
ALICE = AUTHORITY.issue("alice", hosts=())


def settings(**given: object) -> ClientSettings:
    return ClientSettings(security_protocol="SSL", **given)


def context(**given: object) -> ssl.SSLContext:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make_context(settings(**given))


def refusal(**given: object) -> str:
    with pytest.raises(ConfigError) as caught:
        make_context(settings(**given))
    assert PASSWORD not in str(caught.value)
    assert "PRIVATE" not in str(caught.value)
    return str(caught.value)


def server(tmp_path: Path, issued: Issued = BROKER, trusted: Authority | None = None) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files = issued.write(tmp_path, "server")
    made.load_cert_chain(files.certificate, files.key)
    if trusted is not None:
        made.load_verify_locations(cadata=trusted.pem)
        made.verify_mode = ssl.CERT_REQUIRED
    return made


def handshake(client: ssl.SSLContext, broker: ssl.SSLContext, host: str = "localhost") -> ssl.SSLObject:
    """The broker's side of a handshake in memory; raises what the client or the broker does."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(down, up, server_hostname=host)
    answering = broker.wrap_bio(up, down, server_side=True)
    waiting = [asking, answering]
    for turn in range(20):
        side = (asking, answering)[turn % 2]
        try:
            side.do_handshake()
            waiting = [other for other in waiting if other is not side]
        except ssl.SSLWantReadError:
            pass
    assert not waiting
    return answering


def file(tmp_path: Path, name: str, content: str | bytes) -> str:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(tmp_path / name)


def trusts(tmp_path: Path) -> dict[str, dict[str, object]]:
    """Each way to say whom to trust."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ca.crt").write_text(AUTHORITY.pem)
    (folder / "README").write_text("no certificate")
    store = file(tmp_path, "trust.p12", AUTHORITY.trust_store)
    crl = file(tmp_path, "crl.pem", AUTHORITY.revocations())
    return {
        "file": {"ssl_ca_location": file(tmp_path, "ca.pem", "# Zertifikate für alle\n" + AUTHORITY.pem)},
        "folder": {"ssl_ca_location": str(folder)},
        "text": {"ssl_ca_pem": AUTHORITY.pem},
        "text on one line": {"ssl_ca_pem": AUTHORITY.pem.replace("\n", " ")},
        "text with escaped line ends": {"ssl_ca_pem": AUTHORITY.pem.replace("\n", "\\n")},
        "several": {"ssl_ca_pem": Authority("other").pem + AUTHORITY.pem},
        "the broker's own certificate": {"ssl_ca_pem": BROKER.pem},
        "PKCS12": {"ssl_truststore_location": store, "ssl_truststore_password": PASSWORD},
        "PEM store": {
            "ssl_truststore_location": file(tmp_path, "store.pem", AUTHORITY.pem),
            "ssl_truststore_type": "pem",
        },
        "revocations": {"ssl_ca_pem": AUTHORITY.pem, "ssl_crl_location": crl},
        "context": {"ssl_context": ssl.create_default_context(cadata=AUTHORITY.pem)},
    }


def test_whom_to_trust(tmp_path: Path) -> None:
    broker = server(tmp_path)
    for name, given in trusts(tmp_path).items():
        assert handshake(context(**given), broker).version() == "TLSv1.3", name


def test_a_stranger_is_not_trusted(tmp_path: Path) -> None:
    broker = server(tmp_path)
    for given in ({}, {"ssl_ca_pem": Authority().pem}):
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(context(**given), broker)


def test_a_hashed_directory(tmp_path: Path) -> None:
    (tmp_path / "0a1b2c3d.0").write_text(AUTHORITY.pem)
    made = context(ssl_ca_location=str(tmp_path))
    assert made.verify_mode == ssl.CERT_REQUIRED


def test_a_revoked_certificate_is_refused(tmp_path: Path) -> None:
    crl = file(tmp_path, "crl.pem", AUTHORITY.revocations(BROKER))
    with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
        handshake(context(ssl_ca_pem=AUTHORITY.pem, ssl_crl_location=crl), server(tmp_path))


def identities(tmp_path: Path, issued: Issued) -> dict[str, dict[str, object]]:
    """Each way to say who we are."""
    files = issued.write(tmp_path, "client")
    both = file(tmp_path, "both.pem", issued.key_pem + issued.pem)
    return {
        "files": {"ssl_certificate_location": files.certificate, "ssl_key_location": files.key},
        "one file": {"ssl_certificate_location": both},
        "text": {"ssl_certificate_pem": issued.pem, "ssl_key_pem": issued.key_pem},
        "one text": {"ssl_certificate_pem": issued.pem + issued.key_pem},
        "text and file": {"ssl_certificate_pem": issued.pem, "ssl_key_location": files.key},
        "encrypted": {
            "ssl_certificate_pem": issued.pem,
            "ssl_key_pem": issued.encrypted_key_pem,
            "ssl_key_password": PASSWORD,
        },
        "PKCS12": {"ssl_keystore_location": files.store, "ssl_keystore_password": PASSWORD},
        "PEM store": {"ssl_keystore_location": both, "ssl_keystore_type": "PEM"},
        "encrypted PEM store": {
            "ssl_keystore_location": file(tmp_path, "store.pem", issued.pem + issued.encrypted_key_pem),
            "ssl_key_password": PASSWORD,
        },
    }


@pytest.mark.parametrize("issued", [ALICE, Authority("below", above=AUTHORITY).issue("alice", hosts=())])
def test_who_we_are(tmp_path: Path, issued: Issued) -> None:
    broker = server(tmp_path, trusted=AUTHORITY)
    for name, given in identities(tmp_path, issued).items():
        shown = handshake(context(ssl_ca_pem=AUTHORITY.pem, **given), broker).getpeercert()
        assert shown is not None, name
        assert shown["subject"] == ((("commonName", "alice"),),), name


def test_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    context(ssl_certificate_pem=ALICE.pem, ssl_key_pem=ALICE.key_pem)
    assert list(tmp_path.iterdir()) == []
    with pem_files.as_file("text") as path:
        assert Path(path).stat().st_mode & 0o777 == 0o600
        assert Path(path).read_text() == "text"


def faults(tmp_path: Path) -> list[tuple[dict[str, object], str]]:
    """Settings, and words of the error: the setting, the file, the reason."""
    files = ALICE.write(tmp_path, "alice")
    empty = file(tmp_path, "empty.pem", "")
    der = file(tmp_path, "ca.der", b"\x30\x82\x01\x01")
    jks = file(tmp_path, "my store.jks", b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    broken = file(tmp_path, "broken.pem", AUTHORITY.pem + AUTHORITY.pem.replace("MI", "xx"))
    trust = file(tmp_path, "trust.p12", AUTHORITY.trust_store)
    missing = str(tmp_path / "missing.pem")
    return [
        ({"ssl_ca_location": missing}, f"ssl_ca_location={missing!r} cannot be read: No such file"),
        (
            {"ssl_ca_location": AUTHORITY.pem},
            "ssl_ca_location is PEM text, where the path of a file is meant; ssl_ca_pem",
        ),
        ({"ssl_keystore_location": ALICE.key_pem}, "ssl_keystore_location is PEM text, where the path of a file is"),
        ({"ssl_certificate_pem": ALICE.pem, "ssl_key_location": ALICE.key_pem}, "ssl_key_location is PEM text, where"),
        ({"ssl_ca_location": empty}, f"ssl_ca_location={empty!r} has no PEM text in it"),
        ({"ssl_ca_location": der}, "belongs in ssl_truststore_location"),
        ({"ssl_ca_location": files.key}, f"ssl_ca_location={files.key!r} has no certificate in it"),
        ({"ssl_ca_location": broken}, f"ssl_ca_location={broken!r}: certificate 2 of 2 cannot be read"),
        ({"ssl_ca_pem": "no PEM"}, "ssl_ca_pem has no certificate in it"),
        ({"ssl_crl_location": files.certificate}, "ssl_crl_location"),
        ({"ssl_certificate_location": missing, "ssl_key_location": files.key}, f"ssl_certificate_location={missing!r}"),
        ({"ssl_certificate_location": files.certificate}, "has no private key in it; ssl_key_location or ssl_key_pem"),
        (
            {"ssl_certificate_location": files.certificate, "ssl_key_location": files.certificate},
            f"ssl_key_location={files.certificate!r} has no private key",
        ),
        (
            {"ssl_certificate_location": files.certificate, "ssl_key_pem": BROKER.key_pem},
            f"ssl_key_pem is not the key of the certificate in ssl_certificate_location={files.certificate!r}",
        ),
        (
            {"ssl_certificate_pem": ALICE.pem, "ssl_key_pem": ALICE.encrypted_key_pem},
            "ssl_key_pem: the key is encrypted, and ssl_key_password is needed",
        ),
        (
            {"ssl_certificate_pem": ALICE.pem, "ssl_key_pem": ALICE.encrypted_key_pem, "ssl_key_password": "wrong"},
            "ssl_key_pem: the key cannot be decrypted: ssl_key_password is wrong",
        ),
        (
            {"ssl_certificate_pem": ALICE.pem, "ssl_key_pem": ALICE.key_pem.replace("MI", "xx")},
            "ssl_key_pem: the private key cannot be read",
        ),
        (
            {"ssl_certificate_pem": ALICE.pem.replace("MI", "xx"), "ssl_key_pem": ALICE.key_pem},
            "ssl_certificate_pem: certificate 1 of 1 cannot be read",
        ),
        (
            {"ssl_keystore_location": files.store, "ssl_keystore_password": "wrong"},
            f"ssl_keystore_location={files.store!r} cannot be opened: ssl_keystore_password is wrong",
        ),
        ({"ssl_keystore_location": files.store}, "has a password: ssl_keystore_password is needed"),
        ({"ssl_keystore_location": der}, "is damaged, or not a PKCS12 store"),
        ({"ssl_keystore_location": empty}, "is neither a PEM file nor a PKCS12 store"),
        ({"ssl_keystore_location": trust, "ssl_keystore_password": PASSWORD}, "has no private key in it"),
        ({"ssl_keystore_location": files.store, "ssl_keystore_type": "PEM"}, "has no PEM text in it, but ssl_keystore"),
        (
            {"ssl_truststore_location": files.key, "ssl_truststore_type": "PKCS12"},
            "is a PEM file, but ssl_truststore_t",
        ),
        (
            {"ssl_truststore_location": jks, "ssl_truststore_password": PASSWORD},
            f"keytool -importkeystore -srckeystore '{jks}' -srcstoretype JKS -destkeystore '{jks[:-4]}.p12' -deststore",
        ),
        ({"ssl_cipher_suites": "NO_SUCH_SUITE"}, "ssl_cipher_suites='NO_SUCH_SUITE': OpenSSL"),
        ({"ssl_cipher_suites": "TLS_AES_128_GCM_SHA256", "ssl_enabled_protocols": "TLSv1.2"}, "without it"),
    ]


def test_each_fault_names_setting_file_and_reason(tmp_path: Path) -> None:
    for given, words in faults(tmp_path):
        assert words in refusal(**given)


def test_an_empty_directory(tmp_path: Path) -> None:
    assert "is a directory without certificates" in refusal(ssl_ca_location=str(tmp_path))


def test_without_cryptography_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = file(tmp_path, "trust.p12", AUTHORITY.trust_store)
    for name in [name for name in sys.modules if name.startswith("cryptography.hazmat.primitives.serialization")]:
        monkeypatch.setitem(sys.modules, name, None)
    text = refusal(ssl_truststore_location=store, ssl_truststore_password=PASSWORD)
    assert 'pip install "kwire[tls]"' in text


def test_pem_files_need_no_cryptography(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    assert context(ssl_ca_pem=AUTHORITY.pem, ssl_certificate_pem=ALICE.pem, ssl_key_pem=ALICE.key_pem)


def test_our_own_expired_certificate_is_warned_of() -> None:
    expired = AUTHORITY.issue("alice", days=-2)
    with pytest.warns(UserWarning, match=r"ssl_certificate_pem: .* expired on 20\d\d-"):
        make_context(settings(ssl_certificate_pem=expired.pem, ssl_key_pem=expired.key_pem))
    assert pem_files.end_of(expired.pem) == expired.certificate.not_valid_after_utc
    assert pem_files.end_of("-----BEGIN CERTIFICATE-----\nMIIB\n") is None


def test_the_host_check(tmp_path: Path) -> None:
    broker = server(tmp_path, AUTHORITY.issue(hosts=("other.example",)))
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(context(ssl_ca_pem=AUTHORITY.pem), broker)
    with pytest.warns(UserWarning, match="host names in certificates of brokers are not checked") as caught:
        made = make_context(settings(ssl_ca_pem=AUTHORITY.pem, ssl_endpoint_identification_algorithm=""))
    assert caught[0].filename == __file__
    handshake(made, broker)
    with pytest.warns(UserWarning, match="host names"):
        stricter = make_context(settings(ssl_endpoint_identification_algorithm=""))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(stricter, broker)


def test_no_check_at_all(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="anyone on the way can read and change everything"):
        made = make_context(settings(enable_ssl_certificate_verification=False))
    handshake(made, server(tmp_path, Authority().issue(days=-1)))


@pytest.mark.parametrize(
    ("given", "version", "cipher"),
    [
        ({}, "TLSv1.3", "TLS_"),
        ({"ssl_enabled_protocols": "TLSv1.2"}, "TLSv1.2", "ECDHE"),
        (
            {"ssl_enabled_protocols": "TLSv1.2", "ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
            "TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
        (
            {
                "ssl_enabled_protocols": "TLSv1.2",
                "ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256",
            },
            "TLSv1.2",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
        ),
        (
            {"ssl_enabled_protocols": "TLSv1.2", "ssl_cipher_suites": "ECDHE+AESGCM:!aNULL"},
            "TLSv1.2",
            "ECDHE-ECDSA-AES",
        ),
        ({"ssl_cipher_suites": "TLS_AES_256_GCM_SHA384"}, "TLSv1.3", "TLS_"),
    ],
)
def test_versions_and_suites(tmp_path: Path, given: dict[str, object], version: str, cipher: str) -> None:
    shown = handshake(context(ssl_ca_pem=AUTHORITY.pem, **given), server(tmp_path))
    assert shown.version() == version
    assert shown.cipher()[0].startswith(cipher)


def test_only_tls_1_2_and_newer_are_offered(tmp_path: Path) -> None:
    broker = server(tmp_path)
    broker.set_ciphers("DEFAULT:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        broker.minimum_version = ssl.TLSVersion.TLSv1
        broker.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        handshake(context(ssl_ca_pem=AUTHORITY.pem), broker)


@drawn(st.binary(max_size=60))
def test_no_certificate_is_too_broken_to_be_asked_for_its_end(junk: bytes) -> None:
    whole = AUTHORITY.certificate.public_bytes(serialization.Encoding.DER)
    for der in (junk, b"\x30\x82" + junk, whole[: len(junk) * 5], whole.replace(whole[40:60], junk[:20])):
        pem = f"-----BEGIN CERTIFICATE-----\n{b64encode(der).decode()}\n-----END CERTIFICATE-----\n"
        assert isinstance(pem_files.end_of(pem), datetime | None)


@drawn(st.binary(max_size=200))
def test_any_file_is_a_store_or_refused(junk: bytes) -> None:
    with TemporaryDirectory() as folder:
        for name, data in (("junk", junk), ("der", b"\x30" + junk), ("cut", AUTHORITY.trust_store[: len(junk)])):
            path = file(Path(folder), name, data)
            with pytest.raises(ConfigError, match="ssl_truststore_location"):
                make_context(settings(ssl_truststore_location=path, ssl_truststore_password=PASSWORD))


@drawn(st.text(alphabet="-BEGIN CERTIFA\n\\nMx=:", max_size=200))
def test_any_text_is_searched_for_certificates(text: str) -> None:
    for certificate in pem_files.certificates_in(text):
        assert certificate.startswith("-----BEGIN ")


def test_a_common_name_is_no_name_of_a_host(tmp_path: Path) -> None:
    """RFC 9525, 2; Java's client takes it where there is no subjectAltName."""
    authority = Authority()
    named = server(tmp_path, authority.issue("localhost", hosts=()))
    ours = context(ssl_ca_pem=authority.pem)
    with pytest.raises(ssl.SSLCertVerificationError, match=r"[Hh]ostname mismatch"):
        handshake(ours, named)
    lenient = ssl.create_default_context(cadata=authority.pem)
    lenient.hostname_checks_common_name = True
    assert handshake(context(ssl_context=lenient), named).version()


def test_a_file_that_is_too_large_is_not_what_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pem_files, "_MAX_BYTES", 10)
    files = ALICE.write(tmp_path, "alice")
    text = refusal(ssl_certificate_location=files.certificate, ssl_key_location=files.key)
    assert "is larger than 10 bytes" in text
    assert str(files.certificate) in text
