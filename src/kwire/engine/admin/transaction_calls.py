"""What a call of `Admin` about transactions asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from kwire._typing import Any
from kwire.engine.admin.a22_init_producer_id import FenceProducers
from kwire.engine.admin.a27_write_txn_markers import AbortTransaction
from kwire.engine.admin.a61_describe_producers import DescribeProducers
from kwire.engine.admin.a65_describe_transactions import ONGOING, DescribeTransactions
from kwire.engine.admin.a66_list_transactions import ListTransactions, TransactionFilters
from kwire.engine.admin.calls import Question
from kwire.engine.admin.transaction_results import (
    FencedProducer,
    ProducerState,
    TransactionDescription,
    TransactionListing,
)
from kwire.engine.calls import arguments
from kwire.engine.calls.words import word_in
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError

_STATES = (
    "Empty",
    ONGOING,
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
)
_NEEDED_TO_ABORT = ("producer_id", "producer_epoch")
_MAX_PRODUCER_EPOCH = 2**15 - 1
_MAX_COORDINATOR_EPOCH = 2**31 - 1
_MAX_MS = 2**63 - 1
_MAX_PRODUCER_ID = 2**63 - 1


def list_transactions(
    *,
    states: Iterable[str] | None,
    producer_ids: Iterable[int] | None,
    min_duration: float | timedelta | None,
    pattern: str | None,
) -> Question[list[TransactionListing]]:
    """`Admin.list_transactions`."""
    if pattern is not None and not (isinstance(pattern, str) and pattern):
        raise ConfigError(f"pattern={pattern!r}: expected a regular expression for transactional ids, or None")
    wanted = TransactionFilters(
        states=list(dict.fromkeys(map(_state, _several(() if states is None else states, "states")))),
        producer_ids=list(
            dict.fromkeys(map(_producer_id, _several(() if producer_ids is None else producer_ids, "producer_ids")))
        ),
        min_duration_ms=_milliseconds(min_duration),
        pattern=None if pattern is None else arguments.carried(pattern, "pattern"),
    )
    return Question(ListTransactions(wanted), list)


def describe_transactions(transactional_ids: Iterable[str]) -> Question[dict[str, TransactionDescription]]:
    """`Admin.describe_transactions`."""
    names = _ids(transactional_ids)
    return Question(DescribeTransactions(names) if names else None, dict)


def describe_producers(
    partitions: Iterable[tuple[str, int]], broker: int | None
) -> Question[dict[TopicPartition, tuple[ProducerState, ...]]]:
    """`Admin.describe_producers`."""
    wanted = list(dict.fromkeys(arguments.partitions(partitions)))
    asked = None if broker is None else arguments.broker_id(broker)
    return Question(DescribeProducers(wanted, asked) if wanted else None, dict)


def abort_transaction(partition: tuple[str, int], producer: ProducerState | Mapping[str, Any]) -> Question[None]:
    """`Admin.abort_transaction`."""
    return Question(AbortTransaction(arguments.partition(partition), _producer(producer)), lambda found: None)


def fence_producers(transactional_ids: Iterable[str]) -> Question[dict[str, FencedProducer]]:
    """`Admin.fence_producers`."""
    names = _ids(transactional_ids)
    return Question(FenceProducers(names) if names else None, dict)


def force_terminate_transaction(transactional_id: str) -> Question[None]:
    """`Admin.force_terminate_transaction`."""
    return Question(FenceProducers([_id(transactional_id)]), lambda found: None)


def _several(given: object, name: str) -> list[Any]:
    if isinstance(given, str | int):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ConfigError(f"{name}={given!r}: expected a list")
    return list(given)


def _state(given: object) -> str:
    state = word_in(given, _STATES)
    if state is None:
        raise ConfigError(f"states: {given!r} is not a state of transactions; there are {', '.join(_STATES)}")
    return state


def _producer_id(given: object) -> int:
    return arguments.whole(given, "producer_id", 0, _MAX_PRODUCER_ID)


def _ids(given: object) -> list[str]:
    return list(dict.fromkeys(_id(each) for each in _several(given, "transactional_ids")))


def _id(given: object) -> str:
    return arguments.checked_name(given, "a transactional id")


def _producer(given: object) -> ProducerState:
    """Whose transaction is to be aborted, as far as a marker needs it."""
    if isinstance(given, ProducerState):
        if given.current_transaction_start_offset is None:
            raise ConfigError(f"producer={given!r} has no open transaction to abort")
        made = given
    elif isinstance(given, Mapping):
        names = set(ProducerState._fields)
        if not names.issuperset(given) or not given.keys() >= set(_NEEDED_TO_ABORT):
            raise ConfigError(
                f"producer has {', '.join(map(str, given)) or 'nothing'}: expected producer_id, producer_epoch and, "
                "where one is known, coordinator_epoch"
            )
        made = ProducerState(**{"last_sequence": -1, "last_timestamp": -1, **given})
    else:
        raise ConfigError(f"producer={given!r}: expected a ProducerState of describe_producers(), or its fields")
    _producer_id(made.producer_id)
    arguments.whole(made.producer_epoch, "producer_epoch", 0, _MAX_PRODUCER_EPOCH)
    if made.coordinator_epoch is not None:
        arguments.whole(made.coordinator_epoch, "coordinator_epoch", 0, _MAX_COORDINATOR_EPOCH)
    return made


def _milliseconds(min_duration: object) -> int | None:
    seconds = arguments.seconds(min_duration, "min_duration")
    if seconds is not None and seconds * 1000 >= _MAX_MS:
        raise ConfigError(f"min_duration={min_duration!r}: no transaction takes so long")
    return None if seconds is None else int(seconds * 1000)
