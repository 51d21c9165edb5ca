"""The writers of `deliveryGuarantee` exactly-once, as Spark pickles them into tasks and calls them on the driver.

They hold options only. Which run and which batch a task works for stands in its Spark properties; the driver learns it
from the tasks' messages, since Spark makes the writer anew for each commit. How it works is in `decisions.py`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from kwire.errors import ConfigError
from kwire.spark.exactly_once.decisions import ExactlyOnceError, Job
from kwire.spark.options.write import WriteOptions
from kwire.spark.workers.logs import tell_from
from kwire.spark.workers.shipped import Shipped

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.spark.exactly_once.commit import Committer
    from kwire.spark.exactly_once.task import Prepared

_QUERY: Final = "sql.streaming.queryId"
_RUN: Final = "spark.jobGroup.id"
_BATCH: Final = "streaming.sql.batchId"
_ASYNC_PROGRESS: Final = "asyncprogresstrackingenabled"


class TaskPrepared(WriterCommitMessage):
    """A task's message to the driver."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared


class ExactlyOnceWriter(Shipped, DataSourceArrowWriter):
    """Writes a DataFrame: all of its rows, or none. `run` is this write's own."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options
        self.run = str(uuid.uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _write(self.options, Job(f"{self.options.transactional_id_prefix}-batch", self.run), iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        _commit(self.options, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        _abort(self.options, messages)


class ExactlyOnceStreamWriter(Shipped, DataSourceStreamWriter, DataSourceArrowWriter):
    """Writes each micro-batch of a query once, however often Spark runs it."""

    def __init__(self, options: WriteOptions, given: Mapping[str, str]) -> None:
        self.options = options
        if any(name.lower() == _ASYNC_PROGRESS and value.lower() == "true" for name, value in given.items()):
            raise ConfigError(
                "deliveryGuarantee 'exactly-once' and asyncProgressTrackingEnabled exclude each other: a checkpoint "
                "that lags behind has a query write what was committed"
            )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        from kwire.spark.writing.refusals import told

        return told(lambda: _write(self.options, _job_of_stream(self.options), iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        from kwire.spark.writing.refusals import raise_refused

        raise_refused(messages)
        _commit(self.options, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        _abort(self.options, messages)


def _job_of_stream(options: WriteOptions) -> Job:
    """What the present task works for."""
    from pyspark import TaskContext

    context = TaskContext.get()
    query, run, batch = (context.getLocalProperty(name) if context else None for name in (_QUERY, _RUN, _BATCH))
    if not query or not run or not batch:
        raise ExactlyOnceError(
            f"this task does not know which batch it belongs to: Spark reports {_QUERY}={query}, {_RUN}={run}, "
            f"{_BATCH}={batch}"
        )
    return Job(f"{options.transactional_id_prefix}-{query}", run, int(batch))


def _write(options: WriteOptions, job: Job, batches: Iterator[pa.RecordBatch]) -> TaskPrepared:
    from kwire.spark.exactly_once.task import write_prepared

    return TaskPrepared(write_prepared(options, job, batches))


def _commit(options: WriteOptions, messages: Sequence[WriterCommitMessage | None]) -> None:
    committer = _committer(options, messages)
    if committer is not None:
        with committer:
            committer.commit()


def _abort(options: WriteOptions, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Tasks without a message have aborted by themselves, or died."""
    committer = _committer(options, messages)
    if committer is not None:
        with committer:
            committer.abort()


def _committer(options: WriteOptions, messages: Sequence[WriterCommitMessage | None]) -> Committer | None:
    """None where no task has said anything."""
    from kwire.spark.exactly_once.commit import Committer

    tell_from(options.log_level)
    prepared = [message.prepared for message in messages if isinstance(message, TaskPrepared)]
    if not prepared:
        return None
    return Committer(
        options.client,
        prepared[0].job,
        [each.transaction for each in prepared if each.transaction is not None],
        rows=sum(each.report.rows for each in prepared),
        topics={topic for each in prepared for topic, _ in each.report.next_offsets},
        seen={each.seen for each in prepared if each.transaction is not None},
        are_late=any(each.is_late for each in prepared),
    )
