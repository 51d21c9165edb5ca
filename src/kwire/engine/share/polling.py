"""The polls of a ShareConsumer, and what its caller holds: acknowledging, committing, closing.

Layer 3, no I/O; used with the core to itself. `waits.py` has the order of a poll's calls: `begin`, until `ready()`,
`check` now and then, `take`, `end`. The front sets `arrived` when the caller has the records.

    implicit   a poll, or a commit, accepts all records of the poll before it that were not acknowledged otherwise
    explicit   a poll raises ConfigError while a record of an earlier one is not acknowledged
    renewed    the next poll hands the record out again, with its lock begun anew. Brokers take it for renewed, too,
               where another member has accepted it since its lock ran out: so it is only believed in time
    order      what is locked for the shortest time comes first, renewed or not
    closing    releases what is not acknowledged; subscribing to other topics, what waits of those before

    unreadable a record that a deserializer cannot read is in the caller's hands, noted as released, once its error is
               raised; those after it wait for the next poll

Records that a poll took and whose caller never got them (Ctrl-C) are handed out again; none of them is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kwire._codec import ConsumerRecord
from kwire._typing import TYPE_CHECKING
from kwire.engine.calls.calls import OnDone
from kwire.engine.calls.lookup import GROUP
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.retry import afresh
from kwire.engine.common.topic_totals import TopicTotals
from kwire.engine.consumer.poll_patience import PollPatience
from kwire.engine.groups.coordinator import Coordinator
from kwire.engine.share.acknowledging import Acknowledgement, AcknowledgementCommit, Outcomes
from kwire.engine.share.acquired import ACCEPT, RELEASE, RENEW, AckRange, Portion, split
from kwire.engine.share.fetcher import ShareFetcher
from kwire.engine.share.membership import ShareMembership
from kwire.engine.share.records import ShareRecords
from kwire.errors import ConfigError, KafkaError, SerializationError
from kwire.errors.listing import counted
from kwire.errors.wording import Wording

if TYPE_CHECKING:
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ShareConsumerSettings

OnAcknowledged = Callable[[dict[TopicPartition, set[int]], KafkaError | None], None]
"""A user's callback(offsets, error): what became of some acknowledgements."""

OnCommitted = Callable[[Outcomes], None]
"""A user's callback(outcomes): what became of one commit."""


class SharePolling:
    """What one ShareConsumer does. `woken` makes the current poll, or the next one, return at once with nothing.

    `run_callback(function, *arguments)` has a user's function called outside the lock.

    polled_at  when the last poll began; `consumed`: how many records of each topic polls have handed out
    _handed    portions of the last poll, of which it is not known yet whether they arrived
    _held      portions in the caller's hands
    _again     portions to be handed out again
    """

    def __init__(self, core: Services, settings: ShareConsumerSettings, run_callback: Callable[..., object]) -> None:
        self._core = core
        self._run = run_callback
        self._settings = settings
        self._is_explicit = settings.share_acknowledgement_mode == "explicit"
        self._commit_timeout = settings.default_api_timeout_ms / 1000
        self._patience = PollPatience(core.cluster, self._commit_timeout)
        self._coordinator = Coordinator(core, GROUP, settings.group_id)
        self._fetcher = ShareFetcher(core, settings)
        self.throttling = self._fetcher.throttling
        self.membership = ShareMembership(core, settings, self._coordinator, self._fetcher.pump)
        self._fetcher.membership = self.membership
        self._handed: list[Portion] = []
        self._held: list[Portion] = []
        self._again: list[Portion] = []
        self._is_polling = False
        self.arrived = False
        self.polled_at = 0.0
        self.consumed = TopicTotals(lambda: self.membership.topics)
        self.woken = False
        self.on_acknowledged: OnAcknowledged | None = None

    # -- what is read -----------------------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], now: float) -> None:
        """Reads these topics from the next poll on."""
        cluster = self._core.cluster
        cluster.untrack([topic for topic in self.membership.topics if topic not in topics], owner=self)
        cluster.track(topics, now, owner=self)
        self.membership.subscribe(topics, now)
        self._release_unsubscribed(now)

    def unsubscribe(self, now: float, on_done: Callable[[float], None]) -> None:
        """Leaves the group; what the caller holds may still be acknowledged."""
        self._core.cluster.untrack(self.membership.topics, owner=self)
        self.membership.leave(now, on_done)
        self._release_unsubscribed(now)

    def _release_unsubscribed(self, now: float) -> None:
        """No poll hands out records of topics that are not subscribed to any more: others may have them."""
        topics = self.membership.topics
        gone = [portion for portion in self._again if portion.place.tp.topic not in topics]
        self._again = [portion for portion in self._again if portion.place.tp.topic in topics]
        self._fetcher.release_unsubscribed(gone, now)

    @property
    def lock_ms(self) -> int | None:
        """How long records are locked for this member, as the brokers last said."""
        return self._fetcher.lock_ms

    # -- polls ------------------------------------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """Begins a poll; ConfigError while nothing is subscribed to or, in explicit mode, not all is acknowledged."""
        self._settle()
        self.polled_at = now
        if not self.membership.topics:
            raise ConfigError("there is nothing to poll: call subscribe() first")
        self._check_acknowledged()
        self._acknowledge_held(now)
        self._again += [rest for portion in self._held if portion.unacknowledged for rest in portion.rest()]
        self._again = [portion for portion in self._again if not self._fetcher.is_over(portion.acquired, now)]
        self._held = []
        self._release_unsubscribed(now)
        self._is_polling = True
        self._patience.begin(now)
        self.membership.poll(now)
        self._fetcher.drop_late(now)
        self._want(now)

    def _want(self, now: float) -> None:
        self._fetcher.wanted = not (self._again or self._fetcher.has_something)
        self._fetcher.pump(now)

    def _settle(self) -> None:
        """What the last poll handed out is in the caller's hands, or never got there."""
        if self.arrived:
            self._held += self._handed
        else:
            self._again = self._handed + self._again
        self._handed = []
        self.arrived = False

    def _check_acknowledged(self) -> None:
        left = sum(portion.unacknowledged for portion in self._held if not portion.renewed)
        if self._is_explicit and left:
            raise ConfigError(
                Wording(
                    "{left} of earlier polls not acknowledged; acknowledge() each of them before the next poll, or set "
                    "{share_acknowledgement_mode}='implicit'",
                    left=counted(left, "record"),
                )
            )

    def ready(self) -> bool:
        """Whether the poll may return."""
        return (
            self.woken
            or bool(self._again)
            or self._fetcher.has_something
            or self.membership.fault is not None
            or (self._core.refused and self._core.refusal is not None)
        )

    def take(self, max_records: int | None, now: float) -> ShareRecords:
        """Takes the records that the poll returns; raises an error that comes before them."""
        woken, self.woken = self.woken, False
        if woken:
            return ShareRecords()
        if not self.ready():
            self.check(now)
        fault = self.membership.take_fault()
        if fault is not None:
            raise fault
        limit = self._settings.max_poll_records
        limit = limit if max_records is None else min(max_records, limit)
        if not self._again or min(map(_locked_until, self._again)) > self._fetcher.locked_until:
            self._handed = self._fetcher.take(limit, now)
        if not self._handed:
            self._handed = self._take_again(limit)
        if not self._handed and self._core.refused and self._core.refusal is not None:
            raise afresh(self._core.refusal)
        for portion in self._handed:
            self.consumed.add(portion.place.tp.topic, len(portion.records))
        return _records_of(self._handed)

    def _take_again(self, count: int) -> list[Portion]:
        """Records that were renewed or did not arrive, `count` at most: one piece of each partition, the others with
        the next poll."""
        pieces: dict[TopicPartition, Portion] = {}
        for portion in sorted(self._again, key=_locked_until):
            pieces.setdefault(portion.place.tp, portion)
        chosen = list(pieces.values())
        taken, rest = split(chosen, count)
        self._again = rest + [portion for portion in self._again if portion not in chosen]
        return taken

    def limit(self, count: int) -> None:
        """Of the records taken the caller gets the first `count` only; the others wait again."""
        self._handed, rest = split(self._handed, count)
        self._give_back(rest)

    def release_first(self) -> None:
        """The first record taken cannot be read: it is released, unless it is acknowledged otherwise."""
        first, rest = split(self._handed, 1)
        for portion in first:
            portion.acknowledge(portion.records[0].offset, RELEASE)
        self._held += first
        self._handed = []
        self._give_back(rest)

    def _give_back(self, rest: list[Portion]) -> None:
        for portion in rest:
            self.consumed.add(portion.place.tp.topic, -len(portion.records))
        self._again = rest + self._again

    def end(self, now: float) -> None:
        """The poll has ended: nothing more is acquired before the next one."""
        self._is_polling = self._fetcher.wanted = False
        self.membership.end_poll(now)

    def check(self, now: float) -> None:
        """Looks on while a poll waits: raises what makes waiting any longer useless."""
        self.membership.poll(now)
        self._patience.check_brokers(now)
        self._patience.check_topics(self.membership.topics, self._core, now)

    # -- acknowledging ----------------------------------------------------------------------------------------------

    def acknowledge(self, records: Iterable[ConsumerRecord | SerializationError], kind: int) -> None:
        """Notes what became of records that the caller holds; ConfigError for one that it does not hold."""
        self._settle_if_arrived()
        for record in records:
            portion = self._portion_of(record)
            assert record.offset is not None
            portion.acknowledge(record.offset, kind)

    def _settle_if_arrived(self) -> None:
        if self.arrived:
            self._settle()

    def _portion_of(self, record: ConsumerRecord | SerializationError) -> Portion:
        place = (record.topic, record.partition)
        for portion in self._held:
            if portion.place.tp == place and record.offset is not None and portion.holds(record.offset):
                return portion
        raise ConfigError(
            f"{record.topic}-{record.partition}, offset {record.offset}: only a record that a poll returned and that "
            "was not acknowledged by a commit or an earlier poll can be acknowledged"
        )

    def commit(self, now: float, deadline: float, on_done: OnDone | None = None) -> AcknowledgementCommit:
        """Tells the brokers what is acknowledged; in implicit mode, accepts the rest of the last poll first."""
        self._settle_if_arrived()
        sent = self._acknowledge_held(now, deadline)
        call = AcknowledgementCommit(self._core, sent, deadline, now, on_done)
        self._fetcher.pump(now)
        return call

    def commit_async(self, callback: OnCommitted | None, now: float) -> None:
        """As `commit`, and does not wait: `callback` is called with what became of it."""

        def done(call: AcknowledgementCommit, now: float) -> None:
            if callback is not None:
                self._run(callback, call.outcomes)

        self.commit(now, now + self._commit_timeout, done)

    def _acknowledge_held(self, now: float, deadline: float | None = None) -> list[Acknowledgement]:
        """Sends the acknowledgements of what the caller holds."""
        sent: list[Acknowledgement] = []
        until = now + self._commit_timeout if deadline is None else deadline
        for portion in self._held:
            only_noted = self._is_explicit or portion.renewed
            ranges = portion.take_acknowledged() if only_noted else portion.take_all(ACCEPT)
            if ranges:
                sent.append(self._acknowledgement(portion, ranges, until))
        self._held = [portion for portion in self._held if portion.unacknowledged]
        self._fetcher.acknowledge(sent, now)
        return sent

    def _acknowledgement(self, portion: Portion, ranges: list[AckRange], until: float) -> Acknowledgement:
        made = Acknowledgement(portion.place, ranges, until, portion)
        made.listen(self._on_outcome)
        return made

    def _on_outcome(self, about: Acknowledgement, error: KafkaError | None, now: float) -> None:
        portion = about.portion
        if error is None and about.renews and portion is not None and portion.acquired.until > now:
            until = about.sent_at + self.lock_ms / 1000 if self.lock_ms is not None else portion.acquired.until
            (self._again if self._is_polling else self._held).extend(portion.renew(about.ranges, until))
        if self.on_acknowledged is not None:
            offsets = {offset for each in about.ranges for offset in range(each.first, each.last + 1)}
            self._run(self.on_acknowledged, {about.place.tp: offsets}, error)

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self, now: float, on_done: Callable[[float], None]) -> None:
        """Tells what is acknowledged, has the rest released, and leaves the group; then calls on_done(now)."""
        self._settle_if_arrived()
        sent = []
        for portion in self._held:
            portion.kinds = {at: RELEASE if kind == RENEW else kind for at, kind in portion.kinds.items()}
            if ranges := portion.take_acknowledged():
                sent.append(self._acknowledgement(portion, ranges, float("inf")))
        self._held = []
        self._fetcher.acknowledge(sent, now)
        self._fetcher.close(now, lambda now: self.membership.leave(now, on_done))


def _locked_until(portion: Portion) -> float:
    return portion.acquired.until


def _records_of(portions: list[Portion]) -> ShareRecords:
    return ShareRecords(
        [(portion.place.tp, portion.records) for portion in portions],
        [(portion.place.tp, portion.counts) for portion in portions],
    )
