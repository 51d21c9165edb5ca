"""Processes of the comparison: cost is reported, failure is told, and nothing outlives its limit."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time

import pytest
from benchmarks.compare.measure import Meter, WorkFailedError, run_process
from benchmarks.compare.tap import Tap, mark_now, receive, stamp_arrivals


def test_a_process_gives_its_output_and_its_cost() -> None:
    done = run_process([sys.executable, "-c", "sum(range(3_000_000)); print('x')"], limit_s=60)
    assert done.output == "x\n"
    assert done.cpu_s > 0
    assert done.wall_s > 0


def test_a_process_that_fails_is_told_with_what_it_said() -> None:
    with pytest.raises(WorkFailedError, match=r"exit code 3.*no such topic"):
        run_process([sys.executable, "-c", "import sys; print('no such topic', file=sys.stderr); sys.exit(3)"], 60)


def test_a_process_is_killed_at_its_limit_and_reaped() -> None:
    with pytest.raises(WorkFailedError, match=r"exit code -9"):
        run_process([sys.executable, "-c", "import time; time.sleep(600)"], limit_s=0.2)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks can be reset on Linux only")
def test_a_meter_sees_memory_that_was_given_back_again() -> None:
    with Meter() as meter:
        block = bytearray(64 << 20)
        block[::4096] = b"x" * len(block[::4096])
        del block
    assert 60 << 10 <= meter.added_kib <= 200 << 10
    with Meter() as after:
        pass
    assert after.added_kib < 16 << 10


def test_costs_are_per_million_records() -> None:
    meter = Meter()
    meter.cpu_s, meter.wall_s, meter.added_kib = 0.5, 2.0, 3072
    assert meter.of(250_000) == {
        "cpu_s_per_million": 2.0,
        "records_per_s": 125_000,
        "wall_ns": 8_000.0,
        "added_mib": 3.0,
        "count": 250_000,
    }


def test_the_tap_relays_notes_when_a_record_comes_and_puts_its_address_for_the_broker_s() -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        tap = Tap("127.0.0.1", port)
        threading.Thread(target=tap.serve, daemon=True).start()
        with socket.create_connection(("127.0.0.1", tap.port)) as client:
            sent = b"head" + mark_now() + b"tail"
            client.sendall(sent)
            served, _ = broker.accept()
            with served:
                received = b""
                while len(received) < len(sent):
                    received += served.recv(4096)
                served.sendall(b"\x09127.0.0.1" + struct.pack(">i", port) + b"\x00")
                answer = client.recv(4096)
        assert received == sent
        assert answer == b"\x09127.0.0.1" + struct.pack(">i", tap.port) + b"\x00"
    deadline = time.monotonic() + 10
    while not tap.late_us and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(tap.late_us) == 1
    json.dumps(tap.late_us)


def test_bytes_come_with_the_time_when_they_came() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as client:
            served, _ = listener.accept()
            with served:
                stamp_arrivals(served)
                before = time.time_ns()
                client.sendall(b"record")
                data, arrived = receive(served)
                assert data == b"record"
                assert before <= arrived <= time.time_ns()
                client.shutdown(socket.SHUT_WR)
                assert receive(served)[0] == b""
