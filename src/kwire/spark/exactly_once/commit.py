"""The driver's side of exactly once: decides which transactions are a batch, and ends them.

The steps, their order and why are in the head of `decisions.py`. Each batch is decided by what brokers say: Spark calls
commit() in a process that may have seen no batch before. What a process keeps for the next batch is its producer, whose
connections, with TLS and a login, cost more than the commit; it fences others anew each time.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from kwire import _prepared
from kwire._prepared import ONGOING, PreparedTransaction, TransactionDescription
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.settings.config import from_config
from kwire.errors import BrokerError, KafkaError, ProducerFencedError
from kwire.errors.listing import counted
from kwire.producer import Producer
from kwire.schema.error_codes import (
    INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_TXN_STATE,
    PRODUCER_FENCED,
    UNSUPPORTED_VERSION,
)
from kwire.spark.exactly_once.decision_reader import read_decision
from kwire.spark.exactly_once.decisions import (
    Decision,
    ExactlyOnceError,
    Job,
    check_undisturbed,
    decide,
    encode,
    group_of,
    judge,
)
from kwire.spark.options.client import errors_by_option
from kwire.spark.options.write import transactional
from kwire.spark.workers.clients import borrowed
from kwire.spark.workers.kept_producer import KeptProducer

_log: Final = logging.getLogger("kwire.spark")

_LOST: Final = frozenset({PRODUCER_FENCED, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING})
_TOO_OLD: Final = "deliveryGuarantee 'exactly-once' needs brokers of Kafka 3.0 or newer (KIP-664)"
_LIST_WITHIN_S: Final = 5.0
_MAX_MARGIN_MS: Final = 60_000
_DRIVER_TIMEOUT_MS: Final = 60_000


class Committer:
    """Commits or aborts what the tasks of one job have prepared; `rows` and `topics` are what they wrote, and where,
    `seen` the numbers of the decisions that were the last when they began. `are_late`: some wrote nothing, having found
    their batch decided.

    `step(name)` is called before each step, for tests that end a driver there.
    """

    def __init__(
        self,
        client: Mapping[str, str],
        job: Job,
        prepared: Sequence[PreparedTransaction],
        *,
        rows: int = 0,
        topics: Collection[str] = (),
        seen: Collection[int] = (),
        are_late: bool = False,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._job = job
        self._client = client
        self._prepared = list(prepared)
        self._rows = rows
        self._topics = sorted(topics)
        self._seen = frozenset(seen)
        self._are_late = are_late
        self._step = step
        self._now_ms: Callable[[], float] = lambda: time.time() * 1000
        self._failure: KafkaError | None = None
        self._loan = borrowed(self._make_producer, ("driver", job.scope, *sorted(client.items())))

    def _make_producer(self) -> KeptProducer:
        with errors_by_option(self._client, on_this_host=True):
            return KeptProducer(Producer(**_driver_settings(self._client, self._job.scope)))

    def __enter__(self) -> Self:
        self._producer = self._loan.__enter__().producer
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """After a failure the producer is closed: its transaction is committed, or not wanted."""
        failure = error or self._failure
        self._loan.__exit__(type(failure) if failure else None, failure, trace)

    def commit(self) -> None:
        """Commits the batch, or takes it for committed. Raises ExactlyOnceError, or why it could not be done now."""
        try:
            with errors_by_option(self._client):
                self._decide()
        except ProducerFencedError as error:
            raise ExactlyOnceError(
                f"{self._job} is left to another driver, which is committing in its place"
            ) from error

    def _decide(self) -> None:
        last = self._last_decision()
        if judge(last, self._job):
            assert last is not None
            self._commit_again(last)
        else:
            check_undisturbed(last, self._job, self._seen)
            self._commit_anew(last)

    def abort(self) -> None:
        """Aborts what the tasks have prepared, unless that was decided on; does not raise."""
        if not self._prepared:
            return
        try:
            self._abort()
        except KafkaError as error:
            self._failure = error
            _log.warning("%s was not aborted: %s", self._job, error)

    def _abort(self) -> None:
        last = self._last_decision()
        named = () if last is None else last.transactions
        if last is not None and not set(self._prepared).isdisjoint(named):
            self._finish(last)
        strays = self._strays_of_this_run() if self._job.batch is not None else self._decide_on_nothing(last)
        self._sweep([each for each in (*self._prepared, *strays) if each not in named])

    def _strays_of_this_run(self) -> list[PreparedTransaction]:
        return [each for each in self._strays() if self._job.run_of(each.transactional_id) == self._job.run]

    def _decide_on_nothing(self, last: Decision | None) -> list[PreparedTransaction]:
        """Decides that a batch write has no rows: its late attempts hear of that, and the strays that it returns may be
        aborted. None are where it is decided otherwise.
        """
        if self._is_over(last):
            return []
        if last is not None:
            self._finish(last)
        strays = self._strays()
        self._store(decide(last, self._job, 0, [], []), last)
        return strays

    def _is_over(self, last: Decision | None) -> bool:
        """Whether this job is committed, or cannot be any more."""
        try:
            check_undisturbed(last, self._job, self._seen)
        except ExactlyOnceError:
            return True
        return last is not None and last.is_over(self._job)

    # -- the two ways through a commit ------------------------------------------------------------------------------

    def _commit_again(self, last: Decision) -> None:
        """The batch was decided before, and is run again because the driver did not live to say so."""
        if self._job.batch is None and not set(self._prepared) <= set(last.transactions):
            raise ExactlyOnceError(f"{self._job} is not committed: it has been aborted")
        if last.rows != self._rows and last.run != self._job.run:
            _log.warning(
                "%s has been committed with %s; the %s of now are dropped",
                self._job,
                counted(last.rows, "row"),
                self._rows,
            )
        strays: list[PreparedTransaction] = []
        if last.run != self._job.run:
            self._step("list")
            strays = self._strays()
            last = last.taken_over(self._job.run, self._runs_of(strays))
            self._store(last)
        self._finish(last)
        self._sweep([each for each in (*self._prepared, *strays) if each not in last.transactions])

    def _commit_anew(self, last: Decision | None) -> None:
        """Of a stream the last decision is finished: Spark would run that batch again. A write may have died there."""
        if self._are_late:
            raise ExactlyOnceError(
                f"{self._job} is not committed: tasks found it decided, and left rows out, but the decision is gone. "
                f"Has somebody deleted the offsets of group {self._job.scope!r}, or the topic that they are of?"
            )
        if last is not None and self._job.batch is None:
            self._finish(last)
        if not self._prepared:
            return
        self._step("list")
        strays = self._strays()
        self._step("verify")
        self._verify()
        decision = decide(last, self._job, self._rows, self._prepared, self._runs_of(strays))
        self._store(decision, last)
        self._finish(decision)
        _log.info(
            "%s is committed: %s in %s",
            self._job,
            counted(self._rows, "row"),
            counted(len(self._prepared), "transaction"),
        )
        self._sweep(strays)

    # -- 1 and 2: fence, and read -----------------------------------------------------------------------------------

    def _last_decision(self) -> Decision | None:
        self._step("fence")
        _prepared.fence(self._producer)
        self._step("read")
        return read_decision(self._producer, self._job)

    # -- 4 and 5: list, and verify ----------------------------------------------------------------------------------

    def _strays(self) -> list[PreparedTransaction]:
        """What is open in the scope and not of this batch: left by tasks that failed, or lost, or by another run.

        A broker that does not answer is not waited for: what it knows of is for the next batch, or times out.
        """
        try:
            names = _prepared.list_open(self._producer, f"{self._job.scope}-", _LIST_WITHIN_S)
            ours = {each.transactional_id for each in self._prepared}
            others = [name for name in names if name not in ours and self._job.is_name(name)]
            described = _prepared.describe(self._producer, others, _LIST_WITHIN_S)
        except KafkaError as error:
            if isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION:
                raise ExactlyOnceError(_TOO_OLD) from error
            _log.warning("Transactions that may be left over stay open for now: %s", error)
            return []
        version = _prepared.version(self._producer)
        return [
            PreparedTransaction(name, found.producer_id, found.producer_epoch, version)
            for name, found in described.items()
            if found is not None and found.state == ONGOING
        ]

    def _runs_of(self, strays: Sequence[PreparedTransaction]) -> list[str]:
        runs = (self._job.run_of(each.transactional_id) for each in strays)
        return [run for run in runs if run is not None]

    def _verify(self) -> None:
        """Raises ExactlyOnceError unless each can still be committed."""
        described = _prepared.describe(self._producer, [each.transactional_id for each in self._prepared])
        now_ms = self._now_ms()
        for each in self._prepared:
            why = _why_too_late(each, described[each.transactional_id], now_ms)
            if why:
                raise ExactlyOnceError(
                    f"{self._job} is not committed: {why}. None of its rows will be read; the query can be started "
                    "again. If batches take long, raise kafka.transaction.timeout.ms and the brokers' "
                    "transaction.max.timeout.ms, or make batches smaller"
                )

    # -- 6 to 8: decide, finish, sweep ------------------------------------------------------------------------------

    def _store(self, decision: Decision, last: Decision | None = None) -> None:
        """Commits the decision, by which it stands."""
        topic = decision.topic or (last.topic if last is not None else self._topics[0])
        width = _prepared.partition_count(self._producer, topic)
        by_group: dict[str, dict[TopicPartition, OffsetAndMetadata]] = defaultdict(dict)
        for place, text in enumerate(encode(decision, self._job, width)):
            tp = TopicPartition(topic, place % width)
            by_group[group_of(self._job.scope, place, width)][tp] = OffsetAndMetadata(decision.batch or 0, text)
        self._step("begin")
        self._producer.begin_transaction()
        for group, offsets in by_group.items():
            self._step("offsets")
            self._producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata.outside(group))
        self._step("decide")
        self._producer.commit_transaction()

    def _finish(self, decision: Decision) -> None:
        self._step("finish")
        ends = _prepared.end(self._producer, decision.transactions, commit=True)
        failed = [error for error in ends.values() if error is not None]
        lost = [each for each, error in ends.items() if error is not None and error.code in _LOST]
        if lost and not self._was_finished_by_another(decision):
            raise ExactlyOnceError(_what_was_lost(self._job, decision, lost)) from failed[0]
        if len(failed) > len(lost):
            raise next(error for error in failed if error.code not in _LOST)

    def _was_finished_by_another(self, decision: Decision) -> bool:
        """Whether a later write has made its own decision: it has finished this one before, and ids are used again."""
        if decision.batch is not None:
            return False
        last = read_decision(self._producer, self._job)
        return last is not None and last.number > decision.number

    def _sweep(self, transactions: Sequence[PreparedTransaction]) -> None:
        """Aborts what readers would have to wait for. The batch does not depend on it."""
        self._step("sweep")
        try:
            _prepared.end(self._producer, transactions, commit=False)
        except KafkaError as error:
            _log.warning("Transactions are left to their time-outs: %s", error)


def _why_too_late(wanted: PreparedTransaction, found: TransactionDescription | None, now_ms: float) -> str:
    name = wanted.transactional_id
    if found is None or found.state != ONGOING or found[1:3] != (wanted.producer_id, wanted.producer_epoch):
        state = "not known" if found is None else f"in the state {found.state}, epoch {found.producer_epoch}"
        return f"the transaction of {name!r} has ended: it is {state}; it timed out, or was aborted by an operator"
    left_ms = found.started + found.timeout_ms - now_ms
    if left_ms < min(_MAX_MARGIN_MS, found.timeout_ms / 4):
        return (
            f"the transaction of {name!r} times out in {max(left_ms, 0) / 1000:.0f} s of {found.timeout_ms / 1000:.0f}"
        )
    return ""


def _what_was_lost(job: Job, decision: Decision, lost: Sequence[PreparedTransaction]) -> str:
    names = ", ".join(each.transactional_id for each in lost[:5]) + (", ..." if len(lost) > 5 else "")
    what = "The batch write" if decision.batch is None else f"Batch {decision.batch}"
    return (
        f"{what} in {job.scope!r} was decided, but {len(lost)} of its {len(decision.transactions)} transactions ended "
        f"before they could be committed: {names}. The driver was away for longer than their time-out. Their rows are "
        "lost, those of the others are committed. With another transactionalIdPrefix the query writes the whole batch "
        "again: nothing is missing then, and the committed rows are written twice"
    )


def _driver_settings(client: Mapping[str, str], scope: str) -> dict[str, Any]:
    """Of the tasks' settings, without a time-out of hours or none: the driver's own transaction takes no time."""
    given = from_config(ProducerSettings, transactional(client)).given()
    own = {name: value for name, value in given.items() if name != "transaction_two_phase_commit_enable"}
    return {**own, "transactional_id": scope, "transaction_timeout_ms": _DRIVER_TIMEOUT_MS}
