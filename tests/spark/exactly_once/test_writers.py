"""The writers of exactly once as Spark calls them, pickled between driver and tasks, without a JVM."""

from __future__ import annotations

import pickle
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from kwire.errors import ConfigError, KafkaError
from kwire.spark.exactly_once import writers as exactly_once_writers
from kwire.spark.exactly_once.decisions import ExactlyOnceError
from kwire.spark.exactly_once.writers import ExactlyOnceStreamWriter, ExactlyOnceWriter
from kwire.spark.options.write import parse_write_options
from kwire.spark.workers.clients import close_idle_clients
from kwire.testing import Broker
from tests.spark.exactly_once.query_world import Killed
from tests.thorough import SOAK, THOROUGH, seeds

SEEDS = seeds(200 if SOAK else 10 if THOROUGH else 4)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"a": 2, "b": 1}) as made:
        yield made
        close_idle_clients()


def options(broker: Broker, **more: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "deliveryGuarantee": "exactly-once",
        "transactionalIdPrefix": "p",
        "kafka.linger.ms": "0",
        **more,
    }


class Context:
    """Spark's TaskContext, as far as it is looked at."""

    def __init__(self, query: str | None, run: str | None, batch: int) -> None:
        self.properties = {
            "sql.streaming.queryId": query,
            "spark.jobGroup.id": run,
            "streaming.sql.batchId": str(batch),
        }

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        return self.properties[name]


def batches(rows: list[tuple[str, bytes]], fails_after: int | None = None) -> Iterator[pa.RecordBatch]:
    """Batches of three rows, an empty one first; the task dies in the middle, if it has to."""
    yield pa.RecordBatch.from_pydict({"topic": pa.array([], pa.string()), "value": pa.array([], pa.binary())})
    for at in range(0, len(rows), 3):
        if fails_after is not None and at + 3 > fails_after:
            raise ZeroDivisionError
        topics, values = zip(*rows[at : at + 3], strict=True)
        yield pa.RecordBatch.from_pydict({"topic": pa.array(topics), "value": pa.array(values, pa.binary())})


def copied(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def committed(broker: Broker) -> Counter[bytes | None]:
    return Counter(
        value for topic in broker.topics() if len(topic) == 1 for value in broker.values(topic, committed=True)
    )


class Query:
    """Runs of one query; `monkeypatch` stands in for Spark's context, and lets the driver die."""

    def __init__(self, broker: Broker, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broker, self.rng, self.patch = broker, random.Random(seed), monkeypatch
        self.query, self.number = str(uuid.uuid4()), 0
        self.rows: dict[int, list[tuple[str, bytes]]] = {}
        self.done = -1

    def run(self, until: int) -> None:
        """One run, which may die in any commit."""
        run = str(uuid.uuid4())
        for batch in range(self.done + 1, until):
            rows = self.rows.setdefault(batch, self.new_rows())
            self.patch.setattr("pyspark.TaskContext.get", lambda at=batch: Context(self.query, run, at))
            writer = copied(ExactlyOnceStreamWriter(parse_write_options(options(self.broker)), {}))
            messages = self.messages(writer, rows)
            self.patch.setattr(exactly_once_writers, "_committer", self.dying(exactly_once_writers_committer))
            writer.commit(copied(messages), batch)
            self.done = batch

    def dying(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """A committer that is killed before some step, more often not."""
        left = self.rng.randrange(30)

        def made(*given: Any) -> Any:
            committer = make(*given)

            def step(name: str) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    committer._producer._reactor.close()
                    raise Killed

            if committer is not None:
                committer._step = step
            return committer

        return made

    def new_rows(self) -> list[tuple[str, bytes]]:
        count = self.rng.choice([0, 4, 30])
        self.number += count
        return [(self.rng.choice("ab"), b"%d" % number) for number in range(self.number - count, self.number)]

    def messages(self, writer: Any, rows: list[tuple[str, bytes]]) -> list[Any]:
        parts: list[list[tuple[str, bytes]]] = [[] for _ in range(self.rng.randrange(1, 5))]
        for row in rows:
            self.rng.choice(parts).append(row)
        return [self.task(writer, part) for part in parts]

    def task(self, writer: Any, rows: list[tuple[str, bytes]]) -> Any:
        """One attempt may fail; of two messages the second is the one that counts."""
        if rows and self.rng.random() < 0.2:
            with pytest.raises(ZeroDivisionError):
                writer.write(batches(rows, fails_after=self.rng.randrange(len(rows))))
        if self.rng.random() < 0.2:
            writer.write(batches(rows))
        return writer.write(batches(rows))


exactly_once_writers_committer = exactly_once_writers._committer


@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_is_committed_once(broker: Broker, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query = Query(broker, seed, monkeypatch)
    while query.done < 5:
        try:
            query.run(6)
        except Killed:
            continue
    broker.clock.advance(1000)
    assert committed(broker) == Counter(value for rows in query.rows.values() for _, value in rows)


def test_transactional_ids_are_used_again(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker has as many as it had tasks in one batch of one run."""
    query, run, seen = str(uuid.uuid4()), str(uuid.uuid4()), set()
    for batch in range(4):
        monkeypatch.setattr("pyspark.TaskContext.get", lambda at=batch: Context(query, run, at))
        writer = ExactlyOnceStreamWriter(parse_write_options(options(broker)), {})
        messages = [writer.write(batches([("a", b"1")])) for _ in range(3)]
        writer.commit(messages, batch)
        seen |= {message.prepared.transaction.transactional_id for message in messages}  # type: ignore[attr-defined]
    assert len(seen) == 3
    assert all(name.startswith(f"p-{query}-{run}-") for name in seen)


def test_a_write_that_fails_has_nothing_open(broker: Broker) -> None:
    writer = copied(ExactlyOnceWriter(parse_write_options(options(broker))))
    message = writer.write(batches([("a", b"1"), ("b", b"2")]))
    with pytest.raises(KafkaError, match="row 1 of the task"):
        writer.write(batches([("a", b"1"), ("b", b"2" * 5_000_000)]))
    writer.abort([message, None])
    broker.append("a", [b"after"])
    assert committed(broker) == {b"after": 1}


def test_a_write_commits_all_tasks(broker: Broker) -> None:
    writer = copied(ExactlyOnceWriter(parse_write_options(options(broker))))
    messages = [writer.write(batches([("a", b"1"), ("b", b"2")])), writer.write(batches([])), None]
    assert committed(broker) == {}
    copied(writer).commit(copied(messages))
    assert committed(broker) == {b"1": 1, b"2": 1}
    copied(writer).commit([None])
    copied(writer).abort([None])


def test_a_task_that_knows_no_batch_is_refused(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = ExactlyOnceStreamWriter(parse_write_options(options(broker)), {})
    for context in (None, Context(None, "run", 1)):
        monkeypatch.setattr("pyspark.TaskContext.get", lambda found=context: found)
        with pytest.raises(ExactlyOnceError, match="does not know which batch"):
            writer.write(batches([("a", b"1")]))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("kafka.acks", "1", "deliveryGuarantee 'exactly-once' needs kafka.acks='all', not kafka.acks=1"),
        ("kafka.enable.idempotence", "false", "deliveryGuarantee 'exactly-once' needs kafka.enable.idempotence"),
        ("kafka.transaction.timeout.ms", "0", "kafka.transaction.timeout.ms"),
        ("kafka.transactional.id", "x", "transactional.id"),
        ("deliveryGuarantee", "at-least-once", "transactionalIdPrefix has no effect"),
        ("transactionalIdPrefix", "", "transactionalIdPrefix"),
    ],
)
def test_what_excludes_transactions_is_refused_at_once(broker: Broker, name: str, value: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        parse_write_options(options(broker, **{name: value}))


def test_a_checkpoint_that_lags_behind_is_refused(broker: Broker) -> None:
    with pytest.raises(ConfigError, match="asyncProgressTrackingEnabled"):
        ExactlyOnceStreamWriter(parse_write_options(options(broker)), {"asyncProgressTrackingEnabled": "true"})


@pytest.mark.parametrize(
    ("more", "timeout"),
    [
        ({}, 900_000),
        ({"kafka.transaction.timeout.ms": "30000"}, 30_000),
        ({"kafka.transaction.two.phase.commit.enable": "true"}, 2**31 - 1),
    ],
    ids=["default", "given", "none"],
)
def test_the_time_out_is_the_longest_unless_given(more: dict[str, str], timeout: int) -> None:
    allowed = {"unstable_api_versions_enable": True, "transaction_two_phase_commit_enable": True}
    with Broker(topics={"a": 1}, **allowed) as broker:
        check_timeout(broker, more, timeout)
        close_idle_clients()


def check_timeout(broker: Broker, more: dict[str, str], timeout: int) -> None:
    writer = ExactlyOnceWriter(parse_write_options(options(broker, **more)))
    message = writer.write(batches([("a", b"1")]))
    name = message.prepared.transaction.transactional_id  # type: ignore[attr-defined]
    found = broker._state().transactions.find(name)
    assert found is not None
    assert found.timeout_ms == timeout
    broker.clock.advance(20)
    writer.commit([message])
    assert committed(broker) == {b"1": 1}
