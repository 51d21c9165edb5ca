"""The programs of docs/asyncio.md, run one after the other on one broker, as a reader would."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import testing
from tests.snippets import run, snippet

PAGE = "docs/asyncio.md"


def test_the_programs_do_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker() as broker:

        def outcome(phrase: str) -> dict[str, Any]:
            return run(snippet(PAGE, phrase), servers=broker.bootstrap_servers)

        run(snippet("README.md", "with Producer("), servers=broker.bootstrap_servers)
        capsys.readouterr()
        for _ in range(2):
            outcome("aio.Admin(")
            assert len(capsys.readouterr().out.splitlines()) == 10

        placed = outcome("asyncio.gather")["placed"]
        assert len({(metadata.partition, metadata.offset) for metadata in placed}) == 100
        assert capsys.readouterr().out.startswith("orders ")

        found = outcome("to_arrow")
        assert found["table"].num_rows > 2
        assert len(found["again"]) == 2
        assert found["ends"]["orders", 0] == found["table"].num_rows

        assert outcome("asyncio.timeout")["metadata"].offset >= 0

        assert b"17.50" in outcome("lifespan(")["seen"]
