"""The ledger of second tries: short, and of tests that may have one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.pardons import LEDGER

ROOT = Path(__file__).resolve().parents[1]
HEAD, *ENTRIES = LEDGER.read_text().splitlines()


def _marked(file: Path, test: str) -> bool:
    """Whether the test, or its whole file, is marked `wall_clock`."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            found = ast.unparse(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name == test:
            found = " ".join(map(ast.unparse, node.decorator_list))
        else:
            continue
        if "mark.wall_clock" in found:
            return True
    return False


def test_the_ledger_is_not_above_its_limit() -> None:
    limit = re.search(r"At most (\d+) lines", HEAD)
    assert limit
    assert int(limit[1]) <= 3
    assert len(ENTRIES) <= int(limit[1]), "mend what these depend on, or the tests"


def test_each_entry_is_of_a_test_that_may_have_a_second_try() -> None:
    for entry in ENTRIES:
        date, test, reason = entry.split("  ", 2)
        file, _, name = test.partition("::")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
        assert _marked(ROOT / file, name.partition("[")[0]), f"{test} is not marked wall_clock"
        assert reason


def test_a_mark_is_found_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text("@pytest.mark.wall_clock\ndef test_a(): ...\ndef test_b(): ...\n")
    assert _marked(file, "test_a")
    assert not _marked(file, "test_b")
    file.write_text("pytestmark = [pytest.mark.kafka, pytest.mark.wall_clock]\ndef test_b(): ...\n")
    assert _marked(file, "test_b")
