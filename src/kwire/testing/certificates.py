"""Certificates for brokers and clients of tests: an authority, a server and a client, made in memory.

By `cryptography`, which `pip install kwire[tls]` brings.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.errors import ConfigError

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError as error:
    raise ConfigError("TLS on the embedded broker needs cryptography: pip install 'kwire[tls]'") from error

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_DAY = datetime.timedelta(days=1)


class Certificates:
    """An authority of its own, a server certificate for `names` (hosts and addresses) and a client certificate.

    `valid_for` is how long they are valid from now on; a negative time makes a server certificate that has expired.
    """

    def __init__(self, names: Iterable[str] = LOOPBACK, *, valid_for: datetime.timedelta = 365 * _DAY) -> None:
        now = datetime.datetime.now(datetime.UTC)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("kwire testing authority")
        self._begins = min(now, now + valid_for) - _DAY
        self._authority = self._signed_authority(now + 3650 * _DAY)
        self.ca_pem = _pem(self._authority)
        self.server_certificate_pem, self.server_key_pem = self._issue(
            "kwire testing broker", ExtendedKeyUsageOID.SERVER_AUTH, now + valid_for, names
        )
        self.client_certificate_pem, self.client_key_pem = self._issue(
            "kwire testing client", ExtendedKeyUsageOID.CLIENT_AUTH, now + abs(valid_for)
        )

    def __repr__(self) -> str:
        return "<kwire.testing.Certificates>"

    def write(self, folder: str | Path) -> dict[str, str]:
        """Writes ca.pem, client.pem and client.key into `folder`; returns the paths by these names."""
        texts = {
            "ca.pem": self.ca_pem,
            "client.pem": self.client_certificate_pem,
            "client.key": self.client_key_pem,
        }
        for name, text in texts.items():
            Path(folder, name).touch(mode=0o600)
            Path(folder, name).write_text(text)
        return {name: str(Path(folder, name)) for name in texts}

    def _signed_authority(self, ends: datetime.datetime) -> x509.Certificate:
        usage = _key_usage(digital_signature=False, key_cert_sign=True, crl_sign=True)
        builder = self._begin(self._name, self._key.public_key(), ends)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        return builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())

    def _issue(
        self, name: str, usage: x509.ObjectIdentifier, ends: datetime.datetime, hosts: Iterable[str] = ()
    ) -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._begin(_name(name), key.public_key(), ends)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(digital_signature=True), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if alternatives := [_general_name(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return _pem(builder.sign(self._key, hashes.SHA256())), _key_pem(key)

    def _begin(
        self, subject: x509.Name, public_key: CertificatePublicKeyTypes, ends: datetime.datetime
    ) -> x509.CertificateBuilder:
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._begins)
            .not_valid_after(ends)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(signer, critical=False)
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, digital_signature: bool, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode("ascii")
