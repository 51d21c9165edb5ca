"""What a consumer's calls do for its group: call the rebalance listener, and leave.

Layer 3, no I/O: generators of `kwire.engine.common.waits`. Which events there are is the membership's business
(`membership.py`); partitions change hands while such a wait runs, and at no other time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.common.waits import Tell, Until
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.consumer.fetcher import Fetcher
    from kwire.engine.groups.group_offsets import GroupOffsets
    from kwire.engine.groups.membership import Membership, RebalanceEvent, Then

_INSTEAD = {"on_lost": "on_revoked"}
"""What a listener that has no method of the first name is called by."""


class Rebalances:
    """Of one consumer. `listener` is what `subscribe` was given last."""

    def __init__(self, door: Door, fetcher: Fetcher, membership: Membership, offsets: GroupOffsets) -> None:
        self._door = door
        self._fetcher = fetcher
        self._membership = membership
        self._offsets = offsets
        self.listener: object = None

    # -- in a poll --------------------------------------------------------------------------------------------------

    def follow(self) -> Wait[bool]:
        """Does what the group wants done before the poll goes on; whether there was anything. Raises what the listener
        raised."""
        if not self._membership.has_event:
            return False
        failure = yield from self._tell_all()
        if failure is not None:
            raise failure
        return True

    def end_failed_poll(self) -> None:
        """A failed poll ends the poll, too: max_poll_interval_ms starts to count."""
        self._door.clean_up(self._membership.end_poll)

    def _tell_all(self) -> Wait[KafkaError | None]:
        """Calls the listener for all events; the first error that it raised."""
        door, membership = self._door, self._membership
        failure: KafkaError | None = None
        while (event := door.call(membership.next_event)) is not None:
            handler = self._handler(event)
            error: Exception | None = None
            if handler is not None:
                error = yield Tell(handler, list(event.partitions))
            if error is not None:
                failure = failure or _listener_error(event, error)
            door.call(partial(membership.event_done, event, error))
        return failure

    def _handler(self, event: RebalanceEvent) -> Callable[[Any], Any] | None:
        """What the listener has for the event."""
        name = f"on_{event.kind}"
        found = getattr(self.listener, name, None)
        if found is None and name in _INSTEAD:
            found = getattr(self.listener, _INSTEAD[name], None)
        return found

    # -- the end ----------------------------------------------------------------------------------------------------

    def leave_in_order(self, until: float) -> Wait[None]:
        """Gives all partitions back, what is finished committed and the listener called, and leaves."""
        failure = yield from self._give_back(until, _nothing)
        if failure is not None:
            raise failure

    def leave_at_once(self) -> None:
        """Leaves while another call is in progress, which cannot be waited for, or where nothing can be."""
        if self._membership.active:
            self._door.clean_up(lambda now: self._membership.leave(now, _nothing))

    def close(self, until: float) -> Wait[None]:
        """Commits what is finished, leaves, and waits for the answers: of partitions that the program has assigned to
        itself, too; the membership commits those that the group assigned."""
        failure, over = None, list[float]()
        if self._membership.active:
            failure = yield from self._give_back(until, over.append)
        else:
            self._door.call(partial(self._begin_last_commit, until, over.append))
        yield Until(lambda: bool(over), max(until - self._door.now(), 0.0))
        if failure is not None:
            raise failure

    def _give_back(self, until: float, on_left: Then) -> Wait[KafkaError | None]:
        """Gives all partitions back and leaves, also where the listener raises: returns its first error."""
        door, membership = self._door, self._membership
        failure: KafkaError | None = None
        door.check_may_tell()
        try:
            door.call(self._begin_to_leave)
            while not membership.can_leave and (left := until - door.now()) > 0:
                yield Until(lambda: membership.has_event or membership.can_leave, left)
                failure = (yield from self._tell_all()) or failure
        finally:
            door.clean_up(lambda now: membership.leave(now, on_left))
        return failure

    def _begin_to_leave(self, now: float) -> None:
        self._fetcher.settle()
        self._membership.unsubscribe(now)

    def _begin_last_commit(self, until: float, on_done: Then, now: float) -> None:
        self._fetcher.settle()
        self._offsets.on_close(now, until, on_done)


def _listener_error(event: RebalanceEvent, cause: Exception) -> KafkaError:
    error = KafkaError(f"the listener's on_{event.kind} raised {type(cause).__name__}: {cause}")
    error.__cause__ = cause
    return error


def _nothing(now: float) -> None:
    """Nobody waits for the answer."""
