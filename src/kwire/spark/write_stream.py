"""`writeStream.format("kwire")`: the writer that Spark pickles into every task of every micro-batch.

At least once: a micro-batch that Spark repeats after a failure is written again. In the output mode `complete` each
micro-batch is written whole, in `update` the rows that changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from kwire.spark.options.write import EXACTLY_ONCE, WriteOptions, parse_write_options
from kwire.spark.workers.shipped import Shipped
from kwire.spark.write_batch import Written, warn_of_rows_left
from kwire.spark.writing.write_schema import check_write_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
    """The writer of one query; `overwrite` is set in the output mode `complete`. Raises ConfigError for options and
    columns that do not fit.
    """
    parsed = parse_write_options(options)
    check_write_schema(schema, parsed.topic)
    if parsed.guarantee == EXACTLY_ONCE:
        from kwire.spark.exactly_once.writers import ExactlyOnceStreamWriter

        return ExactlyOnceStreamWriter(parsed, options)
    return KwireStreamWriter(parsed)


# PySpark hands Arrow batches to every DataSourceArrowWriter, in streams too; its own base for both begins with 4.1.
class KwireStreamWriter(Shipped, DataSourceStreamWriter, DataSourceArrowWriter):
    """Writes the rows of a stream to topics, at least once."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        from kwire.spark.writing.refusals import told
        from kwire.spark.writing.write_task import write_task

        return told(lambda: Written(write_task(self.options, iterator)))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Every row is in its topic already, unless one was refused."""
        from kwire.spark.writing.refusals import raise_refused

        raise_refused(messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        warn_of_rows_left(messages)
