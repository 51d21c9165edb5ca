"""A consumer's part in its group, put together: membership, offsets, rebalances, and where their log lines go.

Layer 5, below the clients: the logic is in `kwire.engine.groups`; this file is loaded where there is a group_id.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kwire._typing import TYPE_CHECKING, Any
from kwire.drivers.callbacks import CallbacksInOrder
from kwire.drivers.loggers import LateLogger
from kwire.engine.groups.group_offsets import GroupOffsets
from kwire.engine.groups.opening import open_membership
from kwire.engine.groups.rebalances import Rebalances
from kwire.fronts.group_lines import write_lines_of

if TYPE_CHECKING:
    from kwire.engine.calls.calls import Call, OnDone
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.common.waits import Door
    from kwire.engine.consumer.fetcher import Fetcher
    from kwire.engine.core import Core
    from kwire.engine.settings.clients import ConsumerSettings
    from kwire.errors import KafkaError

    CommitCallback = Callable[[dict[TopicPartition, OffsetAndMetadata], KafkaError | None], object]
    BeginCommit = Callable[..., Call]
    """begin(now, deadline, on_done=None) begins a commit."""

_log = LateLogger("kwire.clients")


class Group:
    """The membership of one consumer, and what goes with it."""

    def __init__(self, core: Core, settings: ConsumerSettings, fetcher: Fetcher, door: Door) -> None:
        after_step = core.after_step

        def warn(text: str) -> None:  # no method: what the engine holds must not keep an unclosed consumer alive
            after_step.append(partial(_log.warning, "%s", text))

        self._fetcher = fetcher
        self._after_step = after_step
        self.callbacks = CallbacksInOrder()
        self.membership = membership = open_membership(core, settings, fetcher.subscription)
        membership.warn = warn
        write_lines_of(membership.log, after_step)
        self.offsets = GroupOffsets(core, settings, membership.coordinator, fetcher.subscription, membership, warn)
        fetcher.begin_in_group(self.offsets.fetches)
        self.rebalances = Rebalances(door, fetcher, membership, self.offsets)

    def committing(self, what: object) -> BeginCommit:
        """What begins the commit; ConfigError for what cannot be committed."""
        rows = self.offsets.committable(what)

        def begin(now: float, deadline: float, on_done: OnDone | None = None) -> Call:
            self._fetcher.settle()
            return self.offsets.commit(rows, now, deadline, on_done, given=what)

        return begin

    def on_committed(self, callback: CommitCallback | None) -> OnDone:
        """What tells the callback, when a commit is decided, in the order of the commits and outside the core."""

        def tell(call: Any, now: float) -> None:
            if callback is not None:
                self.callbacks.add(partial(_run_callback, callback, call.rows, call.error))
                self._after_step.append(self.callbacks.run)

        return tell


def _run_callback(function: CommitCallback, rows: Any, error: KafkaError | None) -> None:
    """Calls a user's callback; what it raises is logged."""
    try:
        function(rows, error)
    except Exception:
        _log.exception("a commit callback raised")
