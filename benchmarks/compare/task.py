"""What a contender is told to do, and the records that all are given."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

SEED = 20_111
DISTINCT = 1024
_DISTINCT_BYTES = 1 << 20


@dataclass(frozen=True)
class Task:
    """One run of one contender. `count` records of `size` bytes; times in milliseconds, sizes in bytes."""

    verb: str
    contender: str
    bootstrap: str = ""
    topic: str = ""
    count: int = 0
    partitions: int = 32
    size: int = 100
    compression: str = "none"
    spread: bool = False
    fates: bool = False
    shape: str = "records"
    linger_ms: int = 10
    batch_size: int = 131_072
    release: str = ""
    work: str = ""
    budget_s: float = 0.1

    def to_dict(self) -> dict[str, Any]:
        """For the worker's stdin."""
        return asdict(self)

    def through(self, bootstrap: str) -> Self:
        """The same with another address."""
        return replace(self, bootstrap=bootstrap)


def values_of(size: int) -> list[bytes]:
    """Different values of that size which compress as log lines do: half words that recur, half random digits."""
    rng = random.Random(SEED)
    words = [b"customer", b"order", b"status=paid", b"warehouse", b"shipping", b"currency=EUR", b"retry=0"]
    made = []
    for _ in range(max(min(DISTINCT, _DISTINCT_BYTES // size), 2)):
        text = bytearray()
        while len(text) < size:
            text += rng.choice(words) + b" %08x " % rng.getrandbits(32)
        made.append(bytes(text[:size]))
    return made
