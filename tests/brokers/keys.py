"""The keys and certificates of a broker's doors and of their clients, as files that Java, OpenSSL and Python read.

One authority signs what is right, another one what must not be trusted. Java's trust store is made by keytool: one that
OpenSSL makes has no entries that Java trusts.
"""

import datetime
import ipaddress
import os
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from tests.brokers.failures import BrokerError
from tests.brokers.java import find_java
from tests.brokers.ports import LOOPBACK

STORE_PASSWORD = "Word-of-the-stores-71"
KEY_PASSWORD = "Word-of-the-key-72"

_DAY = datetime.timedelta(days=1)


class Keys:
    """Makes all files in a folder: those of the doors as PKCS12, those of clients as PEM and PKCS12."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        now = datetime.datetime.now(datetime.UTC)
        ours, others = _Authority("kwire's tests", now), _Authority("somebody else", now)
        self.ca = self._write("ca.pem", ours.pem)
        self.other_ca = self._write("other-ca.pem", others.pem)
        self.broker = self._store("broker.p12", ours.sign("broker", [LOOPBACK, "localhost"]))
        self.expired = self._store("expired.p12", ours.sign("broker", [LOOPBACK, "localhost"], until=now - _DAY))
        self.elsewhere = self._store("elsewhere.p12", ours.sign("broker", ["elsewhere.example"]))
        client = ours.sign("a client", [])
        self.client = self._store("client.p12", client)
        self.client_certificate = self._write("client.pem", client.certificate_pem)
        self.client_key = self._write("client.key", client.key_pem(None))
        self.encrypted_client_key = self._write("client-encrypted.key", client.key_pem(KEY_PASSWORD))
        stranger = others.sign("a stranger", [])
        self.stranger_certificate = self._write("stranger.pem", stranger.certificate_pem)
        self.stranger_key = self._write("stranger.key", stranger.key_pem(None))
        self.truststore = folder / "truststore.p12"
        self._import_into_truststore()

    def _write(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(content)
        return path

    def _store(self, name: str, pair: "_Pair") -> Path:
        return self._write(name, pair.pkcs12)

    def _import_into_truststore(self) -> None:
        options = ["-importcert", "-noprompt", "-alias", "ca", "-storetype", "PKCS12", "-storepass", STORE_PASSWORD]
        keytool = os.path.join(os.path.dirname(os.path.realpath(find_java())), "keytool")
        command = [keytool, *options, "-file", str(self.ca), "-keystore", str(self.truststore)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if run.returncode != 0:
            raise BrokerError(f"keytool: {run.stdout}{run.stderr}")


class _Pair:
    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate, ca: x509.Certificate) -> None:
        self._key, self._certificate, self._ca = key, certificate, ca

    @property
    def certificate_pem(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def pkcs12(self) -> bytes:
        encryption = serialization.BestAvailableEncryption(STORE_PASSWORD.encode())
        return pkcs12.serialize_key_and_certificates(b"key", self._key, self._certificate, [self._ca], encryption)

    def key_pem(self, password: str | None) -> bytes:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        return self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


class _Authority:
    def __init__(self, name: str, now: datetime.datetime) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self._now = now
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        self._certificate = (
            self._started(self._name, self._key, now + 10 * _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def sign(self, name: str, hosts: list[str], *, until: datetime.datetime | None = None) -> _Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._started(_named(name), key, until or self._now + 5 * _DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return _Pair(key, builder.sign(self._key, hashes.SHA256()), self._certificate)

    def _started(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime.datetime
    ) -> x509.CertificateBuilder:
        public, issuer = key.public_key(), self._key.public_key()
        return (
            x509.CertificateBuilder(subject_name=subject, issuer_name=self._name, public_key=public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - 5 * _DAY)
            .not_valid_after(until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
