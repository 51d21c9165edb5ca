"""The Spark example without Spark: its orders, its progress, and which files of a sink count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.timing import PATIENT

pytest.importorskip("pyspark")
from examples.spark import shop
from examples.spark.kept_query import STARTS, KeptQuery
from examples.spark.progress import plot, sparkline
from examples.spark.spark_log import keep as keep_log
from examples.spark.spark_log import reason
from examples.spark.story import committed_files, from_kafka
from pyspark.errors import StreamingQueryException

from kwire import Consumer, Producer, testing


def test_the_shop_writes_what_it_says_by_turns_and_closes() -> None:
    with testing.Broker() as broker:
        shop.write(broker.bootstrap_servers, 1000, 1_000_000)
        partitions = [(shop.TOPIC, partition) for partition in range(shop.PARTITIONS)]
        with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign(partitions, until=consumer.end_offsets(partitions))
            found = []
            while not consumer.done():
                found += [json.loads(value or b"") for value in consumer.poll(timeout=PATIENT).values()]
    closed = [order for order in found if order["country"] == shop.CLOSED]
    assert [order["order"] for order in closed] == [1000]
    sold = [order for order in found if order["country"] != shop.CLOSED]
    assert sorted(order["order"] for order in sold) == list(range(1000))
    expected = shop.revenue(1000).values()
    assert sum(order["cents"] for order in sold) == sum(cents for _, cents in expected)
    assert sum(number for number, _ in expected) == 1000


def test_a_plot_shows_rows_over_time_and_where_it_was_killed(tmp_path: Path) -> None:
    file = tmp_path / "progress.jsonl"
    batches = [{"query": "kafka", "at": 100.0 + second, "rows": 100} for second in range(4)]
    file.write_text("".join(json.dumps(batch) + "\n" for batch in [*batches, {"query": "x", "at": 1.0, "rows": 9}]))
    lines = plot(file, "kafka", [101.5]).splitlines()
    assert lines[0].split("|")[0].strip() == "400"
    assert all("x" in line.split("|")[1] for line in lines[:-2])
    assert lines[-1].split() == ["0", "s", "3", "s", "x:", "killed"]


def test_a_sparkline_is_as_high_as_its_numbers() -> None:
    assert sparkline([0, 4, 8]) == " ▄█"
    assert sparkline([]) == ""


def test_files_count_that_the_sinks_log_names(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()

    def write(name: str, *files: str) -> None:
        lines = [json.dumps({"path": f"file:///out/{file}", "action": "add"}) for file in files]
        (log / name).write_text("\n".join(["v1", *lines]))

    write("8", "a")
    write("9.compact", "a", "b")
    write("10", "c")
    (log / ".10.crc").write_bytes(b"\0")
    assert sorted(committed_files(tmp_path)) == ["/out/a", "/out/b", "/out/c"]


class Run:
    """What a started query is to the one that keeps it: it starts for two looks, then runs or has ended."""

    name = "kafka"

    def __init__(self, failure: str | None = None) -> None:
        self._failure = failure and StreamingQueryException(failure)
        self._looks = 2

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        return self._looks > 0 or not self._failure

    @property
    def status(self) -> dict[str, str]:
        self._looks -= 1
        return {"message": "Initializing sources" if self._looks > 0 else "Processing new data"}

    def exception(self) -> StreamingQueryException | None:
        return self._failure or None

    def processAllAvailable(self) -> None:  # noqa: N802 - Spark's name
        if self._failure:
            raise self._failure


LATE = "[STREAM_FAILED] Python worker failed to connect back."


def keep(*failures: str | None) -> tuple[KeptQuery, Iterator[Run]]:
    runs = iter([Run(failure) for failure in failures])
    return KeptQuery(lambda: next(runs)), runs  # type: ignore[arg-type,return-value]


def test_a_query_whose_start_spark_gave_up_is_started_again(capsys: pytest.CaptureFixture[str]) -> None:
    kept, left = keep(LATE, LATE, None, None)
    kept.keep()
    kept.finish()
    assert kept.query.exception() is None
    assert len(list(left)) == 1
    assert capsys.readouterr().out.count("starting again") == 2


def test_other_failures_and_too_many_starts_are_raised() -> None:
    kept, left = keep("Task not serializable", None)
    with pytest.raises(StreamingQueryException, match="not serializable"):
        kept.finish()
    assert len(list(left)) == 1
    kept, left = keep(*[LATE] * STARTS, None)
    with pytest.raises(StreamingQueryException, match="connect back"):
        kept.finish()
    assert len(list(left)) == 1


_JVM = """26/11/24 12:07:30 WARN Utils: Set SPARK_LOCAL_IP if you need to bind to another address
Traceback (most recent call last):
  File "pipeline.py", line 5, in run
    raise failure
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query terminated. Task not serializable
=== Streaming Query ===
"""
_CAUSED = """Caused by: java.io.InvalidObjectException: Illegal size 5 of collection, expected 7
\tat java.base/java.io.ObjectInputStream.readObject(ObjectInputStream.java:467)
Caused by: java.lang.Error: deeper
"""
_OF_PYTHON = """Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
kwire.errors.ConnectError: no broker could be reached

\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:1)
Caused by: java.lang.Error: deeper
"""


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (_JVM + _CAUSED, "java.io.InvalidObjectException: Illegal size 5 of collection, expected 7"),
        (_JVM + _OF_PYTHON, "kwire.errors.ConnectError: no broker could be reached"),
        (_JVM, _JVM.splitlines()[4]),
        ("java: command not found\n\n", "java: command not found"),
        ("", "it wrote nothing"),
    ],
)
def test_the_reason_of_a_failure_is_one_line(log: str, why: str) -> None:
    assert reason(log) == why


def test_a_log_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text("why")
    kept = keep_log(log)
    log.unlink()
    assert kept.read_text() == "why"
    kept.unlink()


def test_only_committed_rows_are_counted() -> None:
    row = b'{"minute":"09:00","country":"JP","orders":2,"cents":5}'
    with testing.Broker() as broker:
        broker.create_topic("shop-revenue", 2)
        with Producer(broker.bootstrap_servers, transactional_id="t") as producer:
            with producer.transaction():
                producer.send("shop-revenue", row, partition=0)
            producer.begin_transaction()
            producer.send("shop-revenue", row, partition=1)
            producer.flush()
            producer.abort_transaction()
        assert from_kafka(broker.bootstrap_servers) == [(("09:00", "JP"), (2, 5))]
