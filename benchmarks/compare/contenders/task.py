"""What a contender is asked to do, and the values that all contenders send."""

from __future__ import annotations

import random
from dataclasses import dataclass

_SEED = 20_111
_DISTINCT, _DISTINCT_BYTES = 1024, 1 << 20
_RECORD_OVERHEAD = 20
USER, PASSWORD = "compare", "the password of compare"


@dataclass(frozen=True)
class Task:
    """One run of one contender: `count` records of `size` bytes; times in milliseconds, sizes in bytes.

    `output` is what a consumer makes of the records: `records`, `values`, `columns`, `fields` (reads four of each
    record) or `one-by-one` (fields of records that arrive one by one). `own_batches`: a client that sends batches which
    its caller made does so. `tls`: the broker speaks TLS, and `ca_file` has the certificate to trust. `uvloop`: asyncio
    runs on it. `columns` are those of a table that is written. `writer` fills the topic that is read. `case` names a
    case of the codec.
    """

    name: str
    contender: str
    bootstrap: str = ""
    topic: str = ""
    count: int = 0
    partitions: int = 32
    round_robin: bool = False
    size: int = 100
    compression: str = "none"
    read_deliveries: bool = False
    output: str = "records"
    linger_ms: int = 10
    batch_size: int = 131_072
    release: str = ""
    own_batches: bool = False
    tls: bool = False
    ca_file: str = ""
    uvloop: bool = False
    columns: str = "key value"
    writer: str = "kwire"
    case: str = ""
    budget_s: float = 0.1


def values_of(size: int) -> list[bytes]:
    """Different values of that size that compress like log lines: half recurring words, half random digits."""
    rng = random.Random(_SEED)
    words = [b"customer", b"order", b"status=paid", b"warehouse", b"shipping", b"currency=EUR", b"retry=0"]
    values = []
    for _ in range(max(min(_DISTINCT, _DISTINCT_BYTES // size), 2)):
        text = bytearray()
        while len(text) < size:
            text += rng.choice(words) + b" %08x " % rng.getrandbits(32)
        values.append(bytes(text[:size]))
    return values


def rows_of_a_batch(task: Task) -> int:
    """How many records a full batch has."""
    return task.batch_size // (task.size + _RECORD_OVERHEAD)
