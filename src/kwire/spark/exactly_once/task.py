"""A task's side of exactly once: it writes in a transaction, and leaves that open for the driver.

A task that fails aborts its transaction. One that is killed cannot: the driver does with the next commit, or the
time-out does. A late attempt, whose batch is decided, aborts its own: nobody else hears of it.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kwire import _prepared
from kwire._prepared import ONGOING, PreparedTransaction, TransactionDescription
from kwire.errors import ConnectError, KafkaError, KafkaTimeoutError
from kwire.spark.exactly_once.decision_reader import read_decision, wait_for_first
from kwire.spark.exactly_once.decisions import NO_DECISION, Decision, Job
from kwire.spark.exactly_once.names import WorkerNames
from kwire.spark.options.write import WriteOptions, transactional
from kwire.spark.workers.heap import settle_heap
from kwire.spark.workers.logs import tell_from
from kwire.spark.writing.write_task import TaskReport, borrowed_producer, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.producer import Producer

_log: Final = logging.getLogger("kwire.spark")

_ABORT_WITHIN_S: Final = 10.0
# A decision that is being made is waited for; one of a driver that has died takes a minute until it times out.
_LOOK_WITHIN_S: Final = 5.0
# Of so many ids is asked at once whether they are free: a worker has two for each task of a write that it runs.
_ASKED_AT_ONCE: Final = 32
_names: Final = WorkerNames()


@dataclass(frozen=True)
class Prepared:
    """What a task tells the driver: for which job it worked, what it wrote, and the transaction that holds it.

    `seen` is the number of the last decision before that was opened. Of a task that `is_late`, because its batch is
    decided, there is no transaction, and the report counts the rows that it was to write.
    """

    job: Job
    report: TaskReport
    transaction: PreparedTransaction | None
    seen: int = NO_DECISION
    is_late: bool = False


def write_prepared(options: WriteOptions, job: Job, batches: Iterable[pa.RecordBatch]) -> Prepared:
    """Writes the rows in a transaction that stays open; none where there are no rows."""
    settle_heap()
    tell_from(options.log_level)
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return Prepared(job, TaskReport(), None)
    rows = itertools.chain([first], filled)
    with (
        borrowed_producer(replace(options, client=transactional(options.client))) as producer,
        TaskTransaction(producer, job, _names) as transaction,
    ):
        if not transaction.begin():
            return Prepared(job, TaskReport(sum(batch.num_rows for batch in rows)), None, is_late=True)
        report = write_rows(options, rows, producer)
        prepared = transaction.detach()
        return Prepared(job, report, prepared, transaction.seen, transaction.is_late)


class TaskTransaction:
    """The transaction of one attempt of a task, aborted when the `with` block fails: so readers need not wait for its
    time-out. `is_late`: its batch was decided without it.
    """

    def __init__(self, producer: Producer, job: Job, names: WorkerNames) -> None:
        self._producer = producer
        self._job = job
        self._names = names
        self._name: str | None = None
        self._has_begun = False
        self._told: PreparedTransaction | None = None
        self.seen = NO_DECISION
        self.is_late = False

    def __enter__(self) -> TaskTransaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._name is None:
            return
        if not self._has_begun:
            self._names.give_up(self._name)
            return
        if error is not None and self._told is None:
            try:
                self._producer.abort_transaction(timeout=_ABORT_WITHIN_S)
            except KafkaError as failure:
                error.add_note(f"its transaction could not be aborted, and is left to its time-out: {failure}")
        self._names.give_back(self._job, self._name, self._told)

    def begin(self) -> bool:
        """Begins it, unless the batch is decided: whether there is anything to write for."""
        last, free = self._look_up()
        if last is not None:
            self.seen = last.number
            self.is_late = last.is_over(self._job)
        if not self.is_late:
            self._name = self._names.take(self._job, free)
            _prepared.begin_as(self._producer, self._name)
            self._has_begun = True
        return self._has_begun

    def detach(self) -> PreparedTransaction | None:
        """Leaves it open for the driver; None where nothing was written, or nobody will ask for it, as it `is_late`."""
        self._told = _prepared.detach(self._producer)
        if self._told is not None:
            last = self._known_decision(stable=True)
            self.is_late = last is not None and last.is_over(self._job)
        if self.is_late:
            self._end_late()
        return self._told

    def _end_late(self) -> None:
        late, self._told = self._told, None
        assert late is not None
        _log.info("%s is decided: the transaction of %r comes too late", self._job, late.transactional_id)
        try:
            _prepared.end(self._producer, [late], commit=False, timeout=_ABORT_WITHIN_S)
        except KafkaError as error:
            _log.warning("%r could not be aborted, and is left to its time-out: %s", late.transactional_id, error)

    # -- what has become of others ----------------------------------------------------------------------------------

    def _look_up(self) -> tuple[Decision | None, list[str]]:
        """The last decision, and which ids are free: asked in this order, what is over before the decision that may
        name it. A stream needs neither for certain.
        """
        if self._job.batch is not None:
            return self._known_decision(stable=False), []
        idle = dict(itertools.islice(self._names.idle(self._job).items(), _ASKED_AT_ONCE))
        over = self._over(idle)
        try:
            last = read_decision(self._producer, self._job, timeout=_LOOK_WITHIN_S)
        except (KafkaTimeoutError, ConnectError):  # as long as for any other answer, then
            return read_decision(self._producer, self._job, stable=False), []
        named = set() if last is None else {each.transactional_id for each in last.transactions}
        free = [name for name in over if name not in named]
        self._names.try_later(self._job, [name for name in idle if name not in free])
        return last, free

    def _known_decision(self, *, stable: bool) -> Decision | None:
        """The last decision, as far as it can be told; who depends on it, the driver, asks by itself."""
        try:
            last = read_decision(self._producer, self._job, stable=stable, timeout=_LOOK_WITHIN_S)
            if stable and last is None:
                wait_for_first(self._producer, self._job, _LOOK_WITHIN_S)
                last = read_decision(self._producer, self._job, timeout=_LOOK_WITHIN_S)
            return last
        except KafkaTimeoutError as error:
            if stable:
                return self._known_decision(stable=False)
            _log.warning("Cannot tell whether %s is decided already: %s", self._job, error)
        except KafkaError as error:
            _log.warning("Cannot tell whether %s is decided already: %s", self._job, error)
        return None

    def _over(self, idle: dict[str, PreparedTransaction | None]) -> list[str]:
        """Those whose last transactions cannot be decided on any more."""
        asked = [name for name, prepared in idle.items() if prepared is not None]
        try:
            described = _prepared.describe(self._producer, asked, _LOOK_WITHIN_S)
        except KafkaError as error:
            _log.info("Transactional ids are not used again for now: %s", error)
            described = {}
        return [name for name, prepared in idle.items() if prepared is None or _is_over(prepared, described.get(name))]


def _is_over(prepared: PreparedTransaction, found: TransactionDescription | None) -> bool:
    """Whether the transaction is known to have ended. A description of an earlier epoch is out of date."""
    if found is None or found.state == ONGOING:
        return False
    return found.producer_id == prepared.producer_id and found.producer_epoch >= prepared.producer_epoch
