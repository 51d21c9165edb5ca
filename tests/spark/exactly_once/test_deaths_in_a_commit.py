"""The driver dies at exact instants of a commit, above all when Kafka has ended all of its transactions, and Spark has
not written that the batch is committed: started again it writes each row once, and nothing is left open.

A task of each such batch dies, too, with its rows written in a transaction that nobody hears of.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from kwire import Admin, Producer, _prepared
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is
from tests.snippets import ROOT
from tests.spark.exactly_once.driver_lives import life, read
from tests.spark.exactly_once.dying_source import DEATH, FOLDER, VICTIM
from tests.thorough import SOAK

pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.spark,
    pytest.mark.timeout(4000 if SOAK else 1500),
    pytest.mark.skipif(not spark_is(LIMITS_BATCHES), reason="streams have batches of limited size from Spark 4.2 on"),
]

OF_A_BATCH, BATCHES = 40, 6
ROWS = [b"%d" % number for number in range(BATCHES * OF_A_BATCH)]
DEATHS = [(0, "returned"), (2, "returned"), (3, "half"), (4, "finish"), (5, "sweep")]
SOME_DEATHS = DEATHS if SOAK else [DEATHS[1], DEATHS[-1]]
NOBODY = "-1:"
_MAX_LIFE_S = 600.0
_LATE = "Python worker failed to connect back"
CASES = [("local[2,4]", "worker"), *([("local-cluster[2,1,1024]", "executor")] if SOAK else [])]


class Query:
    """Its topics and its checkpoint; each start is a driver of its own."""

    def __init__(self, servers: str, source: str, target: str, folder: Path, master: str, victim: str) -> None:
        self.servers, self.target, self.victim = servers, target, victim
        self.checkpoint = folder / "checkpoint"
        self._given = (servers, source, target, self.checkpoint, master)
        (home := folder / "spark").mkdir()
        for path in Path(pyspark.__file__).parent.iterdir():
            (home / path.name).symlink_to(path)
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH")]))
        self._environment = {"PYTHONPATH": path, "SPARK_HOME": str(home), VICTIM: victim, FOLDER: str(folder)}

    def run(self, death: str) -> tuple[int, str]:
        """The exit code of a driver, and what it said; another one is started where Spark was too slow for itself."""
        while True:
            with life(*self._given, environment={**self._environment, DEATH: death}) as running:
                said = running.wait(_MAX_LIFE_S)
            if running.process.returncode != 1 or _LATE not in said:
                return running.process.returncode, said

    def die(self, batch: int, place: str) -> None:
        """A start that dies in that batch, which Spark knows nothing of but its offsets."""
        code, said = self.run(f"{batch}:{place}")
        assert code == -signal.SIGKILL, said[-3000:]
        assert (self.checkpoint / "offsets" / str(batch)).exists()
        assert not (self.checkpoint / "commits" / str(batch)).exists()
        if place == "returned":
            rows = (batch + 1) * OF_A_BATCH
            assert read(self.servers, self.target, rows).total() == rows, "Kafka has committed the batch"

    def finish(self) -> None:
        """A start that nothing happens to."""
        code, said = self.run(NOBODY)
        assert code == 0, said[-3000:]
        assert "the query has ended" in said

    def check(self) -> None:
        with Admin(self.servers) as admin:
            assert _prepared.list_open(admin, "copy-") == []
        assert read(self.servers, self.target, len(ROWS)) == Counter(ROWS)


@pytest.mark.parametrize(("master", "victim"), CASES)
def test_on_the_embedded_broker(tmp_path: Path, master: str, victim: str) -> None:
    with Broker(topics={"in": 2, "out": 5}) as broker:
        for number, row in enumerate(ROWS):
            broker.append("in", [row], partition=number % 2)
        query = Query(broker.bootstrap_servers, "in", "out", tmp_path, master, victim)
        for batch, place in SOME_DEATHS:
            query.die(batch, place)
        query.finish()
        query.check()


@pytest.mark.kafka
@pytest.mark.parametrize(("master", "victim"), CASES)
def test_on_real_kafka(
    kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], tmp_path: Path, master: str, victim: str
) -> None:
    servers, source, target = kafka_cluster("4.4.0").bootstrap_servers, new_topic(), new_topic()
    with Admin(servers) as admin, Producer(servers) as producer:
        admin.create_topics({source: 2, target: 5})
        for number, row in enumerate(ROWS):
            producer.send(source, row, partition=number % 2)
    query = Query(servers, source, target, tmp_path, master, victim)
    for batch, place in SOME_DEATHS:
        query.die(batch, place)
    query.finish()
    query.check()
