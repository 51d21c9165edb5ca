"""The states of a transactional producer, and which follows which.

Layer 3: names and one table. What leads from one to the next stands in the head of `manager.py`.
"""

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

FOLLOWS: dict[str, frozenset[str]] = {
    UNINITIALIZED: frozenset({INITIALIZING}),
    INITIALIZING: frozenset({READY, PREPARED, UNINITIALIZED, FATAL}),
    READY: frozenset({OPEN}),
    OPEN: frozenset({COMMITTING, ABORTING, PREPARING, DETACHING, ABORTABLE, FATAL}),
    PREPARING: frozenset({PREPARED, ABORTABLE, FATAL}),
    DETACHING: frozenset({UNINITIALIZED, ABORTABLE, FATAL}),
    PREPARED: frozenset({COMMITTING, ABORTING, ABORTABLE, FATAL}),
    COMMITTING: frozenset({READY, BUMPING, ABORTABLE, FATAL}),
    ABORTABLE: frozenset({ABORTING, FATAL}),
    ABORTING: frozenset({READY, BUMPING, FATAL}),
    BUMPING: frozenset({READY, FATAL}),
    FATAL: frozenset(),
}
"""state -> the states that may follow it; a test asks for each pair."""

UNFINISHED = frozenset({OPEN, PREPARING, DETACHING, PREPARED, COMMITTING, ABORTABLE, ABORTING})
"""There is a transaction."""
