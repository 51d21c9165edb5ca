"""Java's producer as its performance tool runs it, with the settings that it has by itself but for the compression.

And without sequence numbers: new partitions sometimes refused those of its retries as out of order until it gave up.
"""

from __future__ import annotations

import subprocess
from tempfile import NamedTemporaryFile

from tests.brokers.java import find_java
from tests.brokers.maven import resolve_tools
from tests.brokers.processes import JVM_FLAGS
from tests.brokers.releases import find_release

from benchmarks.compare.brokers import NEWEST
from benchmarks.compare.contenders.task import Task, values_of

_TOOL = "org.apache.kafka.tools.ProducerPerformance"


def load(task: Task) -> dict[str, float]:
    """Fills a topic: what the consumers read."""
    settings = [
        f"bootstrap.servers={task.bootstrap}",
        f"compression.type={task.compression}",
        "enable.idempotence=false",
    ]
    with NamedTemporaryFile() as payload:
        payload.write(b"\n".join(values_of(task.size)))
        payload.flush()
        command = [find_java(), *JVM_FLAGS, "-cp", f"{resolve_tools(find_release(NEWEST))}/*", _TOOL]
        command += ["--topic", task.topic, "--num-records", str(task.count), "--throughput", "-1"]
        command += ["--payload-file", payload.name, "--producer-props", *settings]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Java's producer ended with exit code {done.returncode}: {done.stdout}{done.stderr}")
    return {"count": task.count}
