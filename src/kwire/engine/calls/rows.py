"""What a response says of each thing that was asked about. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable

from kwire._typing import TypeVar
from kwire.errors import KafkaError

Key = TypeVar("Key")
Said = TypeVar("Said")


def by_key(rows: Iterable[tuple[Key, Said]], what: str) -> dict[Key, Said | KafkaError]:
    """What is said of each key; where it is said twice, an error: nobody knows which of both holds."""
    found: dict[Key, Said | KafkaError] = {}
    for key, said in rows:
        shown = repr(key) if isinstance(key, str) else str(key)
        repeated = key in found
        found[key] = KafkaError(f"the response to {what} has several entries for {shown}") if repeated else said
    return found


def once_each(rows: Iterable[tuple[Key, Said]], what: str) -> dict[Key, Said]:
    """What is said of each key; raises the error of one of which it is said twice."""
    found: dict[Key, Said] = {}
    for key, said in by_key(rows, what).items():
        if isinstance(said, KafkaError):
            raise said
        found[key] = said
    return found
