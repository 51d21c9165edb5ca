"""The lag of streams from what Spark tells of their progress, without a JVM."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryProgress

from kwire.engine.common.addresses import TopicPartition
from kwire.spark import LagListener, lag

QUERY = uuid.UUID(int=7)


def progress(*sources: Mapping[str, Any], name: str | None = "billing") -> StreamingQueryProgress:
    """As Spark makes it of its JSON."""
    rest: dict[str, Any] = {
        "inputRowsPerSecond": 1.0,
        "processedRowsPerSecond": 1.0,
        "numInputRows": 3,
        "startOffset": None,
    }
    rest |= {"endOffset": None, "latestOffset": None}
    told = {
        "id": str(QUERY),
        "runId": str(QUERY),
        "name": name,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "batchId": 3,
        "batchDuration": 100,
        "stateOperators": [],
        "sources": [{"description": "PythonMicroBatchStream@1", **rest, **source} for source in sources],
        "sink": {"description": "noop", "numOutputRows": -1},
    }
    return StreamingQueryProgress.fromJson(json.loads(json.dumps(told)))


ORDERS = {
    "endOffset": {"": {}, "orders": {"0": 5, "1": 9}},
    "latestOffset": {"orders": {"0": 15, "1": 9, "2": 4}},
}
BEHIND = {TopicPartition("orders", 0): 10, TopicPartition("orders", 1): 0, TopicPartition("orders", 2): 4}


def test_the_offsets_that_are_not_read() -> None:
    assert lag(progress(ORDERS)) == BEHIND


def test_json_and_dicts_are_taken_too() -> None:
    assert lag(progress(ORDERS).json) == BEHIND
    assert lag(json.loads(progress(ORDERS).json)) == BEHIND
    texts = {name: json.dumps(offsets) for name, offsets in ORDERS.items()}
    assert lag({"sources": [texts]}) == BEHIND


def test_several_sources() -> None:
    slower = {"endOffset": {"orders": {"0": 1}, "bills": {"0": 1}}, "latestOffset": {"orders": {"0": 15}}}
    assert lag(progress(ORDERS, slower)) == {**BEHIND, TopicPartition("orders", 0): 14}


@pytest.mark.parametrize(
    "source",
    [
        {"endOffset": "[" * 3000, "latestOffset": "[" * 3000},
        {"endOffset": {"orders": {"0": 5}}, "latestOffset": None},
        {"endOffset": 7, "latestOffset": 9},
        {"endOffset": {"logOffset": 3}, "latestOffset": None},
        {},
    ],
)
def test_sources_that_tell_no_lag(source: dict[str, Any]) -> None:
    assert lag(progress(source)) == {}
    assert lag(progress(source, ORDERS)) == BEHIND


def test_a_log_that_became_shorter_is_no_lag() -> None:
    shorter = {"endOffset": {"orders": {"0": 5}}, "latestOffset": {"orders": {"0": 2}}}
    assert lag(progress(shorter)) == {TopicPartition("orders", 0): 0}


METRICS = {"avgOffsetsBehindLatest": 14 / 3, "maxOffsetsBehindLatest": 10, "minOffsetsBehindLatest": 0}


@pytest.mark.parametrize(("name", "query"), [("billing", "billing"), (None, str(QUERY))])
def test_a_listener_publishes_the_metrics_of_sparks_source(name: str | None, query: str) -> None:
    published: list[tuple[str, Mapping[str, float]]] = []
    listener = LagListener(lambda *given: published.append(given))
    listener.onQueryStarted(SimpleNamespace(id=QUERY))
    listener.onQueryProgress(SimpleNamespace(progress=progress({}, name=name)))
    assert published == []
    listener.onQueryProgress(SimpleNamespace(progress=progress(ORDERS, name=name)))
    listener.onQueryIdle(SimpleNamespace(id=QUERY))
    assert published == [(query, METRICS)]
    assert listener.metrics == {query: METRICS}
    listener.onQueryTerminated(SimpleNamespace(id=QUERY))
    listener.onQueryTerminated(SimpleNamespace(id=QUERY))
    assert listener.metrics == {}


def test_a_listener_logs_unless_it_is_told_otherwise(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "kwire.spark"):
        LagListener().onQueryProgress(SimpleNamespace(progress=progress(ORDERS)))
    (line,) = caplog.messages
    assert line.startswith("billing: avgOffsetsBehindLatest=4.6")
    assert line.endswith("maxOffsetsBehindLatest=10, minOffsetsBehindLatest=0")
