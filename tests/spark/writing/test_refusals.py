"""A row of a stream that no repetition would write: one message of its task, and one error on the driver. No JVM."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import WriterCommitMessage

from kwire import Admin, _prepared
from kwire.spark.exactly_once.writers import ExactlyOnceStreamWriter
from kwire.spark.options.write import parse_write_options
from kwire.spark.workers.clients import close_idle_clients
from kwire.spark.write_stream import KwireStreamWriter
from kwire.spark.writing.refusals import Refused
from kwire.spark.writing.write_task import WriteError
from kwire.testing import Broker

EXACTLY = {"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "p"}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"a": 1}) as made:
        yield made
        close_idle_clients()


def writer_of(broker: Broker, monkeypatch: pytest.MonkeyPatch, **options: str) -> Any:
    """As Spark has it in a task of batch 0."""
    parsed = parse_write_options({"kafka.bootstrap.servers": broker.bootstrap_servers, **options})
    found = {"streaming.sql.batchId": "0", "sql.streaming.queryId": str(uuid.uuid4())}
    found["spark.jobGroup.id"] = str(uuid.uuid4())
    monkeypatch.setattr("pyspark.TaskContext.get", lambda: SimpleNamespace(getLocalProperty=found.get))
    return ExactlyOnceStreamWriter(parsed, {}) if options else KwireStreamWriter(parsed)


def rows(*topics: str | None) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict(
        {"topic": pa.array(topics, pa.string()), "value": pa.array([b"v"] * len(topics), pa.binary())}
    )


@pytest.mark.parametrize("options", [{}, EXACTLY], ids=["at-least-once", "exactly-once"])
def test_the_driver_fails_and_no_task_does(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    writer = writer_of(broker, monkeypatch, **options)
    good = writer.write(rows("a", "a"))
    refused = pickle.loads(pickle.dumps(writer.write(rows("a", None, "a"))))
    assert isinstance(refused, Refused)
    messages: list[WriterCommitMessage | None] = [good, refused]
    with pytest.raises(WriteError, match="row 1 of the task cannot be written: the topic is null") as raised:
        writer.commit(messages, 0)
    assert raised.value.row == 1
    writer.abort(messages, 0)  # as Spark does then
    with Admin(broker.bootstrap_servers) as admin:
        assert _prepared.list_open(admin, "") == []
    assert broker.values("a", committed=True) == ([] if options else [b"v", b"v"])


@pytest.mark.parametrize("options", [{}, EXACTLY], ids=["at-least-once", "exactly-once"])
def test_what_may_pass_fails_the_task(broker: Broker, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]) -> None:
    patience = {"kafka.max.block.ms": "300", "kafka.allow.auto.create.topics": "false"}
    parsed = {"kafka.bootstrap.servers": broker.bootstrap_servers, **options, **patience}
    writer = writer_of(broker, monkeypatch, **options)
    writer.options = parse_write_options(parsed)
    with pytest.raises(Exception, match="absent"):
        writer.write(rows("absent"))
