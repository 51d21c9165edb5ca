"""The programs of docs/worker.md, run as a reader would; each is stopped by SIGTERM, as by a service manager."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from kwire import testing
from tests.snippets import run, snippet

PAGE = "docs/worker.md"


@pytest.mark.parametrize(
    ("phrase", "line"),
    [("orders.retry.1m", "billing b'17.50'"), ("aio.Worker(", "billing 1 orders")],
)
def test_a_worker_bills_until_it_is_stopped(phrase: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    topics = {"orders": 1, "orders.retry.1m": 1, "orders.retry.1h": 1}
    with testing.Broker(topics=topics) as broker:
        broker.append("orders", [b"17.50"], partition=0)

        def stop_when_committed() -> None:
            broker.wait_for_requests("OffsetCommit")
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=stop_when_committed, daemon=True).start()
        run(snippet(PAGE, phrase), servers=broker.bootstrap_servers)
    assert line in capsys.readouterr().out
