"""Faults of real brokers in the middle of Spark's tasks and streams: no row is lost, none is doubled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition

import kwire
from tests.brokers import Cluster
from tests.brokers.late_proxy import LateProxy
from tests.brokers.ports import LOOPBACK, free_ports
from tests.spark.connector.conftest import RELEASE
from tests.spark.connector.option_sets import QUICK
from tests.spark.connector.outcome import Row, kind_of, rows_of
from tests.spark.connector.streaming import as_places, process_all, run_stream
from tests.spark.foreign import WITHIN_S, ForeignClient
from tests.thorough import SOAK

pytestmark = pytest.mark.wall_clock

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

RECORDS = 40_000
DOWN_S = 20.0 if SOAK else 5.0


class Gate:
    """Holds a task in one of its batches until the test lets it go on. Two files: workers are other processes."""

    def __init__(self, folder: Path) -> None:
        self._reached, self._opened = folder / "reached", folder / "opened"

    def hold(self, frame: DataFrame, *, after: int = 0) -> DataFrame:
        """The frame, whose tasks stop at the gate when so many batches have gone through."""
        reached, opened = str(self._reached), str(self._opened)

        def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import os
            import time

            for number, batch in enumerate(batches):
                if number >= after:
                    open(reached, "w").close()
                while number >= after and not os.path.exists(opened):
                    time.sleep(0.02)
                yield batch

        return frame.mapInArrow(wait, frame.schema)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """The block runs when a task stands at the gate, which is open after it."""
        deadline = time.monotonic() + 2 * WITHIN_S
        while not self._reached.exists():
            assert time.monotonic() < deadline, "no task has read anything"
            time.sleep(0.02)
        try:
            yield
        finally:
            self._opened.touch()


def fill(servers: str, topic: str, partitions: int) -> None:
    """A topic of so many bytes that a task has not fetched all of it when its first batch is there."""
    with kwire.Admin(servers) as admin:
        admin.create_topics({topic: partitions})
    with kwire.Producer(servers, linger_ms=20) as producer:
        for partition in range(partitions):
            producer.send_many(topic, [bytes(1000)] * (RECORDS // partitions), partition=partition)


def offsets(frame: DataFrame) -> Counter[tuple[int, int]]:
    return Counter((row.partition, row.offset) for row in frame.select("partition", "offset").collect())


@contextmanager
def read_in_one_task(
    spark: SparkSession, gate: Gate, cluster: Cluster, topic: str
) -> Iterator[list[Counter[tuple[int, int]]]]:
    """The block runs beside a read of the topic, held at the gate; after it the list has the offsets that were read."""
    options = {
        "kafka.bootstrap.servers": cluster.bootstrap_servers,
        "subscribe": topic,
        "maxTasks": "1",
        "kafka.fetch.max.bytes": "200000",
    }
    frame = gate.hold(spark.read.format("kwire").options(**options).load().select("partition", "offset", "value"))
    found: list[Counter[tuple[int, int]]] = []
    reader = Thread(target=lambda: found.append(offsets(frame)))
    reader.start()
    yield found
    reader.join(3 * WITHIN_S)


def test_leader_changes_within_a_task(spark: SparkSession, tmp_path: Path) -> None:
    partitions, gate = 3, Gate(tmp_path)
    with Cluster(RELEASE, nodes=3) as cluster:
        fill(cluster.bootstrap_servers, "leaders", partitions)
        with read_in_one_task(spark, gate, cluster, "leaders") as found, gate.closed():
            with kwire.Admin(cluster.bootstrap_servers) as admin:
                leader = admin.describe_topics(["leaders"])["leaders"].partitions[0].leader
            cluster.kill_node(leader)
    assert found == [Counter((tp, offset) for tp in range(partitions) for offset in range(RECORDS // partitions))]


@pytest.mark.parametrize("lenient", [False, True])
def test_retention_overtakes_a_task(lenient: bool, spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    topic, gate = f"overtaken_{lenient}", Gate(tmp_path)
    fill(cluster.bootstrap_servers, topic, 1)
    options = {
        "kafka.bootstrap.servers": cluster.bootstrap_servers,
        "subscribe": topic,
        "maxTasks": "1",
        "kafka.fetch.max.bytes": "200000",
        "failOnDataLoss": str(not lenient).lower(),
    }
    frame = gate.hold(spark.read.format("kwire").options(**options).load().select("partition", "offset", "value"))
    found: list[Counter[tuple[int, int]] | str] = []

    def read() -> None:
        try:
            found.append(offsets(frame))
        except Exception as error:
            found.append(kind_of(str(error)))

    reader = Thread(target=read)
    reader.start()
    with gate.closed():
        cut = TopicPartition(topic, 0, RECORDS - 500)
        admin = ForeignClient(cluster.bootstrap_servers).admin
        admin.delete_records([cut])[cut].result(WITHIN_S)
    reader.join(3 * WITHIN_S)
    [result] = found
    if not lenient:
        assert result == "records are lost"
        return
    assert isinstance(result, Counter)
    assert set(result.values()) == {1}
    read_offsets = {offset for _, offset in result}
    assert set(range(RECORDS - 500, RECORDS)) <= read_offsets
    assert 0 in read_offsets
    assert len(read_offsets) < RECORDS


@pytest.mark.parametrize("lenient", [False, True])
def test_retention_overtakes_a_stream(lenient: bool, spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    topic, client = f"aged_{lenient}", ForeignClient(cluster.bootstrap_servers)
    client.create_topic(topic, 2)
    options = {
        **QUICK,
        "kafka.bootstrap.servers": cluster.bootstrap_servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "failOnDataLoss": str(not lenient).lower(),
    }
    now = int(time.time() * 1000)
    for stage, expected in enumerate((range(40), range(60, 80))):
        client.produce(topic, [(partition, b"v", None, now, ()) for partition in range(2) for _ in range(40)])
        if stage:
            cuts = [TopicPartition(topic, partition, 60) for partition in range(2)]
            for future in client.admin.delete_records(cuts).values():
                future.result(WITHIN_S)
        runs = [run_stream(spark, source, options, tmp_path / source) for source in ("kafka", "kwire")]
        if stage and not lenient:
            assert [run.error for run in runs] == ["records are lost"] * 2, [run.text for run in runs]
            return
        places = {(topic, partition, offset): 1 for partition in range(2) for offset in expected}
        assert [as_places(run.rows) for run in runs] == [places, places]


def test_broker_is_down_for_a_while(spark: SparkSession, tmp_path: Path) -> None:
    with Cluster(RELEASE) as cluster:
        client, now = ForeignClient(cluster.bootstrap_servers), int(time.time() * 1000)
        client.create_topic("down", 2)
        items = [(partition, b"v", None, now, ()) for partition in range(2) for _ in range(50)]
        client.produce("down", items)
        options = {
            "kafka.bootstrap.servers": cluster.bootstrap_servers,
            "subscribe": "down",
            "startingOffsets": "earliest",
        }

        def restart_broker(query: StreamingQuery) -> None:
            query.processAllAvailable()
            cluster.kill_node(1)
            be_down(cluster)
            client.produce("down", items)
            process_all(query)

        run = run_stream(spark, "kwire", options, tmp_path / "checkpoint", restart_broker)
    assert run.error is None, run.text
    assert as_places(run.rows) == {("down", partition, offset): 1 for partition in range(2) for offset in range(100)}


def test_broker_is_down_within_a_task(spark: SparkSession, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with Cluster(RELEASE) as cluster:
        fill(cluster.bootstrap_servers, "down", 2)
        with read_in_one_task(spark, gate, cluster, "down") as found:
            with gate.closed():
                cluster.kill_node(1)
            be_down(cluster)
    assert found == [Counter((tp, offset) for tp in range(2) for offset in range(RECORDS // 2))]


def test_broker_is_down_within_a_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with Cluster(RELEASE) as cluster:
        fill(cluster.bootstrap_servers, "down", 2)
        options = {
            "kafka.bootstrap.servers": cluster.bootstrap_servers,
            "subscribe": "down",
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(RECORDS // 2),
            "kafka.fetch.max.bytes": "200000",
        }

        def restart_broker(query: StreamingQuery) -> None:
            with gate.closed():
                cluster.kill_node(1)
            be_down(cluster)
            process_all(query)

        run = run_stream(spark, "kwire", options, tmp_path / "checkpoint", restart_broker, gate.hold)
    assert run.error is None, run.text
    assert as_places(run.rows) == {
        ("down", partition, offset): 1 for partition in range(2) for offset in range(RECORDS // 2)
    }


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_broker_is_down_within_a_write(guarantee: str, after: int, spark: SparkSession, tmp_path: Path) -> None:
    """Of a task that goes on no row is there twice, whatever the guarantee."""
    gate, tail = Gate(tmp_path), "x" * 400
    with Cluster(RELEASE) as cluster:
        options = {
            "kafka.bootstrap.servers": cluster.bootstrap_servers,
            "topic": "down",
            "deliveryGuarantee": guarantee,
        }
        if guarantee == "exactly-once":
            options["transactionalIdPrefix"] = "down"
        with kwire.Admin(cluster.bootstrap_servers) as admin:
            admin.create_topics({"down": 2})
        failures: list[Exception] = []

        def write() -> None:
            # This also makes the session that of the thread: Spark looks Python sources up there when it writes.
            count = spark.createDataFrame([(RECORDS,)], "count int")
            rows = count.selectExpr("explode(sequence(1, count)) AS id").selectExpr(
                f"cast(id AS string) || '{tail}' AS value"
            )
            sink = gate.hold(rows, after=after).write.format("kwire").options(**options)
            try:
                sink.mode("append").save()
            except Exception as failure:
                failures.append(failure)

        writer = Thread(target=write)
        writer.start()
        with gate.closed():
            cluster.kill_node(1)
        be_down(cluster)
        writer.join(3 * WITHIN_S)
        assert not writer.is_alive()
        found = committed_rows(spark, cluster, "down", RECORDS)
    assert not failures, failures
    assert Counter(row[1] for row in found.elements()) == Counter(
        b"%d" % n + tail.encode() for n in range(1, RECORDS + 1)
    )


def committed_rows(spark: SparkSession, cluster: Cluster, topic: str, count: int) -> Counter[Row]:
    """The rows of a topic, once there are so many: a commit is answered before the partitions have its markers."""
    options = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": topic}
    options["kafka.isolation.level"] = "read_committed"
    limit = time.monotonic() + WITHIN_S
    while True:
        found = rows_of(spark.read.format("kwire").options(**options).load())
        if found.total() >= count or time.monotonic() > limit:
            return found
        time.sleep(0.5)


def be_down(cluster: Cluster) -> None:
    """The time that the killed broker is away."""
    time.sleep(DOWN_S)
    cluster.start_node(1)


def test_answers_to_the_sink_are_late(spark: SparkSession) -> None:
    """What is sent again after a time-out is not there twice."""
    [port] = free_ports(1)
    rows = 5000
    with Cluster(RELEASE, overrides={"advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}"}) as cluster:
        target = int(cluster.bootstrap_servers.rpartition(":")[2])
        with LateProxy(port, target, handshake=20_000) as proxy:
            options = {"kafka.bootstrap.servers": f"{LOOPBACK}:{port}", "topic": "late"}
            with kwire.Admin(options["kafka.bootstrap.servers"]) as admin:
                admin.create_topics({"late": 2})
            proxy.hold_answers(connections=3, seconds=4.0)
            frame = spark.range(rows).selectExpr("cast(id AS string) || repeat('x', 40) AS value")
            sink = frame.write.format("kwire").options(**options).option("kafka.request.timeout.ms", "1500")
            sink.mode("append").save()
            assert proxy.connections_held == 3
            read = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": "late"}
            found = rows_of(spark.read.format("kafka").options(**QUICK, **read).load())
    assert Counter(row[1] for row in found.elements()) == Counter(b"%d" % n + b"x" * 40 for n in range(rows))
