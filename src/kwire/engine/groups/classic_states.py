"""The states of a member of a classic group, and what leads from one to the next: `classic.py` obeys the table.

Layer 3: names and one table.
"""

from __future__ import annotations

from kwire.engine.common.lifecycle import Moves, State

OUT = "out of the group"
PREPARING = "preparing to join"
JOINING = "joining"
SYNCING = "waiting for the assignment"
JOINED = "joined"
REVOKING = "revoking"
HANDING = "handing over"
STABLE = "stable"
LEAVING = "leaving"
FENCED = "fenced"

_WANTED = "a poll, where a join is wanted"
_UNSUBSCRIBED = "unsubscribe"
_FENCED = "another member has the group_instance_id"
_FOREIGN = "the assignment is of topics that are not wanted any more"
_FORGOTTEN = "the coordinator has forgotten the member, there was no poll for max_poll_interval_ms, or `leave`"

MOVES: Moves = {
    OUT: State(
        "nothing is sent; no member, or a failed one",
        {PREPARING: _WANTED, LEAVING: _UNSUBSCRIBED, FENCED: f"a commit says that {_FENCED}"},
    ),
    PREPARING: State(
        "positions are committed, then on_revoked or on_lost runs",
        {
            JOINING: "commit and listener are done",
            OUT: "a step was interrupted, or `leave`",
            LEAVING: _UNSUBSCRIBED,
            FENCED: _FENCED,
        },
    ),
    JOINING: State(
        "JoinGroup is on its way, or waits for a retry",
        {
            SYNCING: "answered",
            JOINING: "refused or lost: again, at once or later",
            OUT: "an error that waiting does not mend, partitions to be given up as lost, or `leave`",
            LEAVING: _UNSUBSCRIBED,
            FENCED: _FENCED,
        },
    ),
    SYNCING: State(
        "the leader assigns; SyncGroup is on its way",
        {
            JOINED: "answered",
            JOINING: "refused or lost: joins again, at once or later",
            OUT: "as from JOINING, or there was no poll for max_poll_interval_ms",
            LEAVING: _UNSUBSCRIBED,
            FENCED: _FENCED,
        },
    ),
    JOINED: State(
        "an assignment waits for a poll",
        {
            REVOKING: "a poll, where partitions go",
            HANDING: "a poll",
            STABLE: f"a poll, and {_FOREIGN}",
            OUT: _FORGOTTEN,
            LEAVING: _UNSUBSCRIBED,
            FENCED: _FENCED,
        },
    ),
    REVOKING: State(
        "what goes is committed, then on_revoked runs; or on_lost",
        {
            HANDING: "commit and listener are done",
            STABLE: f"on_lost is done, and {_FOREIGN}",
            JOINED: "a step was interrupted",
            OUT: _FORGOTTEN,
            LEAVING: _UNSUBSCRIBED,
            FENCED: _FENCED,
        },
    ),
    HANDING: State(
        "reads what was assigned; on_assigned runs",
        {
            STABLE: "the listener is done, or a step was interrupted",
            OUT: _FORGOTTEN,
            LEAVING: _UNSUBSCRIBED,
            FENCED: _FENCED,
        },
    ),
    STABLE: State(
        "reads what was assigned",
        {PREPARING: _WANTED, OUT: _FORGOTTEN, LEAVING: _UNSUBSCRIBED, FENCED: _FENCED},
    ),
    LEAVING: State(
        "unsubscribed: positions are committed, on_revoked runs",
        {OUT: "`leave`", LEAVING: "unsubscribe once more, after the first was interrupted", FENCED: _FENCED},
    ),
    FENCED: State(
        "another member has the group_instance_id: each poll raises that",
        {OUT: "subscribe, or `leave`", LEAVING: _UNSUBSCRIBED},
    ),
}
