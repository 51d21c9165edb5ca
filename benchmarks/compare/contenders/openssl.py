"""OpenSSL and nothing else: what TLS itself costs for the bytes of so many records, in memory."""

from __future__ import annotations

import ssl
import time

from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task, values_of
from benchmarks.compare.tls_relay import tls_1_3
from kwire import records
from kwire.testing.certificates import Certificates

_FETCH = 8 << 20
_TLS_RECORD = 1 << 14
_RECORDS = 2_000


class _End:
    """One end of a connection: what comes in, what goes out, and TLS between them."""

    def __init__(self, context: ssl.SSLContext, *, server: bool) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=server)

    def shake_hands(self) -> bool:
        """Goes as far as it can; whether it is done."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True


def _connected() -> tuple[_End, _End]:
    """A client and a server that have agreed."""
    server = _End(tls_1_3(Certificates()), server=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = _End(context, server=False)
    done = False
    while not done:
        done = client.shake_hands()
        server.incoming.write(client.outgoing.read())
        done = server.shake_hands() and done
        client.incoming.write(server.outgoing.read())
    return client, server


def _content(task: Task) -> bytes:
    values = values_of(task.size)
    return records.encode([values[number % len(values)] for number in range(_RECORDS)])


def consume(task: Task) -> dict[str, float]:
    """Decrypts batches into memory that is as large as what a fetch brings, from its start to its end."""
    client, server = _connected()
    content, into = _content(task), memoryview(bytearray(_FETCH))
    end = 0
    cpu_s = 0.0
    rounds = task.count // _RECORDS
    for _ in range(rounds):
        server.tls.write(content)
        encrypted = server.outgoing.read()
        started = time.process_time()
        client.incoming.write(encrypted)
        end = _drain(client.tls, into, end)
        cpu_s += time.process_time() - started
    return {"cpu_s_per_million": cpu_s * 1e6 / (rounds * _RECORDS), "count": rounds * _RECORDS}


def _drain(tls: ssl.SSLObject, into: memoryview, end: int) -> int:
    """Decrypts what there is to where the last ended; returns where it ends now."""
    try:
        while True:
            if len(into) - end < _TLS_RECORD:
                end = 0
            end += tls.read(_TLS_RECORD, into[end:])  # type: ignore[arg-type]
    except ssl.SSLWantReadError:
        return end


def produce(task: Task) -> dict[str, float]:
    """Encrypts batches."""
    client, _ = _connected()
    content = _content(task)
    rounds = task.count // _RECORDS
    with Meter() as meter:
        for _ in range(rounds):
            client.tls.write(content)
            client.outgoing.read()
    return meter.per_record(rounds * _RECORDS)
