"""What both consumers share of their group: the subscription, and the listener's calls.

Layer 5, below the clients: the logic of membership is in `kwire.engine.groups`, which is loaded where there is a
group_id. A listener runs inside a poll, `unsubscribe()` or `close()`, outside the core; meanwhile the consumer is in
use by the call that runs it, and lets the listener's own calls through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from kwire._typing import TYPE_CHECKING, Any, Never
from kwire.drivers.callbacks import CallbacksInOrder
from kwire.drivers.loggers import LateLogger
from kwire.engine.calls import arguments
from kwire.engine.common import absent
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import ConcurrentUseError, ConfigError, KafkaError
from kwire.fronts.front import Front
from kwire.fronts.group_lines import write_lines_of

if TYPE_CHECKING:
    from re import Pattern

    from kwire.engine.common.topic_pattern import TopicPattern
    from kwire.engine.consumer.polling import Polling
    from kwire.engine.groups.group_offsets import GroupOffsets
    from kwire.engine.groups.membership import Membership, RebalanceEvent

_INSTEAD = {"on_lost": "on_revoked"}
"""What a listener that has no method of the first name is called by."""

_log = LateLogger("kwire.clients")


class Rebalances(Front[ConsumerSettings]):
    """The base of `ConsumerFront`; `_membership` is None without a group_id."""

    _fetcher: Fetcher
    _polling: Polling
    _membership: Membership | None
    _group_offsets: GroupOffsets | None
    _callbacks: CallbacksInOrder
    _listener: object
    _listening: object

    def _open_group(self) -> None:
        self._membership = None
        self._group_offsets = None
        self._callbacks = CallbacksInOrder()
        self._listener = None
        self._listening = None
        if self.settings.group_id is None:
            return
        from kwire.engine.groups.group_offsets import GroupOffsets
        from kwire.engine.groups.opening import open_membership

        subscription, after_step = self._fetcher.subscription, self._core.after_step
        membership = open_membership(self._core, self.settings, subscription)

        def warn(text: str) -> None:  # no method: what the engine holds must not keep an unclosed consumer alive
            after_step.append(partial(_log.warning, "%s", text))

        membership.warn = warn
        write_lines_of(membership.log, after_step)
        self._membership = membership
        self._group_offsets = GroupOffsets(
            self._core, self.settings, membership.coordinator, subscription, membership, warn
        )
        self._fetcher.begin_in_group(self._group_offsets.fetches)

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | Pattern[str] | None = None,
        listener: object = None,
        **unknown: Never,
    ) -> None:
        """Reads these topics, or those whose whole names match the pattern, also those that are added later: all of
        their partitions, or with a `group_id` those that the group assigns. Not together with `assign`.

        `listener` has `on_assigned(partitions)`, `on_revoked(partitions)` and `on_lost(partitions)`, or some of them:
        called inside `poll()`, before partitions are read, while positions may still be committed, and when it is too
        late for that (by `on_revoked` where there is no `on_lost`).
        """
        absent.refuse_keywords("subscribe", unknown, absent.SUBSCRIBE_KEYWORDS)
        names, wanted = arguments.topics_or_pattern(topics, pattern)
        arguments.check_listener(listener)
        membership = self._membership
        if membership is None:
            matches = None if wanted is None else self._pattern(wanted)
            self._call(lambda now: self._fetcher.subscription.subscribe(names, now, matches))
            return
        if not names and wanted is None:
            if membership.active:
                self.unsubscribe()
            else:
                self.assign([])
            return

        def work(now: float) -> None:
            membership.subscribe(None if wanted is not None else tuple(names), wanted, now)
            self._listener = listener

        self._call(work)

    def _pattern(self, text: str) -> TopicPattern:
        from kwire.engine.common.topic_pattern import TopicPattern

        return TopicPattern(text, exclude_internal=self.settings.exclude_internal_topics)

    def subscription(self) -> set[str]:
        """The topics subscribed to: those named, or those known to match the pattern. Where the coordinator matches it
        (group_protocol="consumer"), those of which it has assigned partitions to this member."""
        subscription = self._fetcher.subscription
        found: set[str] = self._call(lambda now: set(subscription.matched_or_named))
        return found

    def enforce_rebalance(self, reason: str = "the program calls for it") -> None:
        """Has the group assign its partitions anew; the next poll begins that."""
        membership = self._require_group("enforce_rebalance")
        if not membership.active:
            raise ConfigError("enforce_rebalance() needs a subscription: call subscribe() first")
        self._call(lambda now: membership.rejoin(reason, now))

    def _require_group(self, what: str) -> Membership:
        if self._membership is None:
            raise ConfigError(f"{what}() needs a consumer group: give the consumer a group_id")
        return self._membership

    def _end_failed_poll(self) -> None:
        """A poll that raises is over, too: the program is at work, and max_poll_interval_ms counts."""
        if self._membership is not None and not self._closed:
            self._step(self._membership.end_poll)

    def _begin_to_leave(self, now: float) -> None:
        self._fetcher.settle()
        if self._membership is not None:
            self._membership.unsubscribe(now)

    def _begin_last_commit(self, until: float, on_done: Callable[[float], None], now: float) -> None:
        """Commits what is finished of partitions that the program has assigned to itself; the membership does it for
        those that the group assigned."""
        self._fetcher.settle()
        if self._group_offsets is not None:
            self._group_offsets.on_close(now, until, on_done)

    # -- the listener -----------------------------------------------------------------------------------------------

    def _handler(self, event: RebalanceEvent) -> Callable[[Any], Any] | None:
        """What the listener has for the event."""
        name = f"on_{event.kind}"
        found = getattr(self._listener, name, None)
        if found is None and name in _INSTEAD:
            found = getattr(self._listener, _INSTEAD[name], None)
        return found

    def _check_may_listen(self) -> None:
        if self._listening is not None:
            raise ConcurrentUseError("a rebalance listener may not poll or unsubscribe: it runs inside a poll")

    @staticmethod
    def _listener_error(event: RebalanceEvent, cause: Exception) -> KafkaError:
        error = KafkaError(f"the listener's on_{event.kind} raised {type(cause).__name__}: {cause}")
        error.__cause__ = cause
        return error

    # -- for the subclass to define ---------------------------------------------------------------------------------

    def unsubscribe(self) -> Any:
        """Reads nothing any more, and leaves the group."""
        raise NotImplementedError

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Reads exactly these partitions."""
        raise NotImplementedError

    def _call(self, work: Callable[[float], Any]) -> Any:
        """Does the work with the core to itself, unless another call is in progress."""
        raise NotImplementedError
