"""`format("kwire")`: Kafka topics as a source and a sink of Spark, through Spark's Python Data Source API.

Spark makes a `KwireDataSource` from the options in a process of its own, asks it for the schema, and then for a reader,
which plans the tasks there. The reader is pickled into every task and reads one `TaskPartition` in a Python worker.
So both hold options only: no socket, no table. Errors about options are raised when the DataFrame is made, errors
about the log when it is planned or read.

Every session that looks a Python source up imports this module: it imports the rest of kwire when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSource

from kwire.engine.common.secret import hiding_arguments
from kwire.spark.source_checks import check_arrow, check_schema, tell_which_python
from kwire.spark.workers.shipped import Shipped

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from kwire.spark.batch_reader import KwireReader


class KwireDataSource(Shipped, DataSource):
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
        from kwire.spark.workers.heap import settle_heap

        schema = result_schema(self.options)
        settle_heap()
        return schema

    @hiding_arguments
    def reader(self, schema: StructType) -> KwireReader:
        from kwire.spark.batch_reader import KwireReader
        from kwire.spark.options.read import parse_batch_options

        options = parse_batch_options(self.options)
        check_schema(schema.fieldNames(), options.columns, options.decoding)
        return KwireReader(options)

    # PySpark asks for these when a query starts, not when its DataFrame is made: no refusal can come earlier.

    @hiding_arguments
    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 - Spark's name
        from kwire.spark.stream_reader import stream_reader

        return stream_reader(self.options, schema)

    @hiding_arguments
    def writer(self, schema: StructType, overwrite: bool) -> Any:
        tell_which_python(self)
        from kwire.spark.write_batch import batch_writer

        return batch_writer(self.options, schema, overwrite)

    @hiding_arguments
    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        tell_which_python(self)
        from kwire.spark.write_stream import stream_writer

        return stream_writer(self.options, schema, overwrite)
