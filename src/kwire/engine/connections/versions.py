"""Which version of each API one connection speaks.

Layer 3, no I/O. A broker from 0.10 on says so itself (ApiVersions); one from before that, once `negotiation.py` has
proved it, is taken to speak what every release from 0.8.0 to 0.9.0 speaks. A verdict holds for its connection alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire import errors
from kwire._codec import VersionsBase
from kwire.errors import KafkaError
from kwire.schema.api_keys import (
    DESCRIBE_GROUPS,
    FETCH,
    FIND_COORDINATOR,
    GET_TELEMETRY_SUBSCRIPTIONS,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SYNC_GROUP,
)
from kwire.schema.error_codes import UNSUPPORTED_VERSION
from kwire.schema.releases import first_release_with

# KIP-896: a broker whose Fetch begins at 4 refuses Produce below 3 although it lists Produce from 0 (KAFKA-18659).
_FETCH_FLOOR_OF_4_0 = 4
_PRODUCE_FLOOR_OF_4_0 = 3
# What brokers of no release have by themselves (KIP-714).
_BROUGHT_TO = {GET_TELEMETRY_SUBSCRIPTIONS: " to brokers with a metrics reporter that takes what clients push"}


class Versions(VersionsBase):
    """The ranges that a broker offers, and whether it is one from before ApiVersions."""

    __slots__ = ("before_0_10", "features", "features_epoch")

    def __init__(
        self,
        ranges: Mapping[int, tuple[int, int]],
        *,
        before_0_10: bool = False,
        features: Mapping[str, int] | None = None,
        features_epoch: int = -1,
    ) -> None:
        super().__init__(ranges)
        self.before_0_10 = before_0_10
        self.features = dict(features or {})
        """The levels of the cluster's features that are finalized (KIP-584), as the broker knew them then."""
        self.features_epoch = features_epoch
        lowest_fetch = self.ranges.get(FETCH, (0, 0))[0]
        if lowest_fetch >= _FETCH_FLOOR_OF_4_0 and PRODUCE in self.ranges:
            low, high = self.ranges[PRODUCE]
            self.ranges[PRODUCE] = (max(low, _PRODUCE_FLOOR_OF_4_0), high)

    def why_not(self, api_key: int, name: str, oldest: int, newest: int, who: str) -> KafkaError:
        """The error for an API that `newest_common` has no version of."""
        offered = self.ranges.get(api_key)
        since = first_release_with(api_key, oldest, newest)
        if offered is None:
            facts = [f"Kafka {since} brought it{_BROUGHT_TO.get(api_key, '')}"] * bool(since) + [
                "this one is from before Kafka 0.10"
            ] * self.before_0_10
            has = "does not have it" + f" ({'; '.join(facts)})" * bool(facts)
        else:
            has = f"offers versions {offered[0]} to {offered[1]}, kwire needs one from {oldest} to {newest}"
            has += f" (Kafka {since} or newer)" * bool(since)
        error = errors.broker.error_for(UNSUPPORTED_VERSION, f"{name}: {who} {has}")
        error.api_key = api_key
        return error


BEFORE_0_10 = Versions(dict.fromkeys((PRODUCE, FETCH, LIST_OFFSETS, METADATA), (0, 0)), before_0_10=True)
"""The versions that all releases from 0.8.0 to 0.9.0 answer alike."""

_GROUPS = (JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, DESCRIBE_GROUPS, LIST_GROUPS)
KAFKA_0_8_1 = Versions(BEFORE_0_10.ranges | {OFFSET_COMMIT: (0, 0), OFFSET_FETCH: (0, 0)}, before_0_10=True)
KAFKA_0_8_2 = Versions(
    BEFORE_0_10.ranges | {OFFSET_COMMIT: (0, 1), OFFSET_FETCH: (0, 1), FIND_COORDINATOR: (0, 0)}, before_0_10=True
)
KAFKA_0_9 = Versions(KAFKA_0_8_2.ranges | {OFFSET_COMMIT: (0, 2)} | dict.fromkeys(_GROUPS, (0, 0)), before_0_10=True)
"""The same with what each of these releases has for groups (`group_probe.py`)."""
