"""`format("kwire")`: Kafka topics as a source and a sink of Spark, through Spark's Python Data Source API.

Spark makes a `KwireDataSource` from the options in a process of its own, asks it for the schema, and then for a reader,
which plans the tasks there. The reader is pickled into every task and reads one `TaskPartition` in a Python worker.
So both hold options only: no socket, no table. Errors about options are raised when the DataFrame is made, errors
about the log when it is planned or read.

Every session that looks a Python source up imports this module: it imports the rest of kwire when it is used.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kwire.engine.common.secret import hiding_arguments
from kwire.errors import ConfigError, UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kwire.spark.decoding.decoding import Decoding
    from kwire.spark.options.read import BatchOptions
    from kwire.spark.ranges.tasks import Task


class TaskPartition(InputPartition):
    """What one task reads: the ranges of offsets that planning packed together."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.task = task


class KwireDataSource(DataSource):
    """Reads and writes Kafka topics; options and columns are explained in docs/spark.md."""

    is_found_by_spark: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        return "kwire"

    @hiding_arguments
    def schema(self) -> str:
        check_arrow()
        tell_which_python(self)
        from kwire.spark.options.read import result_schema

        return result_schema(self.options)

    @hiding_arguments
    def reader(self, schema: StructType) -> KwireReader:
        from kwire.spark.options.read import parse_batch_options

        options = parse_batch_options(self.options)
        check_schema(schema.fieldNames(), options.columns, options.decoding)
        return KwireReader(options)

    # PySpark asks for these when a query starts, not when its DataFrame is made: no refusal can come earlier.

    @hiding_arguments
    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 - Spark's name
        missing = _not_there('spark.readStream.format("kwire")', 'read in batches with spark.read.format("kwire")')
        return _part("stream_reader", "stream_reader", missing)(self.options, schema)

    @hiding_arguments
    def writer(self, schema: StructType, overwrite: bool) -> Any:
        tell_which_python(self)
        missing = _not_there('write.format("kwire")', "send rows with kwire.Producer in foreachPartition")
        return _part("write_batch", "batch_writer", missing)(self.options, schema, overwrite)

    @hiding_arguments
    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        tell_which_python(self)
        missing = _not_there('writeStream.format("kwire")', "send rows with kwire.Producer in foreachBatch")
        return _part("write_stream", "stream_writer", missing)(self.options, schema, overwrite)


class KwireReader(DataSourceReader):
    """Plans a batch read in the planning process and runs its tasks in the workers."""

    def __init__(self, options: BatchOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        from kwire.spark.planning.plan_read import plan_tasks

        return [TaskPartition(task) for task in plan_tasks(self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the task's records as Arrow batches. Spark runs a plan without tasks as one empty partition."""
        if not isinstance(partition, TaskPartition):
            return iter(())
        from kwire.spark.reading.read_task import read_task

        return read_task(self.options, partition.task)


def check_arrow() -> None:
    """Says how to get pyarrow where it is missing, without the cost of importing it."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError('The Spark source needs pyarrow: pip install "kwire[spark]"')


def tell_which_python(source: Any) -> None:
    """Warns where a source that Spark has found by itself runs in another Python than the tasks of UDFs."""
    if source.is_found_by_spark:
        from kwire.spark.workers.python import warn_of_the_drivers_python

        warn_of_the_drivers_python()


def _part(module: str, function: str, missing: Exception) -> Callable[..., Any]:
    name = f"{__package__}.{module}"
    if importlib.util.find_spec(name) is None:
        raise missing
    made: Callable[..., Any] = getattr(importlib.import_module(name), function)
    return made


def _not_there(what: str, instead: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not in this version of kwire: {instead}")


def check_schema(given: Sequence[str], columns: Sequence[str], decoding: Decoding) -> None:
    """The schema is the source's; `.schema(...)` on the DataFrameReader can only repeat it."""
    if list(given) != list(columns):
        raise ConfigError(
            f"The source has a fixed schema, {decoding.ddl(columns)}; got the columns {', '.join(given)}. "
            "Use the option columns to choose columns"
        )
