"""The keys and certificates of a broker's listeners and of their clients, as files that Java, OpenSSL and Python read.

One authority issues what is right, another one what must not be trusted. Java's trust store is made by keytool, as a
user's is.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.brokers.failures import BrokerError
from tests.brokers.java import find_java
from tests.certificates import PASSWORD, Authority, Issued


class Keys:
    """Makes all files in a folder: those of the listeners as PKCS12, those of clients as PEM and PKCS12."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        ours, others = Authority("authority of the brokers"), Authority("somebody else")
        self.ca = self._write("ca.pem", ours.pem)
        self.other_ca = self._write("other-ca.pem", others.pem)
        self.broker = self._store("broker.p12", ours.issue())
        self.expired = self._store("expired.p12", ours.issue(days=-1))
        self.elsewhere = self._store("elsewhere.p12", ours.issue(hosts=["elsewhere.example"]))
        client = ours.issue("a client", hosts=())
        self.client = self._store("client.p12", client)
        self.client_certificate = self._write("client.pem", client.pem)
        self.client_key = self._write("client.key", client.key_pem)
        self.encrypted_client_key = self._write("client-encrypted.key", client.encrypted_key_pem)
        stranger = others.issue("a stranger", hosts=())
        self.stranger_certificate = self._write("stranger.pem", stranger.pem)
        self.stranger_key = self._write("stranger.key", stranger.key_pem)
        self.truststore = folder / "truststore.p12"
        self._import_into_truststore()

    def _write(self, name: str, text: str) -> Path:
        path = self._folder / name
        path.write_text(text, encoding="ascii")
        return path

    def _store(self, name: str, issued: Issued) -> Path:
        path = self._folder / name
        path.write_bytes(issued.key_store)
        return path

    def _import_into_truststore(self) -> None:
        options = ["-importcert", "-noprompt", "-alias", "ca", "-storetype", "PKCS12", "-storepass", PASSWORD]
        keytool([*options, "-file", str(self.ca), "-keystore", str(self.truststore)])


def keytool(arguments: Sequence[str], typed: str = "") -> None:
    """Runs Java's keytool; `typed` answers what it asks for."""
    program = os.path.join(os.path.dirname(os.path.realpath(find_java())), "keytool")
    run = subprocess.run([program, *arguments], input=typed, capture_output=True, text=True, timeout=60, check=False)
    if run.returncode != 0:
        raise BrokerError(f"keytool: {run.stdout}{run.stderr}")
