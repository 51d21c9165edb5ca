"""TLS in front of a broker that speaks none.

    python -m benchmarks.compare.tls_relay HOST:PORT

Prints its own address and the file with the certificate to trust, and relays until its stdin ends. It is a process of
its own, so that a client's CPU is that of its own end of TLS. Brokers tell their address in Metadata responses; the
relay replaces it by its own, which has the same length.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import sys
import threading
from tempfile import TemporaryDirectory

from kwire.testing.certificates import Certificates
from kwire.testing.serving.tls import server_context

_CHUNK = 1 << 18
_HOST = "127.0.0.1"


def tls_1_3(certificates: Certificates) -> ssl.SSLContext:
    """A server's context for the one version that is compared."""
    context = server_context(certificates, client_certificate=False, tls_1_3=True)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


class TlsRelay:
    """Relays to one broker, a thread for each connection."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        self._broker = (host, port)
        self._context = context
        self._listener = socket.create_server((_HOST, 0))
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Accepts connections until the process ends."""
        while True:
            client, _ = self._listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, accepted: socket.socket) -> None:
        with (
            socket.create_connection(self._broker) as broker,
            self._context.wrap_socket(accepted, server_side=True) as client,
        ):
            broker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                while self._pass_on(client, broker):
                    pass
            except OSError:
                return  # an end was closed without a goodbye

    def _pass_on(self, client: ssl.SSLSocket, broker: socket.socket) -> bool:
        """Passes on what there is; False when an end has closed."""
        readable = [client] if client.pending() else select.select([client, broker], [], [])[0]
        if client in readable:
            data = client.recv(_CHUNK)
            broker.sendall(data)
        else:
            data = broker.recv(_CHUNK)
            client.sendall(self._with_own_address(data))
        return bool(data)

    def _with_own_address(self, data: bytes) -> bytes:
        host = self._broker[0].encode()
        theirs, ours = (host + struct.pack(">i", port) for port in (self._broker[1], self.port))
        return data.replace(theirs, ours)


def main(address: str) -> None:
    """Serves until stdin ends."""
    host, _, port = address.rpartition(":")
    with TemporaryDirectory() as folder:
        certificates = Certificates()
        trusted = certificates.write(folder)["ca.pem"]
        relay = TlsRelay(host, int(port), tls_1_3(certificates))
        threading.Thread(target=relay.serve, daemon=True).start()
        print(f"{_HOST}:{relay.port} {trusted}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
