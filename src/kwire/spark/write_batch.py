"""`write.format("kwire")`: the writer that Spark pickles into every task of a batch write.

It holds options only: a worker makes the producer. Each task's message says what it wrote, once every row of it is
acknowledged. At least once: a task that Spark runs again writes its rows again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from kwire.errors import ConfigError
from kwire.errors.listing import counted
from kwire.spark.options.write import EXACTLY_ONCE, WriteOptions, parse_write_options
from kwire.spark.workers.logs import tell_from
from kwire.spark.workers.shipped import Shipped
from kwire.spark.writing.write_schema import check_write_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kwire.spark.writing.write_task import TaskReport

_log: Final = logging.getLogger("kwire.spark")


class Written(WriterCommitMessage):
    """A task's message to the driver."""

    def __init__(self, report: TaskReport) -> None:
        self.report = report


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
    """The writer of one batch write. Raises ConfigError for options and columns that do not fit."""
    if overwrite:
        raise ConfigError(
            "Save mode Overwrite not allowed for Kafka: records in a topic cannot be replaced. Use mode('append')"
        )
    parsed = parse_write_options(options)
    check_write_schema(schema, parsed.topic)
    if parsed.guarantee == EXACTLY_ONCE:
        from kwire.spark.exactly_once.writers import ExactlyOnceWriter

        return ExactlyOnceWriter(parsed)
    return KwireWriter(parsed)


class KwireWriter(Shipped, DataSourceArrowWriter):
    """Writes the rows of a DataFrame to topics, at least once."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        from kwire.spark.writing.write_task import write_task

        return Written(write_task(self.options, iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        tell_from(self.options.log_level)
        _log.info("Wrote %s in %s", counted(rows_of(messages), "row"), counted(len(messages), "task"))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        warn_of_rows_left(messages)


def rows_of(messages: Sequence[WriterCommitMessage | None]) -> int:
    """How many rows the tasks wrote that ended well."""
    return sum(message.report.rows for message in messages if isinstance(message, Written))


def warn_of_rows_left(messages: Sequence[WriterCommitMessage | None]) -> None:
    """For a write that failed: a topic takes nothing back."""
    rows = rows_of(messages)
    if rows:
        _log.warning("The write failed; %s of its finished tasks stay in their topics", counted(rows, "row"))
