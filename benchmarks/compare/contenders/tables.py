"""The tables that contenders write: texts as values, numbers as text for keys, numbers for timestamps."""

from __future__ import annotations

from itertools import cycle, islice

import pyarrow as pa

from benchmarks.compare.contenders.task import Task, values_of

_FIRST_MS = 1_700_000_000_000


def table_of(task: Task) -> pa.Table:
    """The columns that the task names: key, value, timestamp (milliseconds)."""
    numbers = range(task.count)
    made = {
        "key": lambda: pa.array([str(number) for number in numbers]),
        "value": lambda: pa.array([value.decode() for value in islice(cycle(values_of(task.size)), task.count)]),
        "timestamp": lambda: pa.array([_FIRST_MS + number for number in numbers], pa.int64()),
    }
    return pa.table({name: made[name]() for name in task.columns.split()})
