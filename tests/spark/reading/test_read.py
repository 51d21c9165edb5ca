"""`format("kwire")` row by row against what confluent-kafka wrote, on the embedded broker and on Apache Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from kwire.testing import Broker
from tests.spark.foreign import ForeignClient, Item, Sent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# An hour ago: Kafka deletes records that are older than its retention.
TIME = int(time.time() * 1000) - 3_600_000
WIDE = "wide"
EMPTY = "empty"


@dataclass
class Cluster:
    """A broker, and what a foreign client wrote to it."""

    servers: str
    client: ForeignClient
    wide: list[Sent]


@pytest.fixture(scope="session", params=["embedded", pytest.param("4.4.0", marks=pytest.mark.kafka)])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """WIDE has three partitions, with 3,000 records, 10, and none; EMPTY has two without records."""
    if request.param == "embedded":
        with Broker() as broker:
            yield _filled(broker.bootstrap_servers)
    else:
        yield _filled(request.getfixturevalue("kafka_cluster")(request.param).bootstrap_servers)


def _filled(servers: str) -> Cluster:
    client = ForeignClient(servers)
    client.create_topic(WIDE, 3)
    client.create_topic(EMPTY, 2)
    items: list[Item] = [
        (0, b"v%06d" % number, b"k%d" % (number % 7), TIME + number, [("n", b"%d" % number)] if number % 3 == 0 else [])
        for number in range(3000)
    ]
    items += [
        (1, None, b"tombstone", TIME, []),
        (1, b"", b"", TIME + 1, []),
        (1, b"keyless", None, TIME + 2, []),
        (1, b"headers", b"h", TIME + 3, [("twice", b"1"), ("twice", b"2"), ("", b""), ("none", None)]),
        (1, b"\x00\xff" * 50_000, b"long", TIME + 4, []),
        *((1, b"rest", b"%d" % number, TIME + 5, [("köln", "grüße".encode())]) for number in range(5)),
    ]
    wide = client.produce(WIDE, items[:1500], "lz4") + client.produce(WIDE, items[1500:], "none")
    return Cluster(servers, client, wide)


Read = Callable[..., "DataFrame"]

# For what is Spark's doing rather than the broker's.
embedded_only = pytest.mark.parametrize("cluster", ["embedded"], indirect=True)


@pytest.fixture
def read(spark: SparkSession, cluster: Cluster) -> Read:
    """A read of WIDE, or of what `subscribe`, `assign` or `subscribePattern` names; options go over the defaults."""

    def load(**options: str) -> DataFrame:
        chosen = {"subscribe", "assign", "subscribePattern"} & options.keys()
        source = spark.read.format("kwire").option("kafka.bootstrap.servers", cluster.servers)
        return source.options(**({} if chosen else {"subscribe": WIDE}), **options).load()

    return load


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows in the order of the log, timestamps in milliseconds, headers as pairs."""
    from pyspark.sql import functions as fn

    if "timestamp" in frame.columns:
        frame = frame.withColumn("timestamp", fn.unix_millis("timestamp"))
    found = [row.asDict(recursive=True) for row in frame.collect()]
    for row in found:
        for name in {"key", "value"} & row.keys():
            row[name] = None if row[name] is None else bytes(row[name])
        if row.get("headers") is not None:
            pairs = [(pair["key"], pair["value"]) for pair in row["headers"]]
            row["headers"] = [(key, None if value is None else bytes(value)) for key, value in pairs]
    return sorted(found, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def places(frame: DataFrame) -> dict[int, list[int]]:
    """The offsets read, in order, by partition."""
    found: dict[int, list[int]] = {}
    for row in frame.select("partition", "offset").collect():
        found.setdefault(row.partition, []).append(row.offset)
    return {partition: sorted(offsets) for partition, offsets in sorted(found.items())}


def test_every_column_of_every_record(read: Read, cluster: Cluster) -> None:
    assert rows(read(includeHeaders="true")) == sorted(
        (sent.row() for sent in cluster.wide), key=lambda row: (row["partition"], row["offset"])
    )


@embedded_only
def test_the_schema_is_that_of_sparks_kafka_source(read: Read) -> None:
    expected = [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]
    assert [(field.name, field.dataType.simpleString()) for field in read().schema] == expected
    headers = read(includeHeaders="true").schema[-1]
    assert (headers.name, headers.dataType.simpleString()) == ("headers", "array<struct<key:string,value:binary>>")


@embedded_only
def test_chosen_columns_in_the_order_asked_for(read: Read) -> None:
    frame = read(columns="offset,value")
    assert frame.columns == ["offset", "value"]
    assert frame.where("value = 'v000042'").collect()[0].offset == 42
    assert read(columns="topic").distinct().collect()[0].topic == WIDE


def test_offsets_by_partition(read: Read) -> None:
    frame = read(startingOffsets='{"wide":{"0":2990,"1":-2,"2":-2}}', endingOffsets='{"wide":{"0":-1,"1":4,"2":0}}')
    assert places(frame) == {0: list(range(2990, 3000)), 1: [0, 1, 2, 3]}


def test_offsets_by_time(read: Read) -> None:
    frame = read(
        assign='{"wide":[0]}',
        startingTimestamp=str(TIME + 2000),
        endingOffsetsByTimestamp=f'{{"wide":{{"0":{TIME + 2004}}}}}',
    )
    assert places(frame) == {0: [2000, 2001, 2002, 2003]}


@embedded_only
def test_a_time_that_no_record_reaches(read: Read) -> None:
    late = str(TIME + 10_000_000)
    with pytest.raises(Exception, match="No offset matched from request of topic-partition wide-0 and timestamp"):
        read(startingTimestamp=late).count()
    assert read(startingTimestamp=late, startingOffsetsByTimestampStrategy="latest").count() == 0


@embedded_only
def test_a_topic_without_records_gives_none(read: Read) -> None:
    assert read(subscribe=EMPTY).count() == 0
    assert read(subscribe=EMPTY, maxTasks="0").collect() == []


def test_topics_by_list_pattern_and_partition(read: Read) -> None:
    assert read(subscribe=f"{EMPTY}, {WIDE}").count() == 3010
    # Other tests have topics on the real broker, too.
    found = {row.topic for row in read(subscribePattern="id").select("topic").distinct().collect()}
    assert WIDE in found
    assert all("id" in topic for topic in found)
    assert read(subscribePattern="^id").where(f"topic = '{WIDE}'").count() == 0
    assert places(read(assign='{"wide":[1]}')) == {1: list(range(10))}
    assert read(assign="{}").count() == 0


@embedded_only
@pytest.mark.parametrize(
    ("options", "tasks"),
    [
        ({"slots": "2"}, 2),
        ({"slots": "1"}, 1),
        ({"maxTasks": "0"}, 2),
        ({"maxTasks": "1"}, 1),
        ({"minPartitions": "6"}, 6),
        ({"maxRecordsPerPartition": "500"}, 7),
    ],
)
def test_any_division_into_tasks_gives_the_same_rows(read: Read, options: dict[str, str], tasks: int) -> None:
    frame = read(**options)
    assert frame.rdd.getNumPartitions() == tasks
    assert places(frame) == {0: list(range(3000)), 1: list(range(10))}


@embedded_only
def test_limit_takes_what_it_needs_and_the_next_read_is_whole(read: Read) -> None:
    assert len(read(maxTasks="1").limit(5).collect()) == 5
    assert read().count() == 3010


@embedded_only
def test_two_reads_in_one_query(read: Read) -> None:
    joined = read().alias("a").join(read(columns="partition,offset").alias("b"), ["partition", "offset"])
    assert joined.count() == 3010


@embedded_only
def test_sql_over_the_source(spark: SparkSession, read: Read) -> None:
    read().createOrReplaceTempView("wide")
    (row,) = spark.sql("SELECT count(*), sum(length(value)), max(offset) FROM wide WHERE partition = 0").collect()
    assert tuple(row) == (3000, 3000 * 7, 2999)


def test_a_batch_sees_what_was_written_before_it_was_planned(read: Read, cluster: Cluster) -> None:
    topic = "grows"
    cluster.client.create_topic(topic, 1)
    cluster.client.produce(topic, [(0, b"one", None, TIME, [])])
    assert read(subscribe=topic).count() == 1
    cluster.client.produce(topic, [(0, b"two", None, TIME, [])])
    assert [row["value"] for row in rows(read(subscribe=topic))] == [b"one", b"two"]
