"""What the client may do with a group, topic or cluster that it has described (KIP-430). Layer 3: values only.

Brokers send a bit field by the codes of AclOperation, if they are asked to.
"""

from __future__ import annotations

NOT_ASKED_FOR = -(2**31)
_NAMES = {
    3: "read",
    4: "write",
    5: "create",
    6: "delete",
    7: "alter",
    8: "describe",
    9: "cluster_action",
    10: "describe_configs",
    11: "alter_configs",
    12: "idempotent_write",
    13: "create_tokens",
    14: "describe_tokens",
    15: "two_phase_commit",
}


def names_in(bits: int) -> frozenset[str] | None:
    """The operations of a bit field, by Java's names in small letters; None where the broker was not asked for them.
    One that is newer than kwire is left out."""
    if bits == NOT_ASKED_FOR:
        return None
    return frozenset(name for place, name in _NAMES.items() if bits >> place & 1)
