"""What the client may do with a group, topic or cluster that it has described (KIP-430). Layer 3: values only.

Brokers send a bit field by the codes of AclOperation, if they are asked to.
"""

from __future__ import annotations

from kwire.engine.admin.acls import OPERATIONS

_NOT_TOLD = -(2**31)
_NAMES = {name: place for name, place in OPERATIONS.items() if name != "all"}


def names_in(bits: int) -> frozenset[str] | None:
    """The operations of a bit field, by Java's names in small letters; None where the broker was not asked for them.
    One that is newer than kwire is left out."""
    if bits == _NOT_TOLD:
        return None
    return frozenset(name for name, place in _NAMES.items() if bits >> place & 1)
