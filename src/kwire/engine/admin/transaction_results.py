"""What Admin returns about transactions and the producers in partitions. Layer 3: values only.

Times are in milliseconds since 1970.
"""

from __future__ import annotations

from kwire._typing import NamedTuple
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.notebooks import in_notebooks


@in_notebooks
class TransactionListing(NamedTuple):
    """One transactional id, as its coordinator, a broker, lists it."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator_id: int


@in_notebooks
class TransactionDescription(NamedTuple):
    """What the coordinator knows. `started` is -1 outside of a transaction, whose `partitions` are those it has so far,
    as far as one may see their topics."""

    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started: int
    partitions: tuple[TopicPartition, ...] = ()
    coordinator_id: int = -1


@in_notebooks
class ProducerState(NamedTuple):
    """One producer that has written to a partition, as a broker remembers it. `current_transaction_start_offset` is
    where its open transaction begins, None where it has none; `coordinator_epoch` that of the last marker, if any."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None = None
    current_transaction_start_offset: int | None = None


@in_notebooks
class FencedProducer(NamedTuple):
    """The producer id of a transactional id, and the epoch that has fenced all earlier ones."""

    producer_id: int
    producer_epoch: int
