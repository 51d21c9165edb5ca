"""A broker with mutual TLS whose certificates, and those of its clients, are replaced while clients live. No tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kwire.testing import Broker
from kwire.testing.certificates import Certificates
from tests.brokers.ports import free_ports


class Site:
    """The broker, whose topic is "t", and the settings of its clients by dotted names: files that `rotate` replaces."""

    broker: Broker

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        [self._port] = free_ports(1)
        self._start()
        self.settings: dict[str, Any] = {
            "bootstrap.servers": self.broker.bootstrap_servers,
            "security.protocol": "SSL",
            "retry.backoff.ms": "5",
            "reconnect.backoff.ms": "5",
            "ssl.ca.location": str(folder / "ca.pem"),
            "ssl.certificate.location": str(folder / "client.pem"),
            "ssl.key.location": str(folder / "client.key"),
        }

    def _start(self) -> None:
        certificates = Certificates()
        certificates.write(self._folder)
        self.broker = Broker(topics={"t": 1}, port=self._port, tls="mutual", certificates=certificates)
        self.broker.start()

    def rotate(self) -> None:
        """The broker of before is gone, and with it whom it trusted; another has its address."""
        self.broker.stop()
        self._start()
