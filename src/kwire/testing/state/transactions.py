"""The transaction coordinators: what each transactional id may do next, and the markers that end transactions.

    state             InitProducerId            AddPartitions, AddOffsets  EndTxn
    Empty             Empty, new epoch          Ongoing                    refused; v2: an abort raises the epoch
    Ongoing           PrepareAbort, new epoch;  Ongoing, more partitions   PrepareCommit or PrepareAbort
                      told to come again
    PrepareCommit,    told to come again        told to come again         the same: told to come again; the other:
    PrepareAbort                                                           refused
    CompleteCommit,   Empty, new epoch          Ongoing                    the same: done already; the other: refused;
    CompleteAbort                                                          v2: abort of the present epoch as in Empty
    no transaction    Empty, epoch 0            INVALID_PRODUCER_ID_MAPPING

"Told to come again" is CONCURRENT_TRANSACTIONS, "refused" is INVALID_TXN_STATE.

A transaction is in one of the Prepare states until each of its partitions has its marker: after `markers_after_s`,
unless a partition has no living leader. An Ongoing one that is older than its time-out is aborted with a new epoch by
the first look at all transactions after that (transaction_abort_timed_out_transaction_cleanup_interval_ms).

    another producer id than that of the transactional id   INVALID_PRODUCER_ID_MAPPING
    another epoch                                           PRODUCER_FENCED (handlers of older versions:
                                                            INVALID_PRODUCER_EPOCH)
v1 and v2 are the protocols before and after KIP-890: in v2 (EndTxn 5) each end of a transaction raises the epoch, and
partitions are added by the brokers that are written to.

Sources: KIP-98, KIP-360, KIP-588, KIP-890, KIP-939. The state is the cluster's: it survives the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import broker as codes
from kwire.testing.state.nodes import NO_NODE
from kwire.testing.state.timers import Timer

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState

_LAST_EPOCH = 2**15 - 1
_TWO_PHASE_TIMEOUT = 2**31 - 1
_MARKERS_AGAIN_AFTER_S = 0.1
_COORDINATOR_EPOCH = 0
OFFSETS_TOPIC = "__consumer_offsets"

PartitionKey = tuple[str, int]


class State(StrEnum):
    """As DescribeTransactions names them."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


KNOWN_STATES = frozenset({*State, "Dead", "PrepareEpochFence"})
_PREPARED = {State.PREPARE_COMMIT: State.COMPLETE_COMMIT, State.PREPARE_ABORT: State.COMPLETE_ABORT}


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int


@dataclass(slots=True, eq=False)
class Transaction:
    """What belongs to one transactional id. Times in ms since 1970, `started` -1 outside of a transaction."""

    transactional_id: str
    producer_id: int
    timeout_ms: int
    updated: int
    epoch: int = -1
    previous_producer_id: int = -1
    previous_epoch: int = -1
    next_producer_id: int = -1
    state: State = State.EMPTY
    started: int = -1
    places: set[PartitionKey] = field(default_factory=set)
    raises_epoch: bool = False
    time_out: Timer | None = None
    expiry: Timer | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether the epoch may not be raised any more: the last one is kept for fencing."""
        return self.epoch >= _LAST_EPOCH - 1

    @property
    def current(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.epoch)

    @property
    def is_prepared(self) -> bool:
        return self.state in _PREPARED


class Transactions:
    """All transactional ids of a cluster. Every method raises BrokerError for what Kafka refuses."""

    def __init__(self, cluster: ClusterState) -> None:
        self.markers_after_s = 0.0
        self._cluster = cluster
        self._transactions: dict[str, Transaction] = {}

    def __iter__(self) -> Iterator[Transaction]:
        yield from self._transactions.values()

    def find(self, transactional_id: str) -> Transaction | None:
        return self._transactions.get(transactional_id)

    def init(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdAndEpoch | None = None,
        *,
        two_phase: bool = False,
    ) -> ProducerIdAndEpoch:
        """An id and epoch that fence every earlier producer; `expected` is what a producer has that goes on."""
        limit = self._cluster.properties.transaction_max_timeout_ms
        if not two_phase and not 0 < timeout_ms <= limit:
            raise codes.INVALID_TRANSACTION_TIMEOUT(f"transaction timeout {timeout_ms} ms: 1 to {limit} are allowed")
        timeout_ms = _TWO_PHASE_TIMEOUT if two_phase else timeout_ms
        found = self._transactions.get(transactional_id)
        if found is None:
            found = Transaction(transactional_id, self._cluster.new_producer_id(), timeout_ms, self._cluster.clock())
            self._transactions[transactional_id] = found
        if expected is not None and not _may_go_on(found, expected):
            raise codes.PRODUCER_FENCED(f"{transactional_id!r} is used by another producer than {expected.producer_id}")
        if found.is_prepared:
            raise codes.CONCURRENT_TRANSACTIONS(f"the transaction of {transactional_id!r} is about to end")
        if found.state is State.ONGOING:
            self._fence(found)
            raise codes.CONCURRENT_TRANSACTIONS(f"the open transaction of {transactional_id!r} is being aborted")
        self._begin_epoch(found, expected)
        found.timeout_ms, found.started, found.state = timeout_ms, -1, State.EMPTY
        self._updated(found)
        return found.current

    def add(self, transactional_id: str, producer: ProducerIdAndEpoch, places: Iterable[PartitionKey]) -> None:
        """Makes partitions part of the transaction, and begins it with the first ones."""
        found = self._of(transactional_id, producer)
        if found.is_prepared:
            raise codes.CONCURRENT_TRANSACTIONS(f"the transaction of {transactional_id!r} is about to end")
        if found.state is not State.ONGOING:
            found.state, found.started = State.ONGOING, self._cluster.clock()
            found.previous_producer_id = found.producer_id
            self._watch_time(found)
        found.places.update(places)
        self._updated(found)

    def verify(self, transactional_id: str, producer: ProducerIdAndEpoch, place: PartitionKey) -> None:
        """Raises BrokerError unless the partition is part of the transaction."""
        found = self._of(transactional_id, producer)
        if found.is_prepared:
            raise codes.CONCURRENT_TRANSACTIONS(f"the transaction of {transactional_id!r} is about to end")
        if place not in found.places:
            raise codes.TRANSACTION_ABORTABLE(f"{place[0]}-{place[1]} is not part of the transaction")

    def end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        raises_epoch: bool,
        fences_newer: bool = True,
    ) -> ProducerIdAndEpoch:
        """Commits or aborts; returns the id and epoch for the next transaction.

        Without `fences_newer` a newer epoch than the present one is taken for it, as old releases do.
        """
        _check_transactional_id(transactional_id)
        found = self._transactions.get(transactional_id)
        if found is None:
            raise codes.INVALID_PRODUCER_ID_MAPPING(f"no transactional id {transactional_id!r}")
        if raises_epoch:
            is_again = _check_end_v2(found, producer)
        else:
            is_again = found.state is not State.ONGOING
            _check_owner(found, producer if fences_newer else producer._replace(epoch=min(producer.epoch, found.epoch)))
        if found.state is not State.ONGOING and not self._end_again(found, commit, is_again, raises_epoch):
            return found.current
        self._prepare(found, commit=commit, raises_epoch=raises_epoch)
        return found.current if found.next_producer_id < 0 else ProducerIdAndEpoch(found.next_producer_id, 0)

    def forget_expired(self, transaction: Transaction) -> None:
        """Drops a transactional id that was not used for transactional_id_expiration_ms."""
        if transaction.state is not State.ONGOING and not transaction.is_prepared:
            self._transactions.pop(transaction.transactional_id, None)

    def _of(self, transactional_id: str, producer: ProducerIdAndEpoch) -> Transaction:
        _check_transactional_id(transactional_id)
        found = self._transactions.get(transactional_id)
        if found is None:
            raise codes.INVALID_PRODUCER_ID_MAPPING(f"no transactional id {transactional_id!r}")
        _check_owner(found, producer)
        return found

    def _begin_epoch(self, found: Transaction, expected: ProducerIdAndEpoch | None) -> None:
        if found.is_exhausted and (expected is None or expected.epoch == found.epoch):
            found.previous_producer_id = found.producer_id
            found.previous_epoch = found.epoch if expected is not None else -1
            found.producer_id, found.epoch = self._cluster.new_producer_id(), 0
        elif expected is None:
            found.previous_epoch, found.epoch = -1, found.epoch + 1
            found.previous_producer_id = found.producer_id
        elif found.epoch in (-1, expected.epoch):
            found.previous_epoch, found.epoch = found.epoch, found.epoch + 1
            found.previous_producer_id = found.producer_id
        elif expected.epoch != found.previous_epoch:
            raise codes.PRODUCER_FENCED(f"{found.transactional_id!r} is at epoch {found.epoch}, not {expected.epoch}")

    def _end_again(self, found: Transaction, commit: bool, is_again: bool, raises_epoch: bool) -> bool:
        """Whether an end that comes outside of an open transaction has work to do: an abort in v2 raises the epoch.

        Raises BrokerError unless it is that, or the repetition of what was done.
        """
        result = State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT
        if _PREPARED.get(found.state) is result:
            raise codes.CONCURRENT_TRANSACTIONS(f"the transaction of {found.transactional_id!r} is about to end so")
        if is_again and found.state is result:
            return False
        if raises_epoch and not is_again and not commit and not found.is_prepared:
            return True
        asked = "commit" if commit else "abort"
        raise codes.INVALID_TXN_STATE(f"{found.transactional_id!r} is {found.state}: it is not to {asked}")

    def _fence(self, found: Transaction) -> None:
        """Aborts an open transaction with an epoch that its producer does not have."""
        raises_epoch = raises_epochs(self._cluster.features)
        if not raises_epoch:
            found.epoch, found.previous_epoch = min(found.epoch + 1, _LAST_EPOCH), -1
        self._prepare(found, commit=False, raises_epoch=raises_epoch, fences=True)

    def _prepare(self, found: Transaction, *, commit: bool, raises_epoch: bool, fences: bool = False) -> None:
        found.raises_epoch, found.next_producer_id = raises_epoch, -1
        if raises_epoch:
            if found.is_exhausted and not fences:
                found.next_producer_id = self._cluster.new_producer_id()
            found.previous_epoch, found.epoch = found.epoch, min(found.epoch + 1, _LAST_EPOCH)
        if found.started < 0 or found.state is not State.ONGOING:
            found.started = self._cluster.clock()
        found.state = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
        if found.time_out is not None:
            found.time_out.cancel()
        if self.markers_after_s:
            when = self._cluster.now() + self.markers_after_s
            self._cluster.timers.call_at(when, lambda: self._write_markers(found))
        else:
            self._write_markers(found)

    def _write_markers(self, found: Transaction) -> None:
        """Ends the transaction in each partition that has a leader, and completes it when all are done."""
        commit = found.state is State.PREPARE_COMMIT
        done = {place for place in found.places if self._write_marker(found, place, commit)}
        found.places -= done
        if found.places:
            again = self._cluster.now() + _MARKERS_AGAIN_AFTER_S
            self._cluster.timers.call_at(again, lambda: self._write_markers(found))
            return
        found.state = _PREPARED[found.state]
        if found.next_producer_id >= 0:
            found.previous_producer_id = found.producer_id
            found.producer_id, found.epoch, found.next_producer_id = found.next_producer_id, 0, -1
        self._updated(found)

    def _write_marker(self, found: Transaction, place: PartitionKey, commit: bool) -> bool:
        """Whether nothing is left to do in this partition."""
        topic, index = place
        if topic == OFFSETS_TOPIC:
            self._cluster.groups.offsets.complete(found.producer_id, committed=commit)
            return True
        known = self._cluster.topics.get(topic)
        if known is None or index >= len(known.partitions):
            return True
        partition = known.partitions[index]
        if partition.leader == NO_NODE:
            return False
        try:
            partition.end_transaction(
                found.producer_id,
                found.epoch,
                commit=commit,
                coordinator_epoch=_COORDINATOR_EPOCH,
                raises_epoch=found.raises_epoch,
                timestamp=self._cluster.clock(),
            )
        except (codes.INVALID_PRODUCER_EPOCH, codes.TRANSACTION_COORDINATOR_FENCED):
            return True
        self._cluster.appended(partition)
        return True

    def _updated(self, found: Transaction) -> None:
        found.updated = self._cluster.clock()
        if found.expiry is not None:
            found.expiry.cancel()
        due = self._cluster.now() + self._cluster.properties.transactional_id_expiration_ms / 1000
        found.expiry = self._cluster.timers.call_at(due, lambda: self.forget_expired(found))

    def _watch_time(self, found: Transaction) -> None:
        if found.timeout_ms == _TWO_PHASE_TIMEOUT:
            return
        properties = self._cluster.properties
        every = properties.transaction_abort_timed_out_transaction_cleanup_interval_ms / 1000
        due = self._cluster.now() + found.timeout_ms / 1000
        look = (math.floor(due / every) + 1) * every if every else due
        found.time_out = self._cluster.timers.call_at(look, lambda: self._timed_out(found))

    def _timed_out(self, found: Transaction) -> None:
        if found.state is State.ONGOING:
            self._fence(found)


def raises_epochs(features: Mapping[str, int]) -> bool:
    """Whether transactions that no client ends are ended by the protocol v2."""
    return features.get("transaction.version", 0) >= 2


def _check_transactional_id(transactional_id: str | None) -> None:
    if not transactional_id:
        raise codes.INVALID_REQUEST("a transactional id is empty")


def _check_owner(found: Transaction, producer: ProducerIdAndEpoch) -> None:
    if found.producer_id != producer.producer_id:
        raise codes.INVALID_PRODUCER_ID_MAPPING(
            f"{found.transactional_id!r} belongs to producer {found.producer_id}, not {producer.producer_id}"
        )
    if found.epoch != producer.epoch:
        raise codes.PRODUCER_FENCED(f"{found.transactional_id!r} is at epoch {found.epoch}, not {producer.epoch}")


def _may_go_on(found: Transaction, expected: ProducerIdAndEpoch) -> bool:
    """Whether the producer that asks may be the present one; its epoch is looked at when it is raised."""
    return (
        found.epoch == -1
        or expected.producer_id == found.producer_id
        or (expected.producer_id == found.previous_producer_id and expected.epoch >= _LAST_EPOCH - 1)
    )


def _check_end_v2(found: Transaction, producer: ProducerIdAndEpoch) -> bool:
    """Whether it is the repetition of the end that raised the epoch. Raises BrokerError for any other producer."""
    went_over = (
        found.previous_producer_id == producer.producer_id and producer.epoch == _LAST_EPOCH - 1 and found.epoch == 0
    )
    is_again = went_over or found.epoch == producer.epoch + 1
    if found.producer_id != producer.producer_id and not went_over:
        raise codes.INVALID_PRODUCER_ID_MAPPING(
            f"{found.transactional_id!r} belongs to producer {found.producer_id}, not {producer.producer_id}"
        )
    is_current = found.epoch == producer.epoch
    if found.state in (State.EMPTY, State.ONGOING):
        is_valid = is_current
    else:
        is_valid = is_again or (is_current and not found.is_prepared)
    if not is_valid:
        raise codes.PRODUCER_FENCED(f"{found.transactional_id!r} is at epoch {found.epoch}, not {producer.epoch}")
    return is_again
