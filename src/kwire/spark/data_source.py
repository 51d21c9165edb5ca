"""`format("kwire")`: Kafka topics as a batch source of Spark, through Spark's Python Data Source API.

Spark makes a `KwireDataSource` from the options in a process of its own, asks it for the schema, and then for a reader,
which plans the tasks there. The reader is pickled into every task and reads one `TaskPartition` in a Python worker.
So both hold options only: no socket, no table. Errors about options are raised when the DataFrame is made, errors
about the log when it is planned or read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kwire.errors import ConfigError, NotInThisVersionError
from kwire.spark.options import ReadOptions, parse_read_options
from kwire.spark.planning import Task
from kwire.spark.schema import spark_ddl

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class TaskPartition(InputPartition):
    """What one task reads: the ranges of offsets that planning packed together."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task


class KwireDataSource(DataSource):
    """Reads Kafka topics; the options are those of `kwire.spark.options`, the columns those of `kwire.spark.schema`."""

    @classmethod
    def name(cls) -> str:
        return "kwire"

    def schema(self) -> str:
        return spark_ddl(parse_read_options(self.options).columns)

    def reader(self, schema: StructType) -> KwireReader:
        options = parse_read_options(self.options)
        _check_schema(schema.fieldNames(), options.columns)
        return KwireReader(options)

    # PySpark asks for these when a query starts, not when its DataFrame is made: no refusal can come earlier.

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 - Spark's name
        raise _not_there('spark.readStream.format("kwire")', 'read in batches with spark.read.format("kwire")')

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        raise _not_there('write.format("kwire")', "send rows with kwire.Producer in foreachPartition")

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        raise _not_there('writeStream.format("kwire")', "send rows with kwire.Producer in foreachBatch")


class KwireReader(DataSourceReader):
    """Plans a batch read in the planning process and runs its tasks in the workers."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        from kwire.spark.plan_read import plan_tasks

        return [TaskPartition(task) for task in plan_tasks(self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the task's records as Arrow batches. Spark runs a plan without tasks as one empty partition."""
        if not isinstance(partition, TaskPartition):
            return iter(())
        from kwire.spark.read_task import read_task

        return read_task(self.options, partition.task)


def _not_there(what: str, instead: str) -> NotInThisVersionError:
    return NotInThisVersionError(f"{what} is not in this version of kwire: {instead}")


def _check_schema(given: Sequence[str], columns: Sequence[str]) -> None:
    """The schema is the source's; `.schema(...)` on the DataFrameReader can only repeat it."""
    if list(given) != list(columns):
        raise ConfigError(
            f"The source has a fixed schema, {spark_ddl(columns)}; got the columns {', '.join(given)}. "
            "Use the option columns to choose columns"
        )
