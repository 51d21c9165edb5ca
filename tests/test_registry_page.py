"""The programs of docs/registry.md, run one after the other on one broker and one registry, as a reader would."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import testing
from tests.registry.server import serving
from tests.snippets import run, snippet

PAGE = "docs/registry.md"


def test_the_programs_do_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker() as broker, serving() as registry:

        def outcome(phrase: str, **given: Any) -> dict[str, Any]:
            code = snippet(PAGE, phrase).replace("http://localhost:8081", registry.url)
            return run(code, servers=broker.bootstrap_servers, **given)

        outcome('"logins"')
        assert capsys.readouterr().out == "ada 3\n"

        broker.create_topic("events")
        assert outcome("not JSON")["values"] == [1, b"not JSON", 3]

        schema = outcome("r.compatible(")["ORDER"]
        assert capsys.readouterr().out.splitlines()[-2:][0].endswith(" 1 [1]")
        outcome("AvroSerializer(r, ORDER)", ORDER=schema)
        assert capsys.readouterr().out == "{'id': 7, 'note': 'by hand'}\n"
        outcome("table.select(")
        assert capsys.readouterr().out == "{'offset': [0], 'id': [7], 'note': ['by hand']}\n"
        outcome("async def encrypted")
        assert capsys.readouterr().out == "0\n"
