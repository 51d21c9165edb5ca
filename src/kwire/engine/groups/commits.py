"""Commits of offsets: in the order of the calls, one request at a time, each call decided once.

Layer 3, no I/O. What is committed while a request is in flight waits, then leaves with what has to be sent again, of
each partition the newest offset, which then stands for the older ones. So an older offset never comes after a newer
one, and commits that come faster than the coordinator answers cost one request for each of its answers.

They go before the farewell on the coordinator's connection, and over that for data while the coordinator holds a
JoinGroup or SyncGroup: then it reads nothing more on its own, but takes commits of the present generation.

A commit belongs to the generation in which it was made. After a rebalance it goes on for partitions that this consumer
kept all the time, and fails for others: another member may have read further there. It fails, too, for a topic that was
made anew meanwhile; an automatic one goes on without that.

    again, at the same broker   COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID,
                                STALE_MEMBER_EPOCH (the next heartbeat brings the new epoch), ILLEGAL_GENERATION while
                                the answer to JoinGroup, with the new one, is on its way; a partition left out
    again, after a look-up      COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, REQUEST_TIMED_OUT, lost connections
    CommitFailedError           ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND
    their own error             REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID, and everything about authorization or size

The membership gets codes about the member, unless it has joined another generation since. As Java's
ConsumerCoordinator and CommitRequestManager, but for the repeated asynchronous commits and stale epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from kwire import errors, protocol
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.calls import Call, OnDone
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.pace import throttle_s
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import Request
from kwire.engine.common.retry import is_retriable
from kwire.engine.consumer.subscription import Subscription
from kwire.engine.groups.committable import CommittableOffsets
from kwire.engine.groups.coordinator import Coordinator, WaitingRequest
from kwire.engine.groups.membership import GroupMetadata, Membership
from kwire.engine.groups.offset_messages import CommitRequest
from kwire.errors import BrokerError, CommitFailedError, ConnectError, KafkaError, KafkaTimeoutError
from kwire.errors.listing import first_of
from kwire.errors.wording import Wording
from kwire.schema.api_keys import OFFSET_COMMIT
from kwire.schema.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    NONE,
    REBALANCE_IN_PROGRESS,
    REQUEST_TIMED_OUT,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)

if TYPE_CHECKING:
    from kwire.engine.consumer.partition_state import PartitionState
    from kwire.engine.ports import Services

OnConfirmed = Callable[[CommittableOffsets], None]

_OF_THE_MEMBER = frozenset(
    {
        ILLEGAL_GENERATION,
        UNKNOWN_MEMBER_ID,
        FENCED_MEMBER_EPOCH,
        FENCED_INSTANCE_ID,
        REBALANCE_IN_PROGRESS,
        STALE_MEMBER_EPOCH,
        GROUP_ID_NOT_FOUND,
    }
)
_GONE_ON = frozenset({ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND})


class Commit(Call):
    """One commit that was asked for: of these `rows`; `left` is what the coordinator has not confirmed. `states` are
    the partitions that were assigned then; `late` is why it came too late. Decided, its `verdict` is how it ends when
    its turn has come."""

    recovers = False

    sent = False
    is_decided = False
    verdict: KafkaError | None = None

    def __init__(
        self,
        commits: Commits,
        core: Services,
        rows: CommittableOffsets,
        member: GroupMetadata,
        deadline: float,
        on_done: OnDone | None,
        *,
        leaves_out_deleted: bool,
        late: KafkaError | None,
    ) -> None:
        self.leaves_out_deleted = leaves_out_deleted
        self.late = late
        self.rows = self.left = rows
        self.states = commits.subscription.states
        self.member = member
        self._commits = commits
        super().__init__(core, "", deadline, on_done)

    @property
    def name(self) -> str:
        """The commit in words."""
        return f"the commit of {first_of(self.rows, 3)} by group {self.member.group_id!r}"

    @override
    def timed_out(self) -> KafkaError:
        self.what = self.name
        return super().timed_out()

    def note(self, error: KafkaError) -> None:
        """Why it is not done yet, in case time runs out."""
        self._last = error

    def leave_out(self, partitions: Mapping[TopicPartition, object] | set[TopicPartition]) -> None:
        """These need not be sent any more."""
        self.left = {tp: row for tp, row in self.left.items() if tp not in partitions}

    def decide(self, verdict: KafkaError | None) -> None:
        """The coordinator has it, or it failed so; the first word counts."""
        if not self.is_decided:
            self.is_decided = True
            self.verdict = verdict

    def end(self, now: float) -> None:
        """Its turn has come, or its deadline has passed: ends as decided, or with a timeout."""
        if not self.is_decided:
            self.fail(self.timed_out(), now)
        elif self.verdict is None:
            self.succeed(None, now)
        else:
            self.fail(self.verdict, now)

    @override
    def _out_of_time(self, now: float) -> None:
        self.end(now)

    @override
    def on_end(self) -> None:
        self._commits.forget(self)

    @override
    def _end(self, now: float) -> None:
        super()._end(now)
        self._commits.end_decided(now)


class Commits(Recoverable):
    """The commits of one consumer. `on_stored` is called with the offsets that the coordinator confirms.

    _queue    commits that have not ended, in order; those with `sent` are in the request that is in flight
    _rows     what that request commits
    _sent     that request, of the member as whom it was made, whoever that consumer is when it is written, and of the
              topics of then: it never goes to one that is made anew under the name
    """

    def __init__(
        self,
        core: Services,
        coordinator: Coordinator,
        subscription: Subscription,
        membership: Membership,
        on_stored: OnConfirmed,
    ) -> None:
        self.subscription = subscription
        self._core = core
        self._coordinator = coordinator
        self._membership = membership
        self._on_stored = on_stored
        self.on_confirmed: OnConfirmed | None = None
        self._queue: list[Commit] = []
        self._rows: CommittableOffsets = {}
        self._sent: CommitRequest | None = None
        self._request: Request | WaitingRequest | None = None
        self._again: Timer | None = None
        self._failures = 0
        self._is_ending = False
        self.recover_with(core)

    @property
    def member(self) -> GroupMetadata:
        """As whom this consumer commits: outside its group without a generation."""
        found = self._membership.metadata
        return found if self._membership.active else GroupMetadata(found.group_id)

    @property
    def is_idle(self) -> bool:
        """Whether every commit has ended."""
        return not self._queue

    def commit(
        self,
        rows: CommittableOffsets,
        now: float,
        deadline: float,
        on_done: OnDone | None = None,
        *,
        leaves_out_deleted: bool = False,
        late: KafkaError | None = None,
    ) -> Commit:
        """Commits these after all that was committed before; of nothing, it is done when all of that is.

        With `leaves_out_deleted` it does not wait for topics that no broker has: what else there is gets committed.
        """
        member = self.member
        call = Commit(
            self, self._core, rows, member, deadline, on_done, leaves_out_deleted=leaves_out_deleted, late=late
        )
        self._queue.append(call)
        self._send_undecided(member, now)
        return call

    def forget(self, call: Commit) -> None:
        """The commit has ended."""
        if call in self._queue:
            self._queue.remove(call)

    def end_decided(self, now: float) -> None:
        """Ends those that are decided, up to the first that is not."""
        if self._is_ending or not self._queue or not self._queue[0].is_decided:
            return  # nothing to do, or within one that ends: the loop below goes on
        self._is_ending = True
        try:
            while self._queue and self._queue[0].is_decided:
                self._queue[0].end(now)
        finally:
            self._is_ending = False

    def close(self) -> None:
        """Sends no more."""
        self._stop()
        self.recover_no_more(self._core)

    @override
    def recover(self, now: float) -> None:
        self._stop()
        self._pump(now)

    def _stop(self) -> None:
        if self._request is not None:
            self._request.cancel()
            self._request = None
        if self._again is not None:
            self._again.cancel()
            self._again = None

    # -- sending ----------------------------------------------------------------------------------------------------

    def _pump(self, now: float) -> None:
        if self._queue:
            self._send_undecided(self.member, now)

    def _send_undecided(self, member: GroupMetadata, now: float) -> None:
        """Sends everything that is not decided, unless a request is in flight or has to wait."""
        if self._request is None and self._again is None:
            rows = self._gather(member)
            if rows:
                self._send(rows, member, now)
        self.end_decided(now)

    @property
    def _undecided(self) -> list[Commit]:
        return [call for call in self._queue if not call.is_decided]

    def _gather(self, member: GroupMetadata) -> CommittableOffsets:
        """What is to be sent; decides the calls of which nothing is left, or may be sent."""
        rows: CommittableOffsets = {}
        for call in self._queue:
            if call.is_decided:
                continue
            error = self._why_not(call, member)
            if error is not None or not call.left:
                call.decide(error)
                continue
            call.sent = True
            rows.update(call.left)
        if len(self._queue) > 1:
            for call in self._undecided:
                call.left = {tp: rows[tp] for tp in call.left}  # what goes again may not undo what was sent after it
        return rows

    def _send(self, rows: CommittableOffsets, member: GroupMetadata, now: float) -> None:
        id_of = self.subscription.topic_id
        if self._sent is None or not self._sent.is_for(rows, member, id_of):
            self._sent = CommitRequest(rows, member, {topic: id_of(topic) for topic in {topic for topic, _ in rows}})
        self._rows = rows
        request = self._coordinator.request(
            OFFSET_COMMIT,
            partial(self._sent.message, rows),
            self._on_response,
            self._on_error,
            now,
            purpose=self._membership.purpose,
            versions=self._sent.versions,
            known=self._sent.known,
        )
        if not request.done:
            self._request = request

    def _why_not(self, call: Commit, member: GroupMetadata) -> KafkaError | None:
        """Why the commit cannot be sent, now that the group is in the generation that it is in."""
        if not call.left or call.late is not None:
            return call.late
        if self._membership.active and member.generation_id < 0:
            return CommitFailedError(
                f"{call.name} was not sent: the consumer is not a member of its group at present; poll() joins it"
            )
        if member == call.member:
            is_as_it_was = call.states is self.subscription.states or not self._membership.active
            return None if is_as_it_was else self._why_anew(call)
        lost = [tp for tp in call.left if not self._is_kept(call.states.get(tp), tp)]
        if lost:
            return CommitFailedError(
                f"{call.name} was not sent: the group was rebalanced meanwhile, and this consumer had to give up "
                f"{lost[0]}, whose new owner continues from the last committed offset"
            )
        call.member = member
        return None

    def _why_anew(self, call: Commit) -> KafkaError | None:
        """Why it ends though the member is the same: a topic was made anew meanwhile, and its offsets begin again."""
        states = self.subscription.states
        anew = [tp for tp in call.left if tp in states and call.states.get(tp, states[tp]) is not states[tp]]
        if anew and not call.leaves_out_deleted:
            return CommitFailedError(
                f"{call.name} was not sent: {anew[0].topic!r} was recreated meanwhile, and has other records"
            )
        if anew:
            call.leave_out(set(anew))
        return None

    def _is_kept(self, state: PartitionState | None, tp: TopicPartition) -> bool:
        return state is not None and self.subscription.states.get(tp) is state

    # -- answers ----------------------------------------------------------------------------------------------------

    def _on_response(self, response: protocol.OffsetCommitResponse, version: int, now: float) -> None:
        sent, rows = self._sent, self._rows
        assert sent is not None
        sent.look_at(response)
        codes = sent.codes
        self._membership.log.committed(rows, codes)
        confirmed = rows if sent.stores_all else {tp: row for tp, row in rows.items() if codes.get(tp) == NONE}
        if confirmed:
            self._store(confirmed)
        retry: KafkaError | None = None
        if len(confirmed) < len(rows):
            retry = self._take_errors([tp for tp in rows if tp not in confirmed], codes, now)
        if self.on_confirmed is not None and confirmed:
            self.on_confirmed(confirmed)
        self.end_decided(now)
        self._go_on(retry, throttle_s(response.throttle_time_ms) if response.throttle_time_ms else 0.0, now)

    def _take_errors(
        self, refused: Iterable[TopicPartition], codes: Mapping[tuple[str, int], int], now: float
    ) -> KafkaError | None:
        """Takes in why these partitions are not confirmed; returns an error that may pass, if there is one."""
        passing: KafkaError | None = None
        deleted: set[TopicPartition] = set()
        for tp in refused:
            error = self._error(tp, codes.get(tp), now)
            if not is_retriable(error):
                self._fail(tp, error)
                continue
            passing = error
            if self._core.cluster.is_missing(tp.topic, tp.partition):
                deleted.add(tp)
        if deleted:
            self._leave_out(deleted)
        return passing

    def _store(self, confirmed: CommittableOffsets) -> None:
        self._on_stored(confirmed)
        is_all = len(confirmed) == len(self._rows)
        for call in self._queue:
            if call.is_decided or not call.sent:
                continue
            if not is_all:
                call.leave_out(confirmed)
            if is_all or not call.left:
                call.decide(None)

    def _leave_out(self, deleted: set[TopicPartition]) -> None:
        for call in self._undecided:
            if call.sent and call.leaves_out_deleted:
                call.leave_out(deleted)
                if not call.left:
                    call.decide(None)

    def _fail(self, tp: TopicPartition, error: KafkaError) -> None:
        for call in self._undecided:
            if call.sent and tp in call.left:
                call.decide(error)

    def _error(self, tp: TopicPartition, code: int | None, now: float) -> KafkaError:
        """What the code of a partition means for its commits."""
        what = f"the commit of {tp} by group {self.member.group_id!r}"
        if not code:
            return _PassingError(f"{what}: the response of the coordinator has no entry for the partition")
        error = errors.broker.error_for(code, what)
        if code in _OF_THE_MEMBER:
            return self._of_member(error, what, now)
        if code == REQUEST_TIMED_OUT:
            self._coordinator.is_lost(ConnectError(str(error)), now)
        elif not self._coordinator.is_lost(error, now) and error.stale_metadata:
            self._core.cluster.refresh(now)
        return error

    def _of_member(self, error: BrokerError, what: str, now: float) -> KafkaError:
        if self._sent is None or self._sent.member != self.member:
            return _PassingError(f"{error}; the member has joined another generation since")
        if error.code == ILLEGAL_GENERATION and self._membership.is_joining:
            return _PassingError(f"{error}; the member is joining the next generation")
        self._membership.refused(error.code, now)
        if error.code == STALE_MEMBER_EPOCH:
            return _PassingError(str(error))
        if error.code == REBALANCE_IN_PROGRESS:
            return errors.broker.error_for(
                error.code, f"{what}: poll() completes the rebalance; commit again after that"
            )
        return CommitFailedError(self._gone_on(error, what)) if error.code in _GONE_ON else error

    def _gone_on(self, error: BrokerError, what: str) -> str:
        if error.code == GROUP_ID_NOT_FOUND:
            return Wording(
                "{what}: {name}: this {group_id} belongs to a group of another type, or to none",
                what=what,
                name=error.name,
            )
        if not self._membership.active:
            return f"{what}: {error.name}: the group has members, and only these may commit; subscribe() makes one"
        return Wording(
            "{what}: {name}: the group has gone on without this consumer, and its partitions may be another member's "
            "by now; poll() joins again. If the time between two polls came near {max_poll_interval_ms}={interval}, "
            "raise that, or lower {max_poll_records}",
            what=what,
            name=error.name,
            interval=self._core.settings.max_poll_interval_ms,
        )

    def _on_error(self, error: KafkaError, now: float) -> None:
        """The request failed as a whole."""
        self._coordinator.is_lost(error, now)
        if is_retriable(error):
            self._go_on(error, 0.0, now)
            return
        for call in self._undecided:
            if call.sent:
                call.decide(error)
        self.end_decided(now)
        self._go_on(None, 0.0, now)

    def _go_on(self, why_again: KafkaError | None, wait: float, now: float) -> None:
        """A request has ended: sends what is left, after a wait where something has to be repeated."""
        self._request = None
        if why_again is not None:
            self._failures += 1
            wait = max(wait, self._core.retry_backoff.wait(self._failures))
            for call in self._undecided:
                call.note(why_again)
        else:
            self._failures = 0
        if wait > 0 and self._undecided:
            self._again = self._core.call_at(now + wait, self._after_wait)
        else:
            self._pump(now)

    def _after_wait(self, now: float) -> None:
        self._again = None
        self._pump(now)


class _PassingError(KafkaTimeoutError):
    """An answer after which the same commit may succeed: when the member knows its new epoch, for one."""
