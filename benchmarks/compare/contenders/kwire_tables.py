"""kwire itself: tables from topics and back."""

from __future__ import annotations

import pandas

import kwire
from benchmarks.compare.contenders.kwire import producer_settings
from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.tables import table_of
from benchmarks.compare.contenders.task import Task

_FIRST = 1000


def read_table(task: Task) -> dict[str, float]:
    """A topic into a data frame of pandas: topic, partition, offset, timestamp, key, value."""
    columns = ["topic", "partition", "offset", "timestamp", "key", "value"]
    first = {(task.topic, number): 1 for number in range(task.partitions)}
    kwire.read(task.topic, task.bootstrap, end=first, value="text").to_pandas()
    each = task.count // task.partitions
    with Meter() as meter:
        frame = kwire.read(task.topic, task.bootstrap, end=each, columns=columns, value="text").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    return meter.per_record(len(frame))


def write_table(task: Task) -> dict[str, float]:
    """A table to a topic; each row's fate is known."""
    table = table_of(task)
    settings = producer_settings(task)
    servers = settings.pop("bootstrap_servers")
    kwire.write(table.slice(0, _FIRST), task.topic, servers, **settings)
    with Meter() as meter:
        written = kwire.write(table, task.topic, servers, **settings)
    return meter.per_record(written)
