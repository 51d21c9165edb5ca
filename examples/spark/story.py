"""The whole story: a shop writes, the pipeline reads, is killed and started again, and all is counted.

    python -m examples.spark.story                     on a broker of its own
    python -m examples.spark.story --servers HOST:PORT   on yours, where its topics must be new

It ends with exit code 1 if an order was lost or counted twice, in Parquet or in Kafka.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from examples.spark import shop
from examples.spark.pipeline import RESULT_TOPIC
from examples.spark.progress import plot
from examples.spark.spark_log import keep, reason
from kwire import Admin, Consumer, errors

_KILLED_AFTER_BATCHES = 3
_WITHIN_S = 300.0
# These drivers live for a minute, most of which a JVM would spend on compiling for the hours after it.
_QUICK_JVM = "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell"

Revenue = dict[tuple[str, str], tuple[int, int]]


def tell(text: str) -> None:
    print(f"  {text}", flush=True)


@contextmanager
def broker() -> Iterator[str]:
    """kwire's own broker in a process of its own."""
    child = subprocess.Popen([sys.executable, "-m", "kwire.cli.main", "broker"], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        yield child.stdout.readline().split()[0]
    finally:
        child.terminate()
        child.wait(10)


class Pipeline:
    """The job as a process group of its own, so that a kill takes its JVM and its workers, too."""

    def __init__(self, servers: str, folder: Path, per_batch: int) -> None:
        arguments = ["--servers", servers, "--folder", str(folder), "--per-batch", str(per_batch)]
        self._log = (folder / "spark.log").open("ab")
        self._child = subprocess.Popen(
            [sys.executable, "-m", "examples.spark.pipeline", *arguments],
            stdin=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
            env={"PYSPARK_SUBMIT_ARGS": _QUICK_JVM, **os.environ},
        )

    def kill(self) -> None:
        """SIGKILL to all of it."""
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._log.close()

    def finish(self) -> None:
        """Lets it read what is there, and waits for its end."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            code = self._child.wait(_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failed(f"the pipeline did not finish within {_WITHIN_S:g} s") from None
        self._log.close()
        if code:
            raise self._failed(f"the pipeline ended with exit code {code}")

    def _failed(self, what: str) -> RuntimeError:
        """What happened, why, and where its log is."""
        log = Path(self._log.name)
        return RuntimeError(f"{what}: {reason(log.read_text(errors='replace'))}\n  its log: {keep(log)}")

    def wait_for(self, progress: Path, batches: int) -> None:
        """Until so many micro-batches have ended."""
        give_up = time.monotonic() + _WITHIN_S
        while not progress.exists() or progress.read_text().count("\n") < batches:
            if (code := self._child.poll()) is not None:
                raise self._failed(f"the pipeline ended with exit code {code}")
            if time.monotonic() > give_up:
                raise self._failed(f"the pipeline made no {batches} micro-batches within {_WITHIN_S:g} s")
            time.sleep(0.05)


def tell_story(servers: str, folder: Path, count: int) -> bool:
    """Runs it; returns whether every order counts once, in Parquet and in Kafka."""
    with Admin(servers) as admin:
        admin.create_topics({shop.TOPIC: shop.PARTITIONS, RESULT_TOPIC: 2})
    writing = threading.Thread(target=shop.write, args=(servers, count, count // 8))
    writing.start()
    tell("the pipeline starts while the shop is open")
    first = Pipeline(servers, folder, per_batch=count // 10)
    progress = folder / "progress.jsonl"
    try:
        first.wait_for(progress, _KILLED_AFTER_BATCHES)
    finally:
        first.kill()
    killed = time.time()
    tell("killed, with its JVM and its workers; it starts again on its checkpoints")
    second = Pipeline(servers, folder, per_batch=count // 10)
    writing.join()
    second.finish()
    print(f"\n  Orders read by the query that writes to Kafka:\n\n{plot(progress, 'kafka', [killed])}\n")
    expected = shop.revenue(count)
    in_parquet = check("Parquet", from_parquet(folder / "parquet"), expected)
    return check(f"topic '{RESULT_TOPIC}'", from_kafka(servers), expected) and in_parquet


def check(where: str, rows: list[tuple[tuple[str, str], tuple[int, int]]], expected: Revenue) -> bool:
    """Says whether these are the expected rows, each once."""
    found = dict(rows)
    if len(rows) == len(found) and found == expected:
        number, cents = (sum(column) for column in zip(*found.values(), strict=True))
        tell(
            f"{where + ':':18} {len(rows):5,} rows, {number:9,} orders, {cents / 100:14,.2f} EUR, as they were written"
        )
        return True
    wrong = [place for place in expected if found.get(place) != expected[place]]
    tell(f"{where}: {len(rows)} rows for {len(expected)} places, {len(rows) - len(found)} doubled, wrong: {wrong[:5]}")
    return False


def from_parquet(folder: Path) -> list[tuple[tuple[str, str], tuple[int, int]]]:
    """The rows of the files that Spark has committed: a killed task leaves files that do not count."""
    table = pq.read_table(committed_files(folder))
    return [((row["minute"], row["country"]), (row["orders"], row["cents"])) for row in table.to_pylist()]


def committed_files(folder: Path) -> list[str]:
    """The files that the sink's log names, from its last summary on."""
    logs = {log.name: log for log in (folder / "_spark_metadata").iterdir() if log.name[0].isdecimal()}
    summaries = [int(name.partition(".")[0]) for name in logs if name.endswith(".compact")]
    newest = max(summaries, default=-1)
    files = []
    for name, log in logs.items():
        number = int(name.partition(".")[0])
        if number > newest or name == f"{newest}.compact":
            files += [json.loads(line)["path"] for line in log.read_text().splitlines()[1:]]
    return [path.removeprefix("file://") for path in files]


def from_kafka(servers: str) -> list[tuple[tuple[str, str], tuple[int, int]]]:
    """The rows of committed transactions."""
    with Consumer(servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        partitions = [(RESULT_TOPIC, partition) for partition in range(2)]
        consumer.assign(partitions, until=consumer.end_offsets(partitions))
        rows = []
        while not consumer.done():
            for record in consumer.poll(timeout=1.0):
                row = json.loads(record.value or b"{}")
                rows.append(((row["minute"], row["country"]), (row["orders"], row["cents"])))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the pipeline, kills it, runs it again, and counts.")
    parser.add_argument("--servers", help="bootstrap servers (default: a broker of its own)")
    parser.add_argument("--orders", type=int, default=100_000, help="how many orders (default: %(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            if arguments.servers:
                right = tell_story(arguments.servers, Path(folder), arguments.orders)
            else:
                with broker() as servers:
                    right = tell_story(servers, Path(folder), arguments.orders)
        except (RuntimeError, errors.KafkaError) as failure:
            tell(f"failed: {failure}")
            return 1
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
