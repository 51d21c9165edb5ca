"""Processes: what a contender measured comes back, failures are told, none outlives its limit; the relay's stamps."""

from __future__ import annotations

import gc
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from benchmarks.compare.contenders.meters import Case, run_case
from benchmarks.compare.contenders.task import Task
from benchmarks.compare.processes import ROOT, ContenderError, Contenders, environment
from benchmarks.compare.relay import Relay, receive, sent_now, stamp_arrivals
from benchmarks.compare.tls_relay import TlsRelay, tls_1_3

from kwire.testing.certificates import Certificates
from tests.subprocesses import run_python
from tests.timing import PATIENT

_BLOCK_THAT_IS_FREED = """
from benchmarks.compare.contenders.meters import Meter
with Meter() as meter:
    block = bytearray(64 << 20)
    block[::4096] = b"x" * len(block[::4096])
    del block
with Meter() as after:
    pass
print(meter.added_kib, after.added_kib)
"""
_HANG = """
import time
from types import SimpleNamespace
from benchmarks.compare.contenders.task import Task
from benchmarks.compare.processes import run_forked
print(run_forked(SimpleNamespace(hang=lambda task: time.sleep(600)), Task("hang", "x"), limit_s=1))
"""


def test_what_a_contender_measured_and_how_it_failed_comes_back() -> None:
    with Contenders() as contenders:
        measured = contenders.run(Task("codec", "kwire", case="encode-gzip", budget_s=0.0))
        assert measured["cpu_ns"] > 0
        assert 10 < measured["bytes_each"] < 100
        assert measured["process_cpu_s"] > 0
        with pytest.raises(ContenderError, match=r"(?s)exit code 1 after .*\nKeyError: 'no-such-case'") as failed:
            contenders.run(Task("codec", "kwire", case="no-such-case"))
        assert 'File "benchmarks/compare/' in str(failed.value)
        assert str(ROOT) not in str(failed.value)
        assert contenders.run(Task("codec", "kwire", case="index", budget_s=0.0))["cpu_ns"] > 0


def test_a_module_that_is_missing_is_told() -> None:
    with (
        Contenders() as contenders,
        pytest.raises(ContenderError, match=r"no_such_codec ended[^$]*ModuleNotFoundError"),
    ):
        contenders.run(Task("codec", "no-such"))


def test_an_alarm_ends_what_hangs() -> None:
    """In a program of its own, because a test process has threads and must not fork."""
    command = [sys.executable, "-c", _HANG]
    done = subprocess.run(command, cwd=ROOT, env=environment(), check=True, capture_output=True, text=True, timeout=120)
    assert "exceeded its limit of 1 s after " in done.stdout


@pytest.fixture
def thawed() -> Iterator[None]:
    """A case freezes the collector's objects, which a test process must undo."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_a_case_is_measured_per_record() -> None:
    case = Case(bytes, lambda: 300, 100)
    found = run_case(Task("codec", "x", case="made", budget_s=0.0), {"made": case})
    assert found["bytes_each"] == 3.0
    assert gc.get_freeze_count() > 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks can be reset on Linux only")
def test_a_meter_sees_memory_that_was_given_back_again() -> None:
    """In a process of its own: another's allocators may give back as much memory meanwhile."""
    added, after = map(int, run_python(_BLOCK_THAT_IS_FREED, PYTHONPATH=str(ROOT)).split())
    assert 60 << 10 <= added <= 200 << 10
    assert after < 16 << 10


def test_the_relay_notes_arrivals_and_replaces_the_brokers_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        relay = Relay("127.0.0.1", port)
        threading.Thread(target=relay.serve, daemon=True).start()
        with socket.create_connection(("127.0.0.1", relay.port)) as client:
            sent = b"head" + sent_now() + b"tail"
            client.sendall(sent)
            served, _ = broker.accept()
            with served:
                assert served.recv(len(sent), socket.MSG_WAITALL) == sent
                served.sendall(b"\x09127.0.0.1" + struct.pack(">i", port) + b"\x00")
                assert client.recv(4096) == b"\x09127.0.0.1" + struct.pack(">i", relay.port) + b"\x00"
    deadline = time.monotonic() + PATIENT
    while not relay.delays_us and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(relay.delays_us) == 1


def test_the_tls_relay_passes_on_both_ways_and_replaces_the_brokers_address() -> None:
    certificates = Certificates()
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        relay = TlsRelay("127.0.0.1", port, tls_1_3(certificates))
        threading.Thread(target=relay.serve, daemon=True).start()
        trusting = ssl.create_default_context(cadata=certificates.ca_pem)
        with (
            socket.create_connection(("127.0.0.1", relay.port)) as plain,
            trusting.wrap_socket(plain, server_hostname="127.0.0.1") as client,
        ):
            assert client.version() == "TLSv1.3"
            client.sendall(b"request")
            served, _ = broker.accept()
            with served:
                assert served.recv(4096) == b"request"
                served.sendall(b"\x09127.0.0.1" + struct.pack(">i", port) + b"\x00")
                assert client.recv(4096) == b"\x09127.0.0.1" + struct.pack(">i", relay.port) + b"\x00"


def test_bytes_come_with_the_time_of_their_arrival() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as client:
            served, _ = listener.accept()
            with served:
                stamp_arrivals(served)
                before = time.time_ns()
                client.sendall(b"record")
                time.sleep(0.05)
                read = time.time_ns()
                data, arrived = receive(served)
    assert data == b"record"
    assert before <= arrived <= (read if sys.platform == "linux" else time.time_ns())
