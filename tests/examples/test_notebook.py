"""The notebook, run by a kernel from its first cell to its last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwire.testing import Broker
from tests.examples.running import EXAMPLES, commands_for, run

nbformat = pytest.importorskip("nbformat")
for needed in ("nbclient", "ipykernel", "pandas", "polars"):
    pytest.importorskip(needed)


def results(notebook: Any) -> list[dict[str, str]]:
    """What the cells show, by MIME type."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert {output["output_type"] for output in outputs} == {"execute_result"}
    return [output["data"] for output in outputs]


def test_each_cell_of_the_notebook_shows_what_its_text_says(tmp_path: Path) -> None:
    [command] = commands_for("orders.ipynb")
    with Broker(topics={"orders": 3, "bills": 1}) as broker:
        run(f"{command} --output {tmp_path / 'run'}", broker, HOME=str(tmp_path))
        bills = [json.loads(value) for value in broker.values("bills")]
    shown = results(nbformat.read(tmp_path / "run.ipynb", as_version=4))
    assert sum(bill["orders"] for bill in bills) == 1000
    assert len(bills) == 5
    servers, health, record, *tables, written, read = shown
    assert servers["text/plain"] == repr(broker.bootstrap_servers)
    assert "1 of 1 connected" in health["text/plain"]
    assert "customer-" in record["text/plain"]
    assert all("<table" in table["text/html"] for table in tables)
    assert len(tables) == 3
    assert written["text/plain"] == "5"
    assert read["text/plain"].count("customer-") == 5


def test_the_notebook_is_kept_without_what_a_run_showed() -> None:
    notebook = nbformat.read(EXAMPLES / "orders.ipynb", as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
