"""What a Spark user is told when the source cannot do what the options ask."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from kwire.testing import Broker
from tests.spark.foreign import ForeignClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC = "ten"
Read = Callable[..., "DataFrame"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """An embedded broker with TOPIC: one partition, ten records."""
    with Broker() as broker:
        client = ForeignClient(broker.bootstrap_servers)
        client.create_topic(TOPIC, 1)
        client.produce(TOPIC, [(0, b"%d" % number, None, 1000 + number, []) for number in range(10)])
        yield broker


@pytest.fixture(scope="module")
def servers(broker: Broker) -> str:
    return broker.bootstrap_servers


@pytest.fixture
def read(spark: SparkSession, servers: str) -> Read:
    def load(**options: str) -> DataFrame:
        defaults = {"kafka.bootstrap.servers": servers}
        if not {"assign", "subscribePattern"} & options.keys():
            defaults["subscribe"] = TOPIC
        return spark.read.format("kwire").options(**{**defaults, **options}).load()

    return load


def fails(text: str, action: Callable[[], object]) -> None:
    with pytest.raises(Exception, match=re.escape(text)):
        action()


def test_an_unknown_option_names_the_nearest(read: Read) -> None:
    fails("Unknown option 'startingoffset'; did you mean 'startingOffsets'?", lambda: read(startingOffset="1"))


def test_an_unknown_kafka_property_is_named(read: Read) -> None:
    fails("fetch.max.byte", lambda: read(**{"kafka.fetch.max.byte": "1"}))


def test_a_schema_of_ones_own_is_refused(spark: SparkSession, servers: str) -> None:
    source = spark.read.format("kwire").option("kafka.bootstrap.servers", servers).option("subscribe", TOPIC)
    fails("The source has a fixed schema", lambda: source.schema("value STRING").load().count())


def test_a_topic_that_is_not_there_is_named(read: Read) -> None:
    fails("no-such-topic", lambda: read(subscribe="no-such-topic").count())


@pytest.mark.parametrize(
    ("missing", "options"),
    [
        ("read", {}),
        ("describe", {}),
        (None, {"subscribe": "no-such-topic"}),
        (None, {"startingOffsets": '{"ten":{"0":3}}', "endingOffsets": '{"ten":{"0":99}}'}),
    ],
    ids=["the right to read", "the right to describe", "the topic", "offsets"],
)
def test_what_no_repetition_mends_fails_a_read_before_a_task_runs(
    spark: SparkSession, broker: Broker, read: Read, missing: str | None, options: dict[str, str]
) -> None:
    group = f"refused-{missing}-{len(options)}"
    spark.sparkContext.setJobGroup(group, "refused")
    if missing:
        broker.deny(missing, "topic", TOPIC)
    try:
        with pytest.raises(Exception, match=r"TOPIC_AUTHORIZATION_FAILED|does not exist|Could not read records"):
            read(**options).count()
        assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) == []
        if missing:
            broker.permit(missing, "topic", TOPIC)
        assert read().count() == 10
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) > 0
    finally:
        if missing:
            broker.permit(missing, "topic", TOPIC)
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_a_partition_that_is_not_there_is_named(read: Read) -> None:
    fails("ten-9", lambda: read(assign='{"ten":[0,9]}').count())


def test_offsets_that_the_log_does_not_have(read: Read) -> None:
    beyond = {"endingOffsets": '{"ten":{"0":99}}'}
    fails("Could not read records in offset [0, 99) for topic partition ten-0", lambda: read(**beyond).count())
    assert read(failOnDataLoss="false", **beyond).count() == 10
    fails(
        "The resolved start offset 99 is greater than the resolved end offset 10 for topic ten partition 0",
        lambda: read(startingOffsets='{"ten":{"0":99}}').count(),
    )
    fails(
        "don't match what are assigned (not named: ten-0; named but not read: other-0)",
        lambda: read(startingOffsets='{"other":{"0":1}}').count(),
    )


def test_a_broker_that_is_not_there_is_named_in_time(read: Read) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    began = time.monotonic()
    nowhere = {"kafka.bootstrap.servers": f"127.0.0.1:{port}", "kafka.default.api.timeout.ms": "3000"}
    fails(f"127.0.0.1:{port}", lambda: read(**nowhere).count())
    assert time.monotonic() - began < 15
