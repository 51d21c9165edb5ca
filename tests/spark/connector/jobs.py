"""Jobs with a Spark of their own: they need other executors than the tests' session has, or kill its driver.

`run_job` starts one of them as a process and returns what it said.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is
from tests.spark.session import start_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LIMITS_ARE_KNOWN = spark_is(LIMITS_BATCHES)
KILLED_IN_BATCH = 2 if LIMITS_ARE_KNOWN else 0
"""Without limits there is one batch for all that was written."""

_WITHIN_S = 200.0
_ANSWER = "answer: "
_ROOT = Path(__file__).parents[3]
_HELD_AT = 3
"""Of the batches of some thousand rows: one comes out of Python when the next is written."""


def run_job(name: str, **arguments: str) -> Any:
    """What the job returned; None if it was killed, as one is to be. Fails with its last words otherwise."""
    command = [sys.executable, "-m", "tests.spark.connector.jobs", name, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN_S, check=False, cwd=_ROOT)
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr[-6000:]
    [answer] = [line for line in done.stdout.splitlines() if line.startswith(_ANSWER)]
    return json.loads(answer.removeprefix(_ANSWER))


def two_executors(arguments: dict[str, str]) -> dict[str, Any]:
    """Reads, loses a worker in a read, and streams from one topic to another, on two executors of one core each."""
    os.environ["SPARK_HOME"] = _home_of_spark(Path(arguments["folder"]))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    small = {"spark.executor.memory": "512m", "spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
    spark = start_session("local-cluster[2,1,1024]", small)
    options = {"kafka.bootstrap.servers": arguments["servers"], "subscribe": arguments["topic"]}
    narrow = {"maxTasks": "2", "columns": "value,partition,offset", "kafka.fetch.max.bytes": "200000"}
    frame = spark.read.format("kwire").options(**options, **narrow).load()
    answer = {"read": _places(frame), "executors": _executors(frame)}
    held = {"decoder": f"{__spec__.name}:held_in_its_first_attempt", "decoder.schema": "value BINARY"}
    answer |= _with_a_killed_worker(spark.read.format("kwire").options(**options, **narrow, **held).load())
    _stream(spark, options, arguments)
    spark.stop()
    return answer


def killed_driver(arguments: dict[str, str]) -> None:
    """Streams into files, and is killed with its JVM when a batch has been written and is not committed."""
    spark = start_session()
    folder = Path(arguments["folder"])

    def keep(frame: DataFrame, number: int) -> None:
        from tests.spark.connector.outcome import rows_of

        (folder / f"batch-{number}").write_bytes(pickle.dumps(rows_of(frame)))
        if number == KILLED_IN_BATCH:
            os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    stream = spark.readStream.format("kwire").options(**json.loads(arguments["options"])).load()
    writer = stream.writeStream.foreachBatch(keep).option("checkpointLocation", arguments["checkpoint"])
    writer.start().awaitTermination()


def _home_of_spark(folder: Path) -> str:
    """A folder that looks like Spark's, where executors may put their own: PySpark's belongs to the environment."""
    import pyspark

    for path in Path(pyspark.__file__).parent.iterdir():
        (folder / path.name).symlink_to(path)
    return str(folder)


def _places(frame: DataFrame) -> list[list[int]]:
    return [[row.partition, row.offset] for row in frame.select("partition", "offset").collect()]


def _executors(frame: DataFrame) -> int:
    """How many executors read: each has a process of its own that starts its Python workers."""

    def parents(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        import pyarrow as pa

        for _ in batches:
            yield pa.record_batch({"parent": pa.array([os.getppid()])})

    return frame.mapInArrow(parents, "parent long").distinct().count()


_passed: Counter[int] = Counter()


def held_in_its_first_attempt(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A decoder that does nothing; the first attempt of the first task waits in it to be killed."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    _passed[task.taskAttemptId()] += 1
    if task.partitionId() == task.attemptNumber() == 0 and _passed[task.taskAttemptId()] == _HELD_AT:
        signal.pause()
    return batch


def _with_a_killed_worker(frame: DataFrame) -> dict[str, Any]:
    """Kills the process that reads, once, when its first rows have come out of it."""

    def kill_reader(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal
        from pathlib import Path

        import pyarrow as pa
        from pyspark import TaskContext

        def parent(pid: str | int) -> int:
            return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

        def workers_of(executor: int) -> Iterator[int]:
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if parent(parent(process.name)) == executor:
                        yield int(process.name)
                except OSError:
                    continue

        task = TaskContext.get()
        attempt = task.attemptNumber()
        for number, batch in enumerate(batches):
            if (task.partitionId(), attempt, number) == (0, 0, 0):
                for pid in workers_of(parent(os.getppid())):
                    if pid != os.getpid():
                        os.kill(pid, signal.SIGKILL)
            attempts = pa.array([attempt] * batch.num_rows, pa.int32())
            yield pa.record_batch([batch.column("partition"), batch.column("offset"), attempts], names)

    names = ["partition", "offset", "attempt"]
    rows = frame.mapInArrow(kill_reader, "partition int, offset long, attempt int").collect()
    return {"attempts": max(row.attempt for row in rows), "again": [[row.partition, row.offset] for row in rows]}


def _stream(spark: SparkSession, options: dict[str, str], arguments: dict[str, str]) -> None:
    limits = {"maxOffsetsPerTrigger": "15000"} if LIMITS_ARE_KNOWN else {}
    source = spark.readStream.format("kwire").options(**options, **limits).option("startingOffsets", "earliest")
    stream = source.load().select("value")
    sink = {"kafka.bootstrap.servers": arguments["servers"], "topic": arguments["sink"]}
    writer = stream.writeStream.format("kwire").options(**sink).trigger(availableNow=True)
    writer.option("checkpointLocation", arguments["checkpoint"]).start().awaitTermination()


_JOBS: dict[str, Callable[[dict[str, str]], Any]] = {"two_executors": two_executors, "killed_driver": killed_driver}

if __name__ == "__main__":
    print(f"{_ANSWER}{json.dumps(_JOBS[sys.argv[1]](json.loads(sys.argv[2])))}")
