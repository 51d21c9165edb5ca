"""The states of a member by KIP-848, and what leads from one to the next: `consumer_group.py` obeys the table.

Layer 3: names and one table.
"""

from __future__ import annotations

from kwire.engine.common.lifecycle import Moves, State

OUT = "out of the group"
JOINING = "joining"
STABLE = "stable"
DUE = "due to reconcile"
NAMELESS = "waiting for names"
RECONCILING = "reconciling"
ACKNOWLEDGING = "acknowledging"
FENCED = "fenced"
STALE = "stale"
UNSUBSCRIBED = "unsubscribed"
COMMITTING = "committing"
LEAVING = "leaving"
FATAL = "failed"

_FROM_A_MEMBER = {
    FENCED: "the coordinator does not know the member or its epoch",
    STALE: "there was no poll for max_poll_interval_ms",
    FATAL: "an error that waiting does not mend",
    COMMITTING: "unsubscribe",
    OUT: "`leave`, without unsubscribe before",
}

MOVES: Moves = {
    OUT: State("no member: nothing subscribed to, or left", {JOINING: "a poll, with a subscription"}),
    JOINING: State("heartbeats of epoch 0", {DUE: "answered, with an assignment", **_FROM_A_MEMBER}),
    STABLE: State("reads what the coordinator wants", {DUE: "another assignment", **_FROM_A_MEMBER}),
    DUE: State(
        "another assignment waits for a poll",
        {
            RECONCILING: "a poll",
            ACKNOWLEDGING: "a poll, where what has names is read already",
            NAMELESS: "a poll, where that was acknowledged, too",
            **_FROM_A_MEMBER,
        },
    ),
    NAMELESS: State(
        "reads the part of the assignment whose topics have names",
        {DUE: "names, another assignment, or a step was interrupted", **_FROM_A_MEMBER},
    ),
    RECONCILING: State(
        "what goes is committed, on_revoked runs, then on_assigned",
        {ACKNOWLEDGING: "what has names is read", DUE: "a step was interrupted", **_FROM_A_MEMBER},
    ),
    ACKNOWLEDGING: State(
        "the next heartbeat says what is read now",
        {
            STABLE: "the heartbeat is written, and that is all of the assignment",
            DUE: "the heartbeat is written, and that is not all; or another assignment",
            **_FROM_A_MEMBER,
        },
    ),
    FENCED: State(
        "forgotten by the coordinator: nothing is read, on_lost runs",
        {JOINING: "the listener is done", UNSUBSCRIBED: "unsubscribe", OUT: "`leave`"},
    ),
    STALE: State(
        "left for want of polls: nothing is read, on_lost runs",
        {JOINING: "a poll, after the listener is done", UNSUBSCRIBED: "unsubscribe", OUT: "`leave`"},
    ),
    UNSUBSCRIBED: State("no member any more, and none wanted: on_lost runs", {OUT: "`leave`"}),
    COMMITTING: State(
        "unsubscribed: positions are committed",
        {LEAVING: "committed", OUT: "`leave`", FATAL: "an error that waiting does not mend"},
    ),
    LEAVING: State(
        "unsubscribed: on_revoked runs",
        {OUT: "`leave`", FATAL: "an error that waiting does not mend"},
    ),
    FATAL: State("failed: each poll raises the error", {OUT: "subscribe, or `leave`"}),
}
