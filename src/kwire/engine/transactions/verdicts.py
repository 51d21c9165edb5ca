"""What an error code means for a transactional producer, as Java's TransactionManager takes it.

Layer 3: numbers only. Retriable codes are asked again; all others stand here.

    FENCED   a newer producer uses the transactional id, or the transaction timed out: this one can no longer be used
    FATAL    the producer can no longer be used
    ABORT    the transaction is to be aborted; the producer goes on after that
    RECOVER  the same, under another epoch where the coordinator can raise it (KIP-360), else FATAL
"""

from __future__ import annotations

from kwire.schema.api_keys import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE, TXN_OFFSET_COMMIT
from kwire.schema.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    FENCED_INSTANCE_ID,
    GROUP_AUTHORIZATION_FAILED,
    ILLEGAL_GENERATION,
    INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_TXN_STATE,
    OPERATION_NOT_ATTEMPTED,
    PRODUCER_FENCED,
    STALE_MEMBER_EPOCH,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTION_ABORTABLE,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_PRODUCER_ID,
    UNSUPPORTED_VERSION,
)

FENCED = "fenced"
FATAL = "fatal"
ABORT = "abort"
RECOVER = "recover"

_OF_ALL = {
    INVALID_PRODUCER_EPOCH: FENCED,
    PRODUCER_FENCED: FENCED,
    TRANSACTION_ABORTABLE: ABORT,
}
_OF_THE_COORDINATOR = {
    UNKNOWN_PRODUCER_ID: RECOVER,
    INVALID_PRODUCER_ID_MAPPING: FATAL,
    INVALID_TXN_STATE: FATAL,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: FATAL,
}
_VERDICTS: dict[int, dict[int, str]] = {
    ADD_PARTITIONS_TO_TXN: {
        **_OF_THE_COORDINATOR,
        TOPIC_AUTHORIZATION_FAILED: ABORT,
        OPERATION_NOT_ATTEMPTED: ABORT,
    },
    ADD_OFFSETS_TO_TXN: {**_OF_THE_COORDINATOR, GROUP_AUTHORIZATION_FAILED: ABORT},
    TXN_OFFSET_COMMIT: {
        GROUP_AUTHORIZATION_FAILED: ABORT,
        FENCED_INSTANCE_ID: ABORT,
        UNKNOWN_MEMBER_ID: ABORT,
        ILLEGAL_GENERATION: ABORT,
        STALE_MEMBER_EPOCH: ABORT,
    },
    END_TXN: _OF_THE_COORDINATOR,
    # A leader that answers INVALID_PRODUCER_EPOCH may mean a transaction that the coordinator has aborted: its end
    # tells whether this producer is fenced.
    PRODUCE: {
        INVALID_PRODUCER_EPOCH: ABORT,
        INVALID_PRODUCER_ID_MAPPING: FATAL,
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED: FATAL,
        CLUSTER_AUTHORIZATION_FAILED: FATAL,
        UNSUPPORTED_VERSION: FATAL,
    },
}
_OTHERWISE = {ADD_PARTITIONS_TO_TXN: ABORT, PRODUCE: ABORT}


def verdict(api_key: int, code: int) -> str:
    """The verdict about an error code that is not retriable, in a response to that API."""
    own = _VERDICTS.get(api_key, {})
    return own.get(code) or _OF_ALL.get(code) or _OTHERWISE.get(api_key, FATAL)
