"""Whether the transaction before is complete: asked before the next one sends, where sending at once has cost time.

Layer 3, no I/O. With transaction.version 2, EndTxn is answered once the end is decided; the markers follow, within
milliseconds, and until they are written the coordinator takes no partition into the next transaction. A leader that
gets its first batch meanwhile keeps it, and tries again only after HELD_S (KAFKA-18575). So a producer whose first
batch came back that much later than an answer to EndTxn, soon after the end of a transaction, asks the coordinator for
the state, by DescribeTransactions, before the next first batch leaves: as long after the end as the transactions before
have shown to be enough, as a rule, and then again and again. It asks no more once as much time has gone into looks at
once that found nothing to wait for, in a row, as into a batch that is kept. After an error the batch leaves as it would
without a question; where no broker answers it, or not for this user, it is not asked again.
"""

from __future__ import annotations

from math import inf

HELD_S = 0.02
"""add.partitions.to.txn.retry.backoff.ms of a broker."""

SOON_S = 0.1
"""Seconds after which the markers are taken for written, and an answer for lost; a leader keeps no batch longer."""

_SHORTEST_S = 0.0001
"""A look that would be put off by less comes at once."""

_LATER, _EARLIER = 1.25, 0.9
"""By which the first look is put off when it came too early, or comes sooner when it did not: two of three do not."""

_PENDING = frozenset({"PrepareCommit", "PrepareAbort", "PrepareEpochFence"})


class Completion:
    """Of the transactions of one producer. While it `is_awaited` nothing is sent."""

    def __init__(self) -> None:
        self.is_awaited = False
        self.is_wanted = False
        """Something waits to be sent."""
        self._pays = False
        self._is_refused = False
        self._asked_at = 0.0
        self._looks = 0
        self._first_look_s = 0.0
        self._has_waited = False
        self._in_vain_s = 0.0
        self._end_asked_at = 0.0
        self._ended_at = -inf

    def begin(self, now: float) -> bool:
        """A transaction begins; whether the completion of the one before is awaited."""
        self._looks = 0
        self._has_waited = self.is_wanted = False
        self.is_awaited = self._pays and now - self._ended_at < SOON_S
        return self.is_awaited

    def may_ask_at(self, now: float) -> float:
        """When the question may leave: now, but for the first look."""
        at = self._ended_at + self._first_look_s
        if self._looks or self._first_look_s < _SHORTEST_S or at <= now:
            return now
        self._has_waited = True
        return at

    def asked(self, now: float) -> None:
        """The question leaves."""
        self._asked_at = now

    def is_pending(self, state: str, now: float) -> bool:
        """Whether the transaction before is still being ended, as the answer has it."""
        self._looks += 1
        is_first = self._looks == 1
        if state in _PENDING:
            self._in_vain_s = 0.0
            if is_first:
                self._first_look_s = min(_LATER * max(self._first_look_s, _SHORTEST_S), HELD_S)
            return True
        if is_first and self._has_waited:
            self._first_look_s *= _EARLIER
        elif is_first:
            self._count_in_vain(now)
        return False

    def skip(self, now: float) -> None:
        """There is no answer, this time."""
        self._count_in_vain(now)

    def _count_in_vain(self, now: float) -> None:
        self._in_vain_s += now - self._asked_at
        self._pays = self._in_vain_s < HELD_S and not self._is_refused

    def refuse(self) -> None:
        """The question is not answered, and will not be: it is not asked again."""
        self._is_refused = True
        self._pays = False

    def end_asked(self, now: float) -> None:
        """EndTxn leaves."""
        self._end_asked_at = now

    def ended(self, sent_at: float, answered_at: float, now: float) -> None:
        """It was answered; the first Produce of the transaction was sent and answered then (0: there was none)."""
        if answered_at and not self._looks and sent_at - self._ended_at < SOON_S:
            excess = (answered_at - sent_at) - (now - self._end_asked_at)
            self._pays = excess >= HELD_S and not self._is_refused
            self._in_vain_s = 0.0
        self.is_awaited = False
        self._ended_at = now
