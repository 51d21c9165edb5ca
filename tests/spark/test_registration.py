"""`kwire.spark.register`: the sources in one session, under queries that start at once."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import AnalysisException

import kwire
from kwire.spark import register
from kwire.spark.ranges import tasks
from kwire.spark.registration import slots_of
from kwire.testing import Broker
from tests.brokers.spark_jars import spark_is
from tests.snippets import run, snippet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

_QUERIES = 2
_WITHIN_S = 120
overrides = pytest.mark.skipif(not spark_is((4, 1)), reason="Spark 4.0 registers no source that it has found by itself")


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session of its own: what is registered in it, the other tests do not see."""
    other = spark.newSession()
    register(other)
    return other


def environment(session: SparkSession, source: str) -> Any:
    """The map that all queries over a source of the session share."""
    manager = session._jsparkSession.sessionState().dataSourceManager()
    return manager.lookupDataSource(source).dataSourceCls().envVars()


class Refusing:
    """A session with Spark Connect whose server refuses sources."""

    version = "4.0.5"

    def __init__(self, condition: str) -> None:
        self.dataSource, self._condition = self, condition

    def register(self, source: type) -> None:
        raise AnalysisException(f"no {source.__name__}", errorClass=self._condition)


def are_told(messages: list[str], version: str) -> bool:
    """Of each source that Spark has kept it, once."""
    told = [f"Spark {version} keeps the {name!r} that it has found by itself" for name in ("kwire", "kwire-log")]
    return [message.partition(":")[0] for message in messages] == told


def test_sources_that_spark_keeps_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    register(cast("SparkSession", Refusing("DATA_SOURCE_ALREADY_EXISTS")))
    assert are_told(caplog.messages, "4.0.5")


def test_what_else_spark_refuses_is_raised() -> None:
    with pytest.raises(AnalysisException, match="no KwireDataSource"):
        register(cast("SparkSession", Refusing("UNSUPPORTED_FEATURE")))


@pytest.mark.skipif(spark_is((4, 1)), reason="Spark 4.1 and newer take a source that they have found by themselves")
def test_spark_4_0_keeps_what_it_has_found(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    register(spark)
    assert are_told(caplog.messages, spark.version)
    assert spark.read.format("kwire").option("subscribe", "t").option("kafka.bootstrap.servers", "a:1").load().columns


@overrides
@pytest.mark.parametrize("source", ["kwire", "kwire-log"])
def test_queries_share_a_map_that_threads_may_share(session: SparkSession, source: str) -> None:
    assert environment(session, source).getClass().getSimpleName() == "ConcurrentHashMap"


@overrides
@pytest.mark.parametrize("source", ["kwire", "kwire-log"])
def test_a_registered_source_knows_the_slots_of_the_session(session: SparkSession, source: str) -> None:
    assert environment(session, source).get("KWIRE_SPARK_SLOTS") == "2"


@pytest.mark.parametrize(
    ("parallelism", "settings", "slots"),
    [
        (2, {}, 2),
        (8, {"spark.executor.instances": "2", "spark.executor.cores": "4"}, 8),
        (2, {"spark.executor.instances": "10", "spark.executor.cores": "4"}, 40),
        (2, {"spark.executor.instances": "10", "spark.executor.cores": "4", "spark.task.cpus": "2"}, 20),
        (2, {"spark.executor.instances": "10"}, 2),
        (2, {"spark.cores.max": "48"}, 48),
        (
            4,
            {
                "spark.dynamicAllocation.enabled": "true",
                "spark.dynamicAllocation.maxExecutors": "30",
                "spark.executor.cores": "4",
            },
            120,
        ),
        (4, {"spark.dynamicAllocation.maxExecutors": "30", "spark.executor.cores": "4"}, 4),
        (2, {"spark.executor.instances": "many", "spark.executor.cores": "4"}, 2),
    ],
)
def test_slots_are_those_of_all_executors_also_of_those_to_come(
    parallelism: int, settings: dict[str, str], slots: int
) -> None:
    assert slots_of(parallelism, settings.get) == slots


def test_planning_takes_the_slots_that_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    own = tasks.slots()
    for told, expected in (("64", 64), ("0", own), ("many", own)):
        monkeypatch.setenv("KWIRE_SPARK_SLOTS", told)
        assert tasks.slots() == expected


@overrides
def test_the_page_registers_them(spark: SparkSession) -> None:
    other = spark.newSession()
    run(snippet("docs/spark.md", "kwire.spark.register("), spark=other)
    assert environment(other, "kwire").getClass().getSimpleName() == "ConcurrentHashMap"


@overrides
def test_queries_that_start_at_once_read_everything(session: SparkSession, tmp_path: Path) -> None:
    with Broker(topics={"orders": 2}) as broker:
        with kwire.Producer(broker.bootstrap_servers) as producer:
            producer.send_many("orders", [b"%d" % number for number in range(100)])
        rows: list[int] = []
        together = Barrier(_QUERIES)

        def start(name: str) -> StreamingQuery:
            stream = session.readStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
            frame = stream.option("subscribe", "orders").option("startingOffsets", "earliest").load()
            writer = frame.writeStream.format("parquet").option("path", str(tmp_path / name / "rows"))
            writer = writer.option("checkpointLocation", str(tmp_path / name / "checkpoint"))
            together.wait()
            return writer.trigger(availableNow=True).start()

        def run(name: str) -> None:
            query = start(name)
            assert query.awaitTermination(_WITHIN_S)
            assert query.exception() is None
            rows.append(session.read.parquet(str(tmp_path / name / "rows")).count())

        threads = [Thread(target=run, args=(f"query-{number}",)) for number in range(_QUERIES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert rows == [100] * _QUERIES


@overrides
def test_a_batch_read_and_a_write_go_through_it(session: SparkSession) -> None:
    with Broker(topics={"orders": 2, "copy": 1}) as broker:
        with kwire.Producer(broker.bootstrap_servers) as producer:
            producer.send_many("orders", [b"%d" % number for number in range(10)])
        where = {"kafka.bootstrap.servers": broker.bootstrap_servers}
        frame = session.read.format("kwire").options(**where, subscribe="orders").load()
        frame.select("value").write.format("kwire").mode("append").options(**where, topic="copy").save()
        assert sorted(broker.values("copy"), key=int) == [b"%d" % number for number in range(10)]
