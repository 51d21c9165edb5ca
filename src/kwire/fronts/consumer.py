"""What both consumers share: everything that only sets what is read, and from where. What waits is each one's own.

Layer 5, below the clients: puts the engine's fetcher on a front; fetching itself is in `kwire.engine.consumer.fetcher`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial

from kwire._typing import TypeVar, override
from kwire.drivers.loggers import LateLogger
from kwire.engine.calls import arguments
from kwire.engine.calls.offsets import EARLIEST, LATEST
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.consumer.polling import Polling
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import ConfigError
from kwire.fronts.alone import Alone
from kwire.fronts.group_offsets import GroupOffsetsFront
from kwire.fronts.rebalances import Rebalances

Partition = tuple[str, int]
Where = int | datetime | str
T = TypeVar("T")
At = TypeVar("At", bound=Partition)
Until = TypeVar("Until", bound=Partition)

_log = LateLogger("kwire.clients")


class ConsumerFront(Alone[ConsumerSettings], Rebalances, GroupOffsetsFront):
    """The base of the consumers; one caller at a time."""

    def _open_fetcher(self, max_decoded: int | None = None) -> None:
        after_step = self._core.after_step
        self._fetcher = Fetcher(
            self._core,
            self.settings,
            lambda text: after_step.append(partial(_log.warning, "%s", text)),
            max_decoded,
        )
        self._open_group()
        self._polling = Polling(self._core, self.settings, self._fetcher, self._membership, self._group_offsets)
        self._used = False

    # -- what is read -----------------------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[Partition],
        *,
        at: Mapping[At, Where] | None = None,
        until: Mapping[Until, int] | None = None,
    ) -> None:
        """Reads exactly these partitions. Those already assigned keep their positions.

        `at` says where reading begins, as a `seek` for each would: an offset (int), a time (datetime), "earliest" or
        "latest". `until` has offsets at which it ends: records from there on are neither fetched nor returned.
        """
        wanted = arguments.partitions(partitions)
        starts = {tp: arguments.position(tp, where) for tp, where in arguments.by_partition(at, "at").items()}
        offsets = {tp: offset for tp, (offset, _) in starts.items() if offset is not None}
        times = {tp: when for tp, (_, when) in starts.items() if when is not None}
        ends = {tp: arguments.offset(tp, end, "until") for tp, end in arguments.by_partition(until, "until").items()}
        for name, given in (("at", starts), ("until", ends)):
            if foreign := sorted(given.keys() - set(wanted)):
                raise ConfigError(f"{name} names {foreign[0]}, which is not among the partitions to assign")

        if self._membership is not None and self._membership.active:
            raise ConfigError("assign() does not go with subscribe() in a group: call unsubscribe() first")

        def work(now: float) -> None:
            subscription = self._fetcher.subscription
            if self._membership is not None and wanted:
                self._membership.stay_outside()
            subscription.assign(wanted, now, at=offsets, until=ends)
            for tp, when in times.items():
                subscription.state(tp).reset(when)
            if times:
                self._fetcher.pump(now)

        self._call(work)

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read; after `subscribe`, those known so far."""
        return self._call(lambda now: set(self._fetcher.subscription.states))

    def done(self) -> bool:
        """Whether every assigned partition has reached the offset given as `until`."""
        return self._call(lambda now: self._fetcher.subscription.done)

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Returns no records of these until `resume`; what was fetched already is kept."""
        self._set_paused(partitions, True)

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Reads these again."""
        self._set_paused(partitions, False)

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return self._call(lambda now: {tp for tp, state in self._fetcher.subscription.states.items() if state.paused})

    def _set_paused(self, partitions: Iterable[Partition], paused: bool) -> None:
        chosen = arguments.partitions(partitions)

        def work(now: float) -> None:
            for state in self._fetcher.subscription.chosen(chosen):
                state.paused = paused
            self._fetcher.pump(now)

        self._call(work)

    # -- positions --------------------------------------------------------------------------------------------------

    def seek(self, partition: Partition, where: Where) -> None:
        """The next record of an assigned partition is to be that of an offset (int), of a time (datetime), or
        "earliest" or "latest". Looked up, where it must be, with the next poll."""
        tp = arguments.partition(partition)
        offset, when = arguments.position(tp, where)

        def work(now: float) -> None:
            state = self._fetcher.subscription.state(tp)
            if offset is not None:
                state.seek(offset)
            elif when is not None:
                state.reset(when)
            self._fetcher.pump(now)

        self._call(work)

    def seek_to_beginning(self, partitions: Iterable[Partition] | None = None) -> None:
        """The next records are the first there are, of these partitions or of all."""
        self._seek_all(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[Partition] | None = None) -> None:
        """The next records are those written from now on, of these partitions or of all."""
        self._seek_all(partitions, LATEST)

    def _seek_all(self, partitions: Iterable[Partition] | None, when: int) -> None:
        chosen = None if partitions is None else arguments.partitions(partitions)

        def work(now: float) -> None:
            for state in self._fetcher.subscription.chosen(chosen):
                state.reset(when)
            self._fetcher.pump(now)

        self._call(work)

    @property
    def _isolation(self) -> str:
        return self.settings.isolation_level

    # -- help -------------------------------------------------------------------------------------------------------

    @override
    def _beside(self, work: Callable[[], T]) -> T:
        """As the base; the listener's own calls are let through."""
        if self._is_listener():
            self._check_open()
            return work()
        return super()._beside(work)

    @override
    def _call(self, work: Callable[[float], T]) -> T:
        """Does the work with the core to itself, after what the last poll returned was settled."""

        def settled(now: float) -> T:
            self._fetcher.settle()
            return work(now)

        return self._alone(lambda: self._step(settled))

    def _is_listener(self) -> bool:
        """Whether the call comes from the listener that runs."""
        raise NotImplementedError
