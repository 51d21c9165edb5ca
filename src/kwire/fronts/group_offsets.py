"""What both consumers share of their group's offsets: what a commit takes, and commits that nobody waits for.

Layer 5, below the clients: the logic is in `kwire.engine.groups`, which is loaded where there is a group_id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from kwire._typing import TYPE_CHECKING, Any, Never, TypeVar
from kwire.drivers.loggers import LateLogger
from kwire.engine.calls import arguments
from kwire.engine.common import absent
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import ConfigError, KafkaError
from kwire.fronts.front import Front

if TYPE_CHECKING:
    from kwire._codec import ConsumerRecord
    from kwire.drivers.callbacks import CallbacksInOrder
    from kwire.engine.calls.calls import Call, OnDone
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.consumer.records import ConsumerRecords
    from kwire.engine.groups.group_offsets import GroupOffsets
    from kwire.engine.groups.membership import GroupMetadata

    Place = TypeVar("Place", bound=tuple[str, int])
    Committable = ConsumerRecords | ConsumerRecord | Mapping[Place, int | OffsetAndMetadata] | None
    """`Committable[Place]` in a signature: a mapping's keys may be TopicPartitions or plain pairs."""
    CommitCallback = Callable[[dict[TopicPartition, OffsetAndMetadata], KafkaError | None], object]

_log = LateLogger("kwire.clients")


class GroupOffsetsFront(Front[ConsumerSettings]):
    """A part of `ConsumerFront`; `_group_offsets` is None without a group_id."""

    _fetcher: Fetcher
    _group_offsets: GroupOffsets | None
    _callbacks: CallbacksInOrder

    def commit_async(
        self, what: Committable[Place] = None, *, callback: CommitCallback | None = None, **unknown: Never
    ) -> None:
        """As `commit`, without waiting: `callback(offsets, error)` is called when it is decided, with None for success,
        by the thread or loop that drives this consumer, and not under its lock; callbacks come in the order of the
        calls, and before a later `commit` returns. Commits are sent in that order, too, and repeated where that may
        help, but never after a later one: the last one wins."""
        absent.refuse_keywords("commit_async", unknown, absent.COMMIT_KEYWORDS)
        if callback is not None and not callable(callback):
            raise ConfigError(f"callback={callback!r}: a function of the offsets and the error is needed, or None")
        begin = self._committing(what, "commit_async")
        patience = self._patience(None)

        def tell(call: Any, now: float) -> None:
            if callback is not None:
                self._callbacks.add(partial(_run_callback, callback, call.rows, call.error))
                self._core.after_step.append(self._callbacks.run)

        self._call(lambda now: begin(now, now + patience, tell))

    def group_metadata(self) -> GroupMetadata:
        """How the group knows this consumer: for `Producer.send_offsets_to_transaction`. A member that has lost its
        partitions is named by what it was until polls have joined anew, and may commit nothing by that; a consumer that
        has called `assign()` is no member. CommitFailedError before the first join, ConfigError without a subscription.
        """
        offsets = self._require_offsets("group_metadata")
        found: GroupMetadata = self._call(lambda now: offsets.metadata())
        return found

    def _committing(self, what: object, name: str) -> Callable[..., Call]:
        """What begins the commit, as (now, deadline, on_done=None); ConfigError for what cannot be committed."""
        offsets = self._require_offsets(name)
        rows = offsets.committable(what)

        def begin(now: float, deadline: float, on_done: OnDone | None = None) -> Call:
            self._fetcher.settle()
            return offsets.commit(rows, now, deadline, on_done, given=what)

        return begin

    def _fetching_committed(self, partitions: Iterable[tuple[str, int]]) -> Callable[[float, float], Call]:
        offsets = self._require_offsets("committed")
        wanted = arguments.partitions(partitions)
        return lambda now, deadline: offsets.committed(wanted, now, deadline)

    def _require_offsets(self, what: str) -> GroupOffsets:
        if self._group_offsets is None:
            raise ConfigError(f"{what}() needs a consumer group: give the consumer a group_id")
        return self._group_offsets

    def _settled_assignment(self, now: float) -> list[TopicPartition]:
        self._fetcher.settle()
        return list(self._fetcher.subscription.states)

    # -- for the subclass to define ---------------------------------------------------------------------------------

    def _call(self, work: Callable[[float], Any]) -> Any:
        """Does the work with the core to itself, unless another call is in progress."""
        raise NotImplementedError


def _run_callback(function: CommitCallback, rows: Any, error: KafkaError | None) -> None:
    """Calls a user's callback; what it raises is logged."""
    try:
        function(rows, error)
    except Exception:
        _log.exception("a commit callback raised")
