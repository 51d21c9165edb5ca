"""The states of a member by KIP-848, and what leads from one to the next: `consumer_group.py` obeys the table.

Layer 3: names and one table.
"""

from __future__ import annotations

from kwire.engine.common.lifecycle import Moves, State

OUT = "out of the group"
JOINING = "joining"
STABLE = "stable"
RECONCILING = "reconciling"
ACKNOWLEDGING = "acknowledging"
FENCED = "fenced"
STALE = "stale"
LEAVING = "leaving"
FATAL = "failed"

_FROM_A_MEMBER = {
    FENCED: "the coordinator does not know the member or its epoch",
    STALE: "there was no poll for max_poll_interval_ms",
    FATAL: "an error that waiting does not mend",
    LEAVING: "unsubscribe",
    OUT: "`leave`, without unsubscribe before",
}

MOVES: Moves = {
    OUT: State("no member: nothing subscribed to, or left", {JOINING: "a poll, with a subscription"}),
    JOINING: State("heartbeats of epoch 0", {RECONCILING: "answered, with an assignment", **_FROM_A_MEMBER}),
    STABLE: State("reads what the coordinator wants", {RECONCILING: "another assignment", **_FROM_A_MEMBER}),
    RECONCILING: State(
        "another assignment waits for names, for a poll, for a commit, for the listener",
        {
            ACKNOWLEDGING: "what has names is read",
            RECONCILING: "another assignment",
            **_FROM_A_MEMBER,
        },
    ),
    ACKNOWLEDGING: State(
        "the next heartbeat says what is read now",
        {
            STABLE: "the heartbeat is written, and that is all of the assignment",
            RECONCILING: "the heartbeat is written, and that is not all; or another assignment",
            **_FROM_A_MEMBER,
        },
    ),
    FENCED: State(
        "forgotten by the coordinator: nothing is read, on_lost runs",
        {JOINING: "the listener is done", OUT: "`leave`"},
    ),
    STALE: State(
        "left for want of polls: nothing is read, on_lost runs",
        {JOINING: "a poll, after the listener is done", OUT: "`leave`"},
    ),
    LEAVING: State(
        "positions are committed, on_revoked runs",
        {OUT: "`leave`", FATAL: "an error that waiting does not mend"},
    ),
    FATAL: State("failed: each poll raises the error", {OUT: "subscribe"}),
}
