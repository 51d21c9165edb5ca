"""A task's side of exactly once: it writes in a transaction, and leaves that open for the driver.

A task that fails aborts its transaction. One that is killed cannot: the driver does with the next commit, or the
time-out does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kwire import _prepared
from kwire._prepared import PreparedTransaction
from kwire.errors import KafkaError
from kwire.spark.exactly_once import Job
from kwire.spark.worker_heap import settle_heap
from kwire.spark.worker_names import WorkerNames
from kwire.spark.write_options import WriteOptions, transactional
from kwire.spark.write_task import TaskReport, borrowed_producer, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.producer import Producer

_ABORT_WITHIN_S: Final = 10.0
_names: Final = WorkerNames()


@dataclass(frozen=True)
class Prepared:
    """What a task tells the driver: for which job it worked, what it wrote, and the transaction that holds it."""

    job: Job
    report: TaskReport
    transaction: PreparedTransaction | None


def write_prepared(options: WriteOptions, job: Job, batches: Iterable[pa.RecordBatch]) -> Prepared:
    """Writes the rows in a transaction that stays open; none where there are no rows."""
    settle_heap()
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return Prepared(job, TaskReport(), None)
    name = _names.take(job)
    with borrowed_producer(replace(options, client=transactional(options.client))) as producer:
        _prepared.begin_as(producer, name)
        with _aborted_on_failure(producer):
            report = write_rows(options, itertools.chain([first], filled), producer)
            return Prepared(job, report, _prepared.detach(producer))


class _aborted_on_failure:  # noqa: N801 - a `with` block
    """Aborts the transaction when the block fails: so readers need not wait for its time-out."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        try:
            self._producer.abort_transaction(timeout=_ABORT_WITHIN_S)
        except KafkaError as failure:
            error.add_note(f"its transaction could not be aborted, and is left to its time-out: {failure}")
