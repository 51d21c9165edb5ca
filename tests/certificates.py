"""Certificates for tests, made in memory: an authority, and what it issues to brokers and clients.

authority = Authority()
broker = authority.issue("broker", hosts=("localhost", "127.0.0.1"))
expired = authority.issue("broker", days=-1)
alice = authority.issue("alice", hosts=())
files = alice.write(tmp_path)           # files.certificate, files.key, files.store
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PASSWORD = "hush hush"
_DAY = datetime.timedelta(days=1)


class Files(NamedTuple):
    """Paths of PEM files, and of a PKCS12 store whose password is PASSWORD."""

    certificate: str
    key: str
    store: str


class Issued:
    """A certificate and its key; `chain` are the certificates between it and its root."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, chain: Sequence[Issued]) -> None:
        self.certificate = certificate
        self.key = key
        self.chain = chain

    @cached_property
    def pem(self) -> str:
        """The certificate and its chain."""
        chain = [self.certificate, *(issued.certificate for issued in self.chain)]
        return "".join(each.public_bytes(serialization.Encoding.PEM).decode() for each in chain)

    @cached_property
    def key_pem(self) -> str:
        return self._key_pem(serialization.NoEncryption())

    @cached_property
    def encrypted_key_pem(self) -> str:
        return self._key_pem(serialization.BestAvailableEncryption(PASSWORD.encode()))

    def _key_pem(self, encryption: serialization.KeySerializationEncryption) -> str:
        pkcs8 = serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(serialization.Encoding.PEM, pkcs8, encryption).decode()

    @cached_property
    def key_store(self) -> bytes:
        """A PKCS12 store with certificate, key and chain."""
        chain = [issued.certificate for issued in self.chain]
        encryption = serialization.BestAvailableEncryption(PASSWORD.encode())
        return pkcs12.serialize_key_and_certificates(b"key", self.key, self.certificate, chain, encryption)

    @cached_property
    def trust_store(self) -> bytes:
        """A PKCS12 store that trusts this certificate, as Java's keytool writes it."""
        entry = pkcs12.PKCS12Certificate(self.certificate, b"ca")
        encryption = serialization.BestAvailableEncryption(PASSWORD.encode())
        return pkcs12.serialize_java_truststore([entry], encryption)

    def write(self, folder: Path, name: str = "issued") -> Files:
        """Writes NAME.pem, NAME.key and NAME.p12 into the folder."""
        (folder / f"{name}.pem").write_text(self.pem)
        (folder / f"{name}.key").write_text(self.key_pem)
        (folder / f"{name}.p12").write_bytes(self.key_store)
        return Files(*(str(folder / f"{name}.{ending}") for ending in ("pem", "key", "p12")))


class Authority(Issued):
    """A root that signs itself, or one below it: `Authority(above=root)`."""

    def __init__(self, name: str = "authority of tests", *, above: Authority | None = None) -> None:
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.root = above is None
        key = ec.generate_private_key(ec.SECP256R1())
        super().__init__(self._signed(key, above), key, [above] if above is not None and not above.root else [])

    def _signed(self, key: ec.EllipticCurvePrivateKey, above: Authority | None) -> x509.Certificate:
        signer = above.key if above else key
        builder = _builder(self.name, (above or self).name, key, signer, 3650)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        return builder.sign(signer, hashes.SHA256())

    def issue(self, name: str = "broker", *, hosts: Iterable[str] = LOOPBACK, days: float = 30) -> Issued:
        """A certificate for these hosts (names or addresses); with negative `days` it ended so long ago."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(subject, self.name, key, self.key, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if names := [_host(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return Issued(builder.sign(self.key, hashes.SHA256()), key, () if self.root else (self, *self.chain))

    def revocations(self, *revoked: Issued) -> str:
        """A CRL as PEM text."""
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateRevocationListBuilder().issuer_name(self.name)
        builder = builder.last_update(now - _DAY).next_update(now + 30 * _DAY)
        for issued in revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(issued.certificate.serial_number)
            builder = builder.add_revoked_certificate(entry.revocation_date(now - _DAY).build())
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    days: float,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    own, other = key.public_key(), signer.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(own)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - (abs(days) + 1) * _DAY)
        .not_valid_after(now + days * _DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(other), critical=False)
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
