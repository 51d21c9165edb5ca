"""Acknowledgements on their way to a broker, and the calls that wait for them.

Layer 3, no I/O. An `Acknowledgement` is about one partition and has one outcome: the broker answers for the partition
as a whole. Its listeners hear of that: an `AcknowledgementCommit`, the user's callback, the holder of records to be
renewed.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._typing import TYPE_CHECKING
from kwire.engine.calls.calls import Call, OnDone
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.share.acquired import RENEW, AckRange, AcquiredPartition, Portion
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Outcomes = dict[TopicPartition, KafkaError | None]
"""What became of the acknowledgements of each partition: None where the broker has taken them."""

OnOutcome = Callable[["Acknowledgement", KafkaError | None, float], None]


class Acknowledgement:
    """Acknowledgements for one partition. After `deadline` they are not sent again.

    `portion` is where the records to be renewed are from; `sent_at` is when the broker was told last.
    """

    __slots__ = ("_listeners", "deadline", "ended", "place", "portion", "ranges", "sent_at")

    def __init__(
        self, place: AcquiredPartition, ranges: list[AckRange], deadline: float, portion: Portion | None = None
    ) -> None:
        self.place = place
        self.ranges = ranges
        self.deadline = deadline
        self.portion = portion
        self.sent_at = 0.0
        self.ended = False
        self._listeners: list[OnOutcome] = []

    @property
    def renews(self) -> bool:
        """Whether it prolongs locks."""
        return any(each.kind == RENEW for each in self.ranges)

    def listen(self, listener: OnOutcome) -> None:
        """Has listener(self, error, now) called once."""
        self._listeners.append(listener)

    def end(self, error: KafkaError | None, now: float) -> None:
        """The broker has answered, or will not."""
        self.ended = True
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(self, error, now)


class AcknowledgementCommit(Call):
    """Waits for some acknowledgements; `outcomes` has what is known so far."""

    def __init__(
        self,
        core: Services,
        waited_for: list[Acknowledgement],
        deadline: float,
        now: float,
        on_done: OnDone | None = None,
    ) -> None:
        super().__init__(core, "commit of acknowledgements", deadline, on_done)
        self.outcomes: Outcomes = {}
        self._left = len(waited_for)
        for each in waited_for:
            each.listen(self._on_outcome)
        if not waited_for:
            self.succeed({}, now)

    def _on_outcome(self, about: Acknowledgement, error: KafkaError | None, now: float) -> None:
        self.outcomes[about.place.tp] = self.outcomes.get(about.place.tp) or error
        self._left -= 1
        if not self._left:
            self.succeed(self.outcomes, now)
