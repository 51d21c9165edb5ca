"""Drivers and workers that die, and executors in processes of their own."""

from __future__ import annotations

import json
import pickle
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kwire
from tests.brokers import Cluster
from tests.spark.connector.jobs import KILLED_IN_BATCH, LIMITS_ARE_KNOWN, run_job
from tests.spark.connector.outcome import Row
from tests.spark.connector.streaming import as_places, offset_log, run_stream
from tests.spark.foreign import WITHIN_S, ForeignClient

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.wall_clock, pytest.mark.timeout(300)]

RECORDS = 40_000
PARTITIONS = 2


def test_driver_killed_before_its_commit(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    """The batch whose commit is missing is made again with the same rows."""
    topic, client = "killed_driver", ForeignClient(cluster.bootstrap_servers)
    client.create_topic(topic, PARTITIONS)
    now = int(time.time() * 1000)
    items = [(partition, b"%d" % number, None, now, ()) for partition in range(PARTITIONS) for number in range(50)]
    client.produce(topic, items)
    options = {
        "kafka.bootstrap.servers": cluster.bootstrap_servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **({"maxOffsetsPerTrigger": "20"} if LIMITS_ARE_KNOWN else {}),
    }
    checkpoint = tmp_path / "checkpoint"
    written = run_job("killed_driver", folder=str(tmp_path), checkpoint=str(checkpoint), options=json.dumps(options))
    assert written is None
    assert len(offset_log(checkpoint)) == KILLED_IN_BATCH + 1
    assert not (checkpoint / "commits" / str(KILLED_IN_BATCH)).exists()
    client.produce(topic, items)
    before = {n: pickle.loads((tmp_path / f"batch-{n}").read_bytes()) for n in range(KILLED_IN_BATCH + 1)}
    after = run_stream(spark, "kwire", options, checkpoint)
    assert after.error is None, after.text
    assert min(after.batches) == KILLED_IN_BATCH
    assert after.batches[KILLED_IN_BATCH] == before[KILLED_IN_BATCH]
    rows: Counter[Row] = sum((before | after.batches).values(), Counter())
    assert as_places(rows) == {
        (topic, partition, offset): 1 for partition in range(PARTITIONS) for offset in range(100)
    }


def test_two_executors(cluster: Cluster, tmp_path: Path) -> None:
    servers = cluster.bootstrap_servers
    with kwire.Admin(servers) as admin:
        admin.create_topics({"executors": PARTITIONS, "executors_out": PARTITIONS})
    with kwire.Producer(servers, linger_ms=20) as producer:
        for partition in range(PARTITIONS):
            values = [b"%d %d " % (partition, number) + bytes(1000) for number in range(RECORDS // PARTITIONS)]
            producer.send_many("executors", values, partition=partition)
    (home := tmp_path / "spark").mkdir()
    answer = run_job(
        "two_executors",
        servers=servers,
        topic="executors",
        sink="executors_out",
        folder=str(home),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    everything = [[partition, offset] for partition in range(PARTITIONS) for offset in range(RECORDS // PARTITIONS)]
    assert sorted(answer["read"]) == everything
    assert answer["executors"] == 2
    assert answer["attempts"] == 1
    assert sorted(answer["again"]) == everything
    written = Counter(_values(servers, "executors_out"))
    assert written == Counter(f"{partition} {number}".encode() for partition, number in everything)


def _values(servers: str, topic: str) -> list[bytes]:
    """The first two words of each value."""
    found: list[bytes] = []
    with kwire.Consumer(servers) as consumer:
        tps = [kwire.TopicPartition(topic, partition) for partition in range(PARTITIONS)]
        consumer.assign(tps, at=dict.fromkeys(tps, 0), until=consumer.end_offsets(tps))
        deadline = time.monotonic() + WITHIN_S
        while not consumer.done() and time.monotonic() < deadline:
            found += [b" ".join((value or b"").split(b" ")[:2]) for value in consumer.poll(1.0).values()]
    return found
