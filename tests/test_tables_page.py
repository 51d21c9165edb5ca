"""The programs of docs/tables.md, run one after the other on one broker, as a reader would."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire import records, testing
from tests.snippets import run, snippet, snippets

PAGE = "docs/tables.md"


def test_the_programs_do_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker(topics={"orders": 2}) as broker:
        broker.append("orders", content(2000), partition=0)

        def outcome(phrase: str) -> dict[str, Any]:
            return run(snippet(PAGE, phrase), servers=broker.bootstrap_servers)

        assert outcome("orders.to_pandas()")["orders"].num_rows == 2000
        outcome("start=timedelta(hours=1)")
        outcome("read_batches(")
        assert sum(map(int, capsys.readouterr().out.split())) == 2000
        assert outcome("acknowledged")["acknowledged"] == 2
        outcome("payments")
        written = kwire.read("payments", broker.bootstrap_servers, value="text")["value"].to_pylist()
        assert sorted(written) == ['{"amount":3.5,"note":null}', '{"amount":5.0,"note":"by hand"}']
        assert len(snippets(PAGE)) == 5


def content(count: int) -> bytes:
    return records.encode([b'{"n": %d}' % number for number in range(count)])
