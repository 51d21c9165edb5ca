"""Speculative tasks write beside the tasks that they were started for: each row is committed once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire import Admin, Consumer, Producer
from tests.brokers import Cluster
from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is
from tests.spark.standalone import Standalone
from tests.thorough import SOAK, THOROUGH

PARTITIONS = 4
BATCHES = 5 if SOAK else 2
CASES = [
    ("stream", "first"),
    *([("stream", "second"), ("stream", "neither")] if SOAK else []),
    *([("write", "first"), ("write", "second"), ("write", "neither")] if SOAK else []),
]
ROWS_OF_A_BATCH = 2000
_WITHIN_S = 240.0

pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.spark,
    pytest.mark.skipif(not (THOROUGH or SOAK), reason="takes a minute"),
    pytest.mark.kafka,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not spark_is(LIMITS_BATCHES), reason="streams have batches of limited size from Spark 4.2 on"),
]


@pytest.mark.parametrize(("kind", "loser"), CASES)
def test_two_attempts_write_at_once(
    kind: str, loser: str, kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], tmp_path: Path
) -> None:
    servers, source, target = kafka_cluster("4.4.0").bootstrap_servers, new_topic(), new_topic()
    batches = BATCHES if kind == "stream" else 1
    values = [b"%d " % number + bytes(1000) for number in range(batches * ROWS_OF_A_BATCH)]
    with Admin(servers) as admin, Producer(servers) as producer:
        admin.create_topics({source: PARTITIONS, target: 3})
        for number, value in enumerate(values):
            producer.send(source, value, partition=number % PARTITIONS)
    with Standalone(tmp_path) as spark:
        given = {"kind": kind, "loser": loser, "rows": str(ROWS_OF_A_BATCH), "folder": str(tmp_path)}
        given |= {"master": spark.url, "servers": servers, "source": source, "target": target}
        said = run({**given, "checkpoint": str(tmp_path / "checkpoint")})
    assert "all is written" in said, said[-6000:]
    assert len(list(tmp_path.glob("*-second"))) == batches, "Spark ran a task once"
    assert committed(servers, target) == Counter(values)


def run(given: dict[str, str]) -> str:
    """What the program says, with its errors."""
    command = [sys.executable, "-m", "tests.spark.exactly_once.speculation_program", json.dumps(given)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_WITHIN_S, check=False
    )
    return done.stdout


def committed(servers: str, topic: str) -> Counter[bytes | None]:
    """What readers of committed records get now."""
    found: Counter[bytes | None] = Counter()
    with Consumer(servers, isolation_level="read_committed") as consumer:
        tps = consumer.partitions_for(topic)
        consumer.assign(tps, at=dict.fromkeys(tps, 0), until=consumer.end_offsets(tps))
        while not consumer.done():
            found.update(consumer.poll(timeout=1.0).values())
    return found
