"""Producer id and epoch of an idempotent producer, and whether idempotence is on.

Layer 3, no I/O. With `enable_idempotence=None` the id is asked for where acks and pipelining allow it. A cluster that
does not offer InitProducerId, or does not allow it, gets plain batches, and the user one warning; so does a partition
whose log is in a format from before idempotence (sender.py). With True that is an error. An offer is known of one
connection only, and a broker that was silent for long may have been taken for an old one: as soon as a connection to a
leader offers InitProducerId, that broker is asked. Other errors in a response may pass, so the request is repeated.

States, and what may follow each, printed from MOVES:

    state    what it is                                               may be followed by
    OFF      batches are plain                                        ASKING
    WANTED   nothing is sent; an id is asked for with the next batch  ASKING
    ASKING   nothing is sent; InitProducerId is on its way            KNOWN, WANTED, OFF, REFUSED
    KNOWN    batches are numbered                                     WANTED
    REFUSED  batches fail                                             ASKING

A partition whose sequence cannot be continued, which sequences.pxi decides, begins again at 0 under a higher epoch. The
producer raises it by itself (KIP-360), or asks for a new id when there is no higher one. Brokers keep the state of each
partition by itself, so the other partitions keep their epoch. So does a partition whose numbers were forgotten, because
its topic was idle for long: all that begin after that do so under a higher epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kwire import protocol
from kwire._codec import ASKING, KNOWN, OFF, REFUSED, WANTED, IdempotenceBase, PartitionQueue
from kwire._typing import override
from kwire.engine.common.lifecycle import Lifecycle, Moves, State
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import ANY
from kwire.engine.common.retry import is_retriable
from kwire.engine.ports import Services
from kwire.errors import AuthError, BrokerError, KafkaError
from kwire.errors.broker import error_for
from kwire.schema.api_keys import INIT_PRODUCER_ID
from kwire.schema.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNSUPPORTED_VERSION,
)

_OFFERED = "a connection to a leader offers InitProducerId, which brokers before did not"

MOVES: Moves = {
    OFF: State("batches are plain", {ASKING: _OFFERED}),
    WANTED: State("nothing is sent; an id is asked for with the next batch", {ASKING: "a batch, after the backoff"}),
    ASKING: State(
        "nothing is sent; InitProducerId is on its way",
        {
            KNOWN: "answered",
            WANTED: "an error that may pass, or a step was interrupted",
            OFF: "not offered or not allowed, and not demanded by the user",
            REFUSED: "not to be had, and demanded by the user, or the client was closed",
        },
    ),
    KNOWN: State("batches are numbered", {WANTED: "there is no higher epoch for a partition: another id"}),
    REFUSED: State("batches fail", {ASKING: _OFFERED}),
}

UNSETTLED = frozenset({WANTED, ASKING})
"""In these states nothing may be sent."""

_STABLE_VERSIONS = range(6)
_FOR_GOOD = frozenset({CLUSTER_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION})
_MAX_EPOCH = 2**15 - 1


class Idempotence(IdempotenceBase, Lifecycle, Recoverable):
    """The producer id of one producer. `on_change(now)` is called when it becomes known, refused or not to be had.

    `required`: the user demands idempotence, so nothing goes out without it.
    """

    MOVES = MOVES

    def __init__(
        self,
        core: Services,
        enabled: bool | None,
        *,
        possible: bool,
        on_change: Callable[[float], None],
        on_warning: Callable[[str], None],
    ) -> None:
        self._core = core
        self.required = enabled is True
        self._on_change = on_change
        self._on_warning = on_warning
        self._failures = 0
        self._not_before = 0.0
        self.state = WANTED if enabled or (enabled is None and possible) else OFF
        self.error = None
        self.last_error: KafkaError | None = None
        self.not_offered = False
        self._warned = False
        self.producer_id = -1
        self.epoch = -1

    @override
    def ask(self, now: float) -> None:
        """Asks for an id unless that is in progress, needless, or was refused a moment ago."""
        if self.state == WANTED and now >= self._not_before:
            self._ask(ANY, now)

    @override
    def may_ask_again(self, node: int) -> bool:
        """Whether that broker offers what others, or it on an earlier connection, did not."""
        if not self.not_offered or self.state not in (OFF, REFUSED):
            return False
        versions = self._core.versions(node)
        return (
            versions is not None
            and versions.newest_common(INIT_PRODUCER_ID, _STABLE_VERSIONS[0], _STABLE_VERSIONS[-1]) is not None
        )

    @override
    def ask_again(self, node: int, now: float) -> None:
        """Asks that very broker."""
        self._ask(node, now)

    def _ask(self, target: int, now: float) -> None:
        self.move(ASKING)
        self.not_offered = False
        self._core.request(
            target,
            INIT_PRODUCER_ID,
            protocol.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1),
            self._on_answer,
            self._on_error,
            now,
            versions=_STABLE_VERSIONS,
        )

    def renew(self, queue: PartitionQueue, now: float) -> bool:
        """Another epoch for a partition that cannot go on under its own; False while a new id has to be asked for."""
        own = queue.sequences
        if self.state in UNSETTLED:
            self.ask(now)
            return False
        if self.state != KNOWN:
            own.renew(queue, -1, -1)
            return True
        if self._numbers(queue) and not self._raise_epoch():
            self.ask(now)
            return False
        own.renew(queue, self.producer_id, self.epoch)
        return True

    def end_sequences(self, queues: Iterable[PartitionQueue]) -> bool:
        """What begins in these partitions from now on does so under another epoch, so that nothing need be known of
        them; whether that can be."""
        if self.state == KNOWN and any(map(self._numbers, queues)):
            self._raise_epoch()
        return True

    def _numbers(self, queue: PartitionQueue) -> bool:
        """Whether the partition's batches are numbered under the present epoch."""
        return (queue.sequences.producer_id, queue.sequences.producer_epoch) == (self.producer_id, self.epoch)

    def _raise_epoch(self) -> bool:
        """False where there is no higher one: another id is wanted."""
        if self.epoch >= _MAX_EPOCH:
            self.move(WANTED)
            return False
        self.epoch += 1
        return True

    @override
    def recover(self, now: float) -> None:
        """After an interrupted step: a request gets no response, and no timer is left."""
        self._not_before = 0.0
        if self.state == ASKING:
            self.move(WANTED)

    def _on_answer(self, response: protocol.InitProducerIdResponse, version: int, now: float) -> None:
        if response.error_code:
            self._on_refusal(error_for(response.error_code, "InitProducerId"), now)
            return
        if response.producer_id < 0 or response.producer_epoch < 0:
            from kwire.engine.transactions.identity import without_id  # late: no broker says so

            self._ask_later(without_id(response), now)
            return
        self.producer_id = response.producer_id
        self.epoch = response.producer_epoch
        self.move(KNOWN)
        self.error = self.last_error = None
        self._failures = 0
        self._on_change(now)

    def _on_error(self, error: KafkaError, now: float) -> None:
        """No response: not connected, refused, or no broker supports InitProducerId."""
        if is_retriable(error) or isinstance(error, AuthError):
            self._ask_later(error, now)
        else:
            self.not_offered = isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION
            self._go_without(error, now)

    def _on_refusal(self, error: BrokerError, now: float) -> None:
        """A broker answered with an error."""
        if error.code in _FOR_GOOD:
            self._go_without(error, now)
        else:
            self._ask_later(error, now)

    def _ask_later(self, error: KafkaError, now: float) -> None:
        self.last_error = error
        self.move(WANTED)
        self._failures += 1
        self._not_before = now + self._core.retry_backoff.wait(self._failures)
        self._core.call_at(self._not_before, self.ask)

    def _go_without(self, error: KafkaError, now: float) -> None:
        if self.required or not isinstance(error, BrokerError):
            self.move(REFUSED)
            self.error = error
        else:
            self.move(OFF)
            if not self._warned:
                self._warned = True
                self._on_warning(f"idempotence is off, a retry may write a record twice: {error}")
        self._on_change(now)
