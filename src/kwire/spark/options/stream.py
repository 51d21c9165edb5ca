"""The options of a stream: those that it shares with a batch read, where it starts, and how far a micro-batch goes.

Names and meaning are those of Spark's Kafka source; `maxBytesPerTrigger` and `commitGroupId` are kwire's own. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kwire.errors import ConfigError
from kwire.spark.options.given import GivenOptions
from kwire.spark.options.read import SHARED_NAMES, ReadOptions, shared_read_options, start_bound
from kwire.spark.ranges.offsets import Bound
from kwire.spark.ranges.stream_limits import DEFAULT_MAX_DELAY_S, NO_LIMITS, TriggerLimits

LIMITS: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxBytesPerTrigger")
_ENDS: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")

NAMES: Final = SHARED_NAMES | {*LIMITS, "maxTriggerDelay", "commitGroupId"}


@dataclass(frozen=True, kw_only=True)
class StreamOptions(ReadOptions):
    """The options of one stream, checked. `start` counts for a new query only."""

    start: Bound
    trigger: TriggerLimits = NO_LIMITS
    commit_group: str | None = None


def parse_stream_options(options: Mapping[str, str]) -> StreamOptions:
    """Checks the options of a stream. Raises ConfigError, naming the option and what would work."""
    given = GivenOptions(options)
    for name in _ENDS:
        if name in given:
            raise ConfigError(f"{name}: ending offset not valid in streaming queries; a stream has no end")
    given.check_names(NAMES)
    checked = StreamOptions(
        **shared_read_options(given),
        start=start_bound(given, "latest"),
        trigger=_trigger_limits(given),
        commit_group=_commit_group(given),
    )
    given.warn_once()
    return checked


def _trigger_limits(given: GivenOptions) -> TriggerLimits:
    limits = TriggerLimits(
        max_offsets=given.integer("maxOffsetsPerTrigger", minimum=1),
        min_offsets=given.integer("minOffsetsPerTrigger", minimum=0) or None,
        max_bytes=given.size("maxBytesPerTrigger"),
        max_delay_s=given.duration_s("maxTriggerDelay", DEFAULT_MAX_DELAY_S),
    )
    if limits.max_offsets and limits.min_offsets and limits.min_offsets > limits.max_offsets:
        raise ConfigError(
            f"The value of minOffsetsPerTrigger ({limits.min_offsets}) is higher than the maxOffsetsPerTrigger "
            f"({limits.max_offsets})"
        )
    return limits


def _commit_group(given: GivenOptions) -> str | None:
    group = given.text("commitGroupId")
    if group == "":
        raise ConfigError("commitGroupId is empty; name the consumer group that the stream's offsets are committed to")
    return group
