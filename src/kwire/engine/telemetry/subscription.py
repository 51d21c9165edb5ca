"""What a broker wants to be pushed, from a response to GetTelemetrySubscriptions: bounded, as that may say anything.

Layer 3, no I/O.
"""

from __future__ import annotations

from uuid import UUID

from kwire._typing import TYPE_CHECKING, NamedTuple, Self
from kwire.compression import CODECS
from kwire.schema.fields import NO_UUID

if TYPE_CHECKING:
    from kwire.protocol import GetTelemetrySubscriptionsResponse

DEFAULT_INTERVAL_S = 300.0
"""Seconds between two pushes, or questions, where the broker says nothing that can be meant."""

MIN_INTERVAL_S = 0.1
MAX_INTERVAL_S = 3600.0
"""What Kafka takes as interval.ms of a subscription."""

_ALL = "*"
"""What Kafka says for all metrics; KIP-714 says that it is the empty string."""

MAX_BYTES = 1 << 20
"""A message is not larger, whatever the broker would take: it is made while the client's own work waits."""


class Subscription(NamedTuple):
    """`prefixes` of the names of metrics; "" is all, none is nothing. `codec` is a number of CODECS."""

    client_instance_id: UUID | None
    subscription_id: int
    interval: float
    prefixes: tuple[str, ...]
    codec: int
    delta: bool
    max_bytes: int

    @classmethod
    def of(cls, response: GetTelemetrySubscriptionsResponse) -> Self:
        """As that response says."""
        given, known = response.push_interval_ms / 1000, response.client_instance_id
        return cls(
            client_instance_id=None if known == NO_UUID else known,
            subscription_id=response.subscription_id,
            interval=min(max(given, MIN_INTERVAL_S), MAX_INTERVAL_S) if given > 0 else DEFAULT_INTERVAL_S,
            prefixes=tuple("" if each == _ALL else each for each in response.requested_metrics),
            codec=next((codec for codec in response.accepted_compression_types if 0 <= codec < len(CODECS)), 0),
            delta=response.delta_temporality,
            max_bytes=min(response.telemetry_max_bytes, MAX_BYTES) if response.telemetry_max_bytes > 0 else MAX_BYTES,
        )

    def wants(self, name: str) -> bool:
        """Whether the metric was subscribed to."""
        return name.startswith(self.prefixes)
