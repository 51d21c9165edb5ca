"""A notebook with a kernel of its own, run as Jupyter runs it: what its cells give are tables."""

from __future__ import annotations

import json
from typing import Any

import nbformat
from nbclient import NotebookClient

BEGINNING = """
from kwire import Admin, Consumer, Producer, testing
broker = testing.Broker(topics={"orders": 2}).__enter__()
producer = Producer(broker.bootstrap_servers)
for i in range(20):
    producer.send("orders", b"<script>alert(%d)</script>" % i, partition=0).result(10)
producer.send("orders", b"last", partition=1)
"""
POLL = """
consumer = Consumer(broker.bootstrap_servers, auto_offset_reset="earliest")
consumer.assign([("orders", 0)])
records = consumer.poll(10)
records
"""
CELLS = (
    BEGINNING,
    POLL,
    "records[0]",
    "Admin(broker.bootstrap_servers).describe_topics()",
    "consumer.metrics()",
    "consumer.health()",
)


def test_cells_of_a_notebook_give_tables() -> None:
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    shown = [cell["outputs"][-1]["data"] for cell in json.loads(nbformat.writes(notebook))["cells"]]
    pages = ["".join(each["text/html"]) for each in shown]
    headings = (
        "Delivery",
        "20 records, orders, 1 partition",
        "ConsumerRecord",
        "1 topic",
        "metrics",
        "health of a consumer",
    )
    for page, heading in zip(pages, headings, strict=True):
        assert heading in page
        assert "<table" in page
        assert "<script" not in page
    assert "&lt;script&gt;alert(0)&lt;/script&gt;" in pages[1]
    assert all("text/plain" in each for each in shown)
