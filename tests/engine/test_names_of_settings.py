"""Texts of the engine name settings by fields of a Wording, so that a shell or a job can spell them in its way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.sources import PACKAGE

from kwire.engine.settings.clients import AdminSettings, ConsumerSettings, ProducerSettings, ShareConsumerSettings

ENGINE = PACKAGE / "engine"
TABLES = (ProducerSettings, ConsumerSettings, ShareConsumerSettings, AdminSettings)
KEYWORDS = {keyword for table in TABLES for keyword in table.table if "_" in keyword}
NAMED = re.compile(rf"(?<![\w.{{])({'|'.join(sorted(KEYWORDS, key=len, reverse=True))})(?![\w}}])")
NOT_AS_SETTINGS = {
    ("settings/config.py", "bootstrap_servers"),  # the parameter of a Python call
    ("groups/epoch_heartbeats.py", "heartbeat_interval_ms"),  # a field of a response, in the group's log
}


def plainly_named(path: Path) -> Iterator[str]:
    """The keywords that stand as plain words in f-strings, and in the texts of errors."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield from NAMED.findall("".join(_plain(part) for part in node.values))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Error", "error_for", "Wording")):
            yield from NAMED.findall(" ".join(_plain(argument) for argument in node.args))


def _plain(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else " "


def test_no_error_of_the_engine_names_a_setting_but_by_a_field_of_its_wording() -> None:
    found = {
        (path.relative_to(ENGINE).as_posix(), name) for path in ENGINE.rglob("*.py") for name in plainly_named(path)
    }
    assert found == NOT_AS_SETTINGS
