"""A batch read, as Spark pickles it: the reader plans in the planning process, and reads one partition in each task.

Both hold options only: no socket, no table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from kwire.spark.workers.shipped import Shipped

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.spark.options.read import BatchOptions
    from kwire.spark.ranges.tasks import Task


class TaskPartition(InputPartition):
    """What one task reads: the ranges of offsets that planning packed together."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task


class KwireReader(Shipped, DataSourceReader):
    """Plans a batch read in the planning process and runs its tasks in the workers."""

    def __init__(self, options: BatchOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        from kwire.spark.planning.plan_read import plan_tasks
        from kwire.spark.workers.heap import settle_heap

        tasks = plan_tasks(self.options)
        settle_heap()
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the task's records as Arrow batches. Spark runs a plan without tasks as one empty partition."""
        if not isinstance(partition, TaskPartition):
            return iter(())
        from kwire.spark.reading.read_task import read_task

        return read_task(self.options, partition.task)
