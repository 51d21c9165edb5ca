"""The states of a transactional producer, and what leads from one to the next: `manager.py` obeys the table.

Layer 3: names and one table.
"""

from __future__ import annotations

from kwire.engine.common.lifecycle import Moves, State

UNINITIALIZED = "uninitialized"
INITIALIZING = "initializing"
READY = "ready"
OPEN = "open"
PREPARING = "preparing"
DETACHING = "detaching"
PREPARED = "prepared"
COMMITTING = "committing"
ABORTABLE = "abortable"
ABORTING = "aborting"
BUMPING = "bumping"
FATAL = "fatal"

_FAILED = "a batch or a request failed"
_FENCED = "fenced, or another error that does not pass and that no abort mends"

MOVES: Moves = {
    UNINITIALIZED: State("no producer id is asked for", {INITIALIZING: "init_transactions"}),
    INITIALIZING: State(
        "InitProducerId is asked",
        {
            READY: "answered",
            PREPARED: "answered, with a transaction that was prepared, which is kept",
            UNINITIALIZED: "not allowed, not offered, no broker",
            FATAL: _FENCED,
        },
    ),
    READY: State(
        "no transaction", {OPEN: "begin_transaction", INITIALIZING: "init_transactions again, to fence others anew"}
    ),
    OPEN: State(
        "records are taken",
        {
            COMMITTING: "commit_transaction",
            ABORTING: "abort_transaction",
            PREPARING: "prepare_transaction",
            DETACHING: "detach_transaction",
            ABORTABLE: _FAILED,
            FATAL: _FENCED,
        },
    ),
    PREPARING: State(
        "what was sent is being delivered",
        {PREPARED: "every batch delivered", ABORTABLE: _FAILED, FATAL: _FENCED},
    ),
    DETACHING: State(
        "what was sent is being delivered",
        {UNINITIALIZED: "every batch delivered", ABORTABLE: _FAILED, FATAL: _FENCED},
    ),
    PREPARED: State(
        "the transaction waits for its end", {COMMITTING: "commit_transaction", ABORTING: "abort_transaction"}
    ),
    COMMITTING: State(
        "what was sent is being delivered, then EndTxn is asked",
        {
            READY: "answered",
            BUMPING: "answered, and the epoch is to be raised",
            ABORTABLE: _FAILED,
            FATAL: _FENCED,
        },
    ),
    ABORTABLE: State("the transaction has failed", {ABORTING: "abort_transaction", FATAL: _FENCED}),
    ABORTING: State(
        "what is in flight is awaited, then EndTxn is asked",
        {READY: "answered", BUMPING: "answered, and the epoch is to be raised", FATAL: _FENCED},
    ),
    BUMPING: State("InitProducerId is asked, for another epoch", {READY: "answered", FATAL: _FENCED}),
    FATAL: State("this producer can no longer be used", {}),
}

UNFINISHED = frozenset({OPEN, PREPARING, DETACHING, PREPARED, COMMITTING, ABORTABLE, ABORTING})
"""There is a transaction."""

NOT_NOW = {
    UNINITIALIZED: "call init_transactions() first, or use `with producer.transaction()`",
    INITIALIZING: "init_transactions() is not done yet",
    READY: "no transaction is open: call begin_transaction() first, or use `with producer.transaction()`",
    OPEN: "a transaction is open: commit or abort it first",
    PREPARING: "the transaction is being prepared",
    DETACHING: "the transaction is being detached",
    PREPARED: "the transaction is prepared: commit or abort it",
    COMMITTING: "the transaction is being committed",
    ABORTING: "the transaction is being aborted",
    BUMPING: "the transaction is being ended",
}
"""What to say in a state to a call that does not fit."""
