"""The options of `format("kwire-log")`: which files are read, which of their records, and in which pieces.

Bounds, columns and decoders are those of the topic read. Pure: no file is touched, no Spark. Everything at fault raises
ConfigError and names the option.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.log_files.reading import DEFAULT_POLICY, ReadPolicy
from kwire.spark.decoding import options as decoder_options
from kwire.spark.decoding.decoding import NO_DECODING, Decoding
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.options.given import CLIENT_PREFIX, GivenOptions
from kwire.spark.options.read import (
    Selection,
    batch_end,
    batch_start,
    chosen_columns,
    given_selection,
    is_selection_given,
)
from kwire.spark.ranges.offsets import Bound
from kwire.spark.workers.logs import LEVELS

_ISOLATION: Final = "kafka.isolation.level"
_ISOLATION_LEVELS: Final = ("read_uncommitted", "read_committed")
_DEFAULT_BYTES_PER_TASK: Final = 128 << 20

NAMES: Final = frozenset(
    {
        *decoder_options.NAMES,
        "path",
        "paths",
        "topic",
        "partition",
        "assign",
        "subscribe",
        "subscribePattern",
        "startingOffsets",
        "startingTimestamp",
        "startingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "endingOffsets",
        "endingTimestamp",
        "endingOffsetsByTimestamp",
        "failOnDataLoss",
        "isolationLevel",
        "includeControl",
        "includeHeaders",
        "columns",
        "checkCrcs",
        "onCorrupt",
        "replicas",
        "maxBytesPerTask",
        "minPartitions",
        "maxTasks",
        "slots",
        "logLevel",
    }
)


@dataclass(frozen=True)
class LogOptions:
    """The options of one read of segments, checked. `place` is the topic and partition of a folder that has no such
    name; `selection` is None where all partitions are read.
    """

    paths: tuple[str, ...] = field(repr=False)  # a URI may hold credentials
    columns: tuple[str, ...]
    start: Bound
    end: Bound
    decoding: Decoding = NO_DECODING
    place: tuple[str, int] | None = None
    selection: Selection | None = None
    fail_on_data_loss: bool = True
    read_committed: bool = False
    merge_replicas: bool = False
    policy: ReadPolicy = DEFAULT_POLICY
    bytes_per_task: int = _DEFAULT_BYTES_PER_TASK
    min_partitions: int = 1
    max_tasks: int | None = None
    slots: int | None = None
    log_level: str | None = None


def parse_log_options(options: Mapping[str, str]) -> LogOptions:
    """Checks the options of a read of segments. Raises ConfigError, naming the option and what would work."""
    given = GivenOptions(options)
    given.check_names(NAMES)
    for name in given:
        if name.startswith(CLIENT_PREFIX) and name != _ISOLATION:
            given.has_no_effect(name, "no broker is asked")
    decoding = parse_decoding(given)
    levels = _ISOLATION_LEVELS
    level = given.choice("isolationLevel", levels, given.choice(_ISOLATION, levels, levels[0]))
    checked = LogOptions(
        paths=_paths(given),
        columns=chosen_columns(given, decoding, of_files=True),
        decoding=decoding,
        start=batch_start(given),
        end=batch_end(given),
        place=_place(given),
        selection=given_selection(given) if is_selection_given(given) else None,
        fail_on_data_loss=given.boolean("failOnDataLoss", True),
        read_committed=level == levels[1],
        merge_replicas=given.choice("replicas", ("refuse", "merge"), "refuse") == "merge",
        policy=_policy(given),
        bytes_per_task=given.size("maxBytesPerTask") or _DEFAULT_BYTES_PER_TASK,
        min_partitions=given.integer("minPartitions", 1, minimum=1) or 1,
        max_tasks=given.integer("maxTasks", minimum=1),
        slots=given.integer("slots", minimum=1),
        log_level=given.choice("logLevel", LEVELS, "") or None,
    )
    given.warn_once()
    return checked


def _policy(given: GivenOptions) -> ReadPolicy:
    return ReadPolicy(
        on_corrupt=given.choice("onCorrupt", ("fail", "skip", "stop"), "fail"),  # type: ignore[arg-type]
        check_crc=given.boolean("checkCrcs", True),
        include_control=given.boolean("includeControl", False),
    )


def _paths(given: GivenOptions) -> tuple[str, ...]:
    """What `.load(...)` was called with: Spark hands one path over as `path`, a list as JSON in `paths`."""
    paths = []
    several = given.text("paths")
    if several is not None:
        try:
            paths = json.loads(several)
        except (ValueError, RecursionError):
            paths = [None]
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise ConfigError(f"paths: expected a list of paths, as .load([...]) hands it over, got '{several}'")
    one = given.text("path")
    if one:
        paths.append(one)
    if not paths:
        raise ConfigError(
            'no segments are named: .load("/var/lib/kafka/data/orders-0"), a folder of such folders, or a pattern'
        )
    return tuple(paths)


def _place(given: GivenOptions) -> tuple[str, int] | None:
    topic, partition = given.text("topic"), given.integer("partition", minimum=0)
    if (topic is None) != (partition is None):
        raise ConfigError("topic and partition together name the folder's partition: give both, or neither")
    return None if topic is None or partition is None else TopicPartition(topic, partition)
