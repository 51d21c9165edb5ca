"""What a record that failed takes along."""

from __future__ import annotations

from types import SimpleNamespace

from kwire.worker.failures import LONGEST_MESSAGE, PREFIX, Failures
from kwire.worker.progress import Item, Partition


def test_the_text_of_an_error_is_cut() -> None:
    record = SimpleNamespace(
        topic="t", partition=0, offset=7, timestamp=1, key=None, value=b"", headers=(), raw_headers=()
    )
    failures = Failures("g", 0, 0.1, 1.0, Exception, {}, "dead")
    headers = dict(failures.headers(Item(record, Partition(1), 0.0, 0), "dead", ValueError("x" * 10_000), 0.0))
    assert headers[PREFIX + "error.message"] == b"x" * LONGEST_MESSAGE
