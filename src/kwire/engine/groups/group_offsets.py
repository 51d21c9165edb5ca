"""The offsets of one consumer in its group: what it commits, automatically and on request, and what is committed.

Layer 3, no I/O. `commits.py` puts commits in order and repeats them, `committed.py` asks for what there is; here it is
decided which offsets are to be committed.

    delivered  what a commit without arguments takes: all that poll() and iteration have handed out
    finished   what an automatic commit takes: only what an earlier poll handed out, or a loop has passed, so that a
               record the caller may still be processing is never taken for done (`hand_out.py`)

Either only where the position has moved since it was committed, so that a commit costs as much as what was read, not as
much as what is assigned. A position that was looked up (auto_offset_reset) or sought has moved, too.

Automatic commits are made in polls, also while they wait, every auto_commit_interval_ms, before partitions are revoked,
and when the consumer closes. One that fails is warned of; what it was to commit goes with the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kwire._typing import TYPE_CHECKING
from kwire.engine.calls.calls import Call, OnDone
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.partition_state import NO_EPOCH, PartitionState
from kwire.engine.groups.commits import Commit, Commits, OnConfirmed
from kwire.engine.groups.committable import CommittableOffsets, committable
from kwire.engine.groups.committed import CommittedCall, OffsetFetches
from kwire.engine.groups.tenure import ConsumerGroupMetadata, why_not_alone
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import BrokerError
from kwire.schema.error_codes import REBALANCE_IN_PROGRESS

if TYPE_CHECKING:
    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.groups.coordinator import Coordinator
    from kwire.engine.groups.membership import Membership, Then
    from kwire.engine.ports import Services


class GroupOffsets:
    """See the text of the module. `fetches` also finds the positions of partitions that are new to the consumer."""

    def __init__(
        self,
        core: Services,
        settings: ConsumerSettings,
        coordinator: Coordinator,
        subscription: Subscription,
        membership: Membership,
        on_warning: Callable[[str], None],
    ) -> None:
        self.fetches = OffsetFetches(core, coordinator, membership, names_member=settings.group_protocol == "consumer")
        self._core = core
        self._subscription = subscription
        self._membership = membership
        self._on_warning = on_warning
        self._commits = Commits(core, coordinator, subscription, membership, self._on_stored)
        self._commits_by_itself = settings.enable_auto_commit
        self._interval = settings.auto_commit_interval_ms / 1000
        self._patience = settings.default_api_timeout_ms / 1000
        self._next_at: float | None = None
        self._running: Commit | None = None
        membership.before_revoke.append(self.before_revoke)

    def tell_commits(self, tell: OnConfirmed) -> None:
        """Has `tell` called with the offsets that the coordinator has confirmed, after each of its answers."""
        self._commits.on_confirmed = tell

    # -- by the user ------------------------------------------------------------------------------------------------

    committable = staticmethod(committable)

    def commit(
        self,
        rows: CommittableOffsets | None,
        now: float,
        deadline: float,
        on_done: OnDone | None = None,
        *,
        given: object = None,
    ) -> Call:
        """Commits these offsets, or all that was handed out: by that the caller says to be done with what precedes.

        `rows` is the callee's from now on; `given` is what the caller has named them by.
        """
        self._core.retry_refused(now)
        if rows is None:
            return self._commits.commit(self._take_all_for_finished(), now, deadline, on_done)
        late = why_not_alone(given, rows, self._subscription, is_member=self._membership.active)
        if late is None:
            self._take_for_finished(rows)
        return self._commits.commit(rows, now, deadline, on_done, late=late)

    def _take_all_for_finished(self) -> CommittableOffsets:
        """The positions that have moved; the caller is done with what precedes them."""
        moved = self._moved()
        for state in moved:
            state.unfinished = None
        return {state.tp: _row(state.delivered) for state in moved}

    def _take_for_finished(self, rows: CommittableOffsets) -> None:
        """The caller is done with what precedes these offsets; adds the leader epochs that are known."""
        states = self._subscription.states
        for tp, row in rows.items():
            state = states.get(tp)
            if state is None:
                continue
            position, epoch = state.delivered
            if position == row.offset:
                state.unfinished = None
                if row.leader_epoch is None and epoch >= 0:
                    rows[tp] = OffsetAndMetadata(row.offset, row.metadata, epoch)
            elif state.unfinished is not None and state.unfinished[0] < row.offset < position:
                state.unfinished = (row.offset, NO_EPOCH if row.leader_epoch is None else row.leader_epoch)

    def metadata(self) -> ConsumerGroupMetadata:
        """As whom transactions commit for this consumer."""
        return ConsumerGroupMetadata.of(self._membership, self._subscription)

    def committed(self, partitions: Collection[TopicPartition], now: float, deadline: float) -> Call:
        """What the group committed in these."""
        return CommittedCall(self._core, self.fetches, partitions, now, deadline)

    # -- automatic ------------------------------------------------------------------------------------------------

    def maybe_auto_commit(self, now: float) -> None:
        """A poll begins, or still waits: commits what is finished, when it is time."""
        if not self._commits_by_itself or (self._next_at is not None and now < self._next_at):
            return
        if self._next_at is not None and self._running is None:
            rows = self.finished()
            if rows:
                self._running = self._commits.commit(
                    rows, now, now + self._patience, self._on_auto_commit, leaves_out_deleted=True
                )
                if self._running.done:
                    self._running = None
        self._next_at = now + self._interval

    def before_revoke(self, partitions: Collection[TopicPartition], now: float, on_done: Then) -> None:
        """Partitions are about to go: calls on_done when what is finished is committed, and all commits are decided."""
        self._commit_last(now, now + self._patience, on_done)

    def on_close(self, now: float, deadline: float, on_done: Then) -> None:
        """The consumer closes: as `before_revoke`."""
        self._commit_last(now, deadline, on_done)

    def close(self) -> None:
        """Commits no more."""
        self._commits.close()

    def _commit_last(self, now: float, deadline: float, on_done: Then) -> None:
        rows = self.finished() if self._commits_by_itself else {}
        if not rows and self._commits.is_idle:
            on_done(now)
            return

        def ended(call: Call, now: float) -> None:
            self._warn_of(call)
            on_done(now)

        self._commits.commit(rows, now, deadline, ended, leaves_out_deleted=True)

    def _on_auto_commit(self, call: Call, now: float) -> None:
        """A rebalance that is about to end is not warned of: the next one makes up for it."""
        self._running = None
        if not (isinstance(call.error, BrokerError) and call.error.code == REBALANCE_IN_PROGRESS):
            self._warn_of(call)

    def _warn_of(self, call: Call) -> None:
        if call.error is not None:
            self._on_warning(f"automatic commit: {call.error}")

    # -- which offsets ----------------------------------------------------------------------------------------------

    def finished(self) -> CommittableOffsets:
        """The positions that have moved, as far as the caller is done."""
        places = [(state.tp, state.finished) for state in self._moved()]
        return {tp: _row(place) for tp, place in places if place[0] >= 0}

    def _moved(self) -> list[PartitionState]:
        moved, states = self._subscription.moved, self._subscription.states
        gone = [state for state in moved if states.get(state.tp) is not state]
        moved.difference_update(gone)
        return [state for state in moved if state.position >= 0]

    def _on_stored(self, confirmed: CommittableOffsets) -> None:
        moved, states = self._subscription.moved, self._subscription.states
        for tp, (offset, _, _) in confirmed.items():
            state = states.get(tp)
            if state in moved and state.position == offset:
                moved.discard(state)


def _row(place: tuple[int, int]) -> OffsetAndMetadata:
    offset, epoch = place
    return OffsetAndMetadata(offset, "", epoch if epoch >= 0 else None)
