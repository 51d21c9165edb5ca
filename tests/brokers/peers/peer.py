"""What every foreign client can do: write records to partition 0 of a topic and read them from its start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tests.brokers.cluster import Cluster

WITHIN_S = 30.0
"""The longest that one exchange may take."""


@dataclass(frozen=True, slots=True)
class PeerRecord:
    """One record; timestamp in ms, None where the format has none or the client may choose."""

    value: bytes | None
    key: bytes | None = None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Peer(Protocol):
    """A foreign client bound to one cluster."""

    writes_null_headers: ClassVar[bool]
    """Whether it can send a header whose value is null."""

    def __init__(self, cluster: Cluster) -> None: ...

    def produce(self, topic: str, records: Sequence[PeerRecord], *, compression: str = "none") -> None:
        """Writes them in order to partition 0 and returns when all are acknowledged."""

    def consume(self, topic: str, count: int) -> list[PeerRecord]:
        """The first `count` records of partition 0; TimeoutError when they do not come within WITHIN_S."""
