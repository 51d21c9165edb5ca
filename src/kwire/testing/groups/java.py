"""A habit of Java that can be seen from outside: the order in which a HashMap has its keys."""

from __future__ import annotations

from collections.abc import Iterable

from kwire.testing.state.coordinators import java_hash


def in_hash_order(names: Iterable[str]) -> list[str]:
    """The names in the order of a HashMap's buckets; up to 12 of them, since the table grows with more."""

    def bucket(name: str) -> int:
        hashed = java_hash(name)
        return (hashed ^ (hashed >> 16)) & 15

    return sorted(names, key=bucket)
