"""`format("kwire-log")`: folders of Kafka's log segments as a batch source of Spark, without a broker.

    spark.read.format("kwire-log").load("/var/lib/kafka/data/orders-*")

As in `data_source`, the source and its reader hold options only, and the rest of kwire is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from kwire.engine.common.secret import hiding_arguments
from kwire.errors import UnsupportedError
from kwire.spark.source_checks import check_arrow, check_schema, tell_which_python
from kwire.spark.workers.shipped import Shipped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kwire.spark.logs.plan import LogTask
    from kwire.spark.options.log import LogOptions


class LogTaskPartition(InputPartition):
    """What one task reads: pieces of segments."""

    def __init__(self, task: LogTask) -> None:
        super().__init__(task)
        self.task = task


class KwireLogDataSource(Shipped, DataSource):
    """Reads log segments; options and columns are explained in docs/spark.md."""

    is_found_by_spark: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        return "kwire-log"

    @hiding_arguments
    def schema(self) -> str:
        check_arrow()
        tell_which_python(self)
        from kwire.spark.options.log import parse_log_options
        from kwire.spark.workers.heap import settle_heap

        options = parse_log_options(self.options)
        settle_heap()
        return options.decoding.ddl(options.columns)

    @hiding_arguments
    def reader(self, schema: StructType) -> KwireLogReader:
        from kwire.spark.options.log import parse_log_options

        options = parse_log_options(self.options)
        check_schema(schema.fieldNames(), options.columns, options.decoding)
        return KwireLogReader(options)

    # PySpark asks for these when a query starts, not when its DataFrame is made: no refusal can come earlier.

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 - Spark's name
        return _NoStream()

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        raise UnsupportedError('segments are only read. df.write.format("kwire") writes to a topic')

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        raise UnsupportedError('segments are only read. df.writeStream.format("kwire") writes to a topic')


class _NoStream(DataSourceStreamReader):
    """Says that there are no streams, where Spark lets it be seen: what `streamReader` raises, Spark hides."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return self.latestOffset()

    def latestOffset(self, *_: Any) -> dict[str, Any]:  # noqa: N802 - Spark's name
        raise UnsupportedError(
            'segments are read in batches: spark.read.format("kwire-log"). '
            'For a stream read the topic: spark.readStream.format("kwire")'
        )

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return iter(())  # never called


class KwireLogReader(Shipped, DataSourceReader):
    """Plans a read of segments in the planning process and runs its tasks in the workers."""

    def __init__(self, options: LogOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        from kwire.spark.logs.plan import plan_log_tasks
        from kwire.spark.workers.heap import settle_heap

        tasks = plan_log_tasks(self.options)
        settle_heap()
        return [LogTaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the task's records as Arrow batches. Spark runs a plan without tasks as one empty partition."""
        if not isinstance(partition, LogTaskPartition):
            return iter(())
        from kwire.spark.logs.task import read_log_task

        return read_log_task(self.options, partition.task)
