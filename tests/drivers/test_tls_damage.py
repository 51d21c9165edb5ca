"""Damaged ciphertext between a client and a broker: errors of kwire's, no hang, and a client that goes on after it."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from kwire import Admin, KafkaError
from kwire.testing import Broker
from tests.drivers.tls_sides import Listener
from tests.thorough import THOROUGH
from tests.timing import PATIENT

SEEDS = 200 if THOROUGH else 25


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={f"topic-{number}": 3 for number in range(100)}, tls=True) as running:
        yield running


class Damage:
    """Passes bytes on, both ways; while `random` is set, changes, drops or adds some of the next connection's."""

    def __init__(self, target: str) -> None:
        self.random: random.Random | None = None
        self._port = int(target.rpartition(":")[2])

    def serve(self, near: socket.socket) -> None:
        far = socket.create_connection(("127.0.0.1", self._port))
        damaged = self.random.randrange(2) if self.random is not None else 2
        back = threading.Thread(target=self._pump, args=(far, near, damaged == 0), daemon=True)
        back.start()
        self._pump(near, far, damaged == 1)

    def _pump(self, source: socket.socket, sink: socket.socket, damaged: bool) -> None:
        left = self.random.choice([0, 3, 50, 200, 1000, 2000]) if damaged and self.random is not None else -1
        try:
            while data := source.recv(65536):
                if 0 <= left < len(data) and self.random is not None:
                    data = self._damaged(data, left, self.random)
                    left = -1
                elif left >= 0:
                    left -= len(data)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            source.close()
            sink.close()

    def _damaged(self, data: bytes, at: int, chance: random.Random) -> bytes:
        change = chance.choice([bytes([data[at] ^ 1 << chance.randrange(8)]), b"", chance.randbytes(9)])
        return data[:at] + change + data[at + 1 :]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_client_survives_damage_anywhere(broker: Broker, seed: int) -> None:
    damage = Damage(broker.bootstrap_servers)
    listener = Listener(damage.serve)
    try:
        settings = {**broker.client_settings, "socket_connection_setup_timeout_ms": 300, "request_timeout_ms": 300}
        with Admin(f"127.0.0.1:{listener.port}", **settings) as admin:
            damage.random = random.Random(seed)
            assert topics_of(admin, 0.4) in (None, 100)
            damage.random = None
            give_up = time.monotonic() + PATIENT
            while topics_of(admin, 1.0) is None:  # what looks like a refusal is not tried again at once
                assert time.monotonic() < give_up
                time.sleep(0.05)
    finally:
        listener.close()


def topics_of(admin: Admin, timeout: float) -> int | None:
    """How many topics there are; None after an error of kwire's."""
    try:
        return len(admin.list_topics(timeout=timeout))
    except KafkaError:
        return None
