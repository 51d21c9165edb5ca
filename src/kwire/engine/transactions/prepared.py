"""A transaction left open at its coordinator, for any process to end.

Layer 3: a value. `TransactionManager.detach` makes it, once every record is acknowledged; `EndTransactions` ends it. It
ends as asked, as long as nobody else ends it and its time-out has not passed: its coordinator takes the end of no other
producer id and epoch, and takes the repetition of an end for what it is.
"""

from __future__ import annotations

from kwire._typing import NamedTuple

V1 = 1
V2 = 2
"""The protocols before and after KIP-890: EndTxn below version 5 keeps the epoch, from 5 on it raises it."""


class PreparedTransaction(NamedTuple):
    """Who wrote it, and by which protocol (V1 or V2)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    version: int
