"""The options of a read: their names, their meaning, and what is refused.

Names and meaning are those of Spark's Kafka source, so that a job changes from `format("kafka")` by that word alone;
`columns`, `maxTasks`, `slots` and `logLevel` are kwire's own. `ReadOptions` is what batch reads and streams share and
what a task needs; `BatchOptions` adds the bounds of a batch. Pure: no socket, no Spark. Everything at fault raises
ConfigError and names the option.

What differs from Spark's Kafka source, on purpose:

    unknown options             refused with the nearest name, not ignored
    maxRecordsPerPartition      always honoured; there it does nothing for `earliest`/`latest` alone
    partitions of `assign`      one that does not exist is an error, there it is ignored
    `earliest`, `latest`        bound when the read is planned, there by each task
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import ConfigError
from kwire.spark.decoding import options as decoder_options
from kwire.spark.decoding.decoding import NO_DECODING, Decoding
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.decoding.schema import ALL_COLUMNS, DEFAULT_COLUMNS, FILE_COLUMNS, HEADERS
from kwire.spark.options.client import checked_properties
from kwire.spark.options.given import GivenOptions
from kwire.spark.options.topic_pattern import check_pattern
from kwire.spark.ranges.offsets import (
    EARLIEST,
    LATEST,
    Bound,
    NoMatch,
    parse_offset_bound,
    parse_partitions,
    parse_time_bound,
    parse_times_by_partition,
)
from kwire.spark.ranges.tasks import NO_LIMITS, TaskLimits
from kwire.spark.workers.logs import LEVELS

_SELECTIONS: Final = ("assign", "subscribe", "subscribePattern")
_WITHOUT_EFFECT: Final = {
    "groupIdPrefix": "a read joins no consumer group",
    "fetchOffset.numRetries": "a request is repeated until kafka.default.api.timeout.ms has passed",
    "fetchOffset.retryIntervalMs": "kafka.retry.backoff.ms is waited between attempts",
}

SHARED_NAMES: Final = frozenset(
    {
        *_SELECTIONS,
        *_WITHOUT_EFFECT,
        *decoder_options.NAMES,
        "startingOffsets",
        "startingTimestamp",
        "startingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "includeHeaders",
        "columns",
        "minPartitions",
        "maxRecordsPerPartition",
        "maxTasks",
        "slots",
        "failOnDataLoss",
        "kafkaConsumer.pollTimeoutMs",
        "logLevel",
    }
)
NAMES: Final = SHARED_NAMES | {"endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"}

_DEFAULT_POLL_TIMEOUT_MS: Final = 120_000


@dataclass(frozen=True)
class Selection:
    """What is read: exactly one of `partitions`, `topics`, and `pattern` (a regular expression that is searched)."""

    partitions: tuple[TopicPartition, ...] | None = None
    topics: tuple[str, ...] | None = None
    pattern: str | None = None

    @property
    def option(self) -> str:
        """The option that says it."""
        given = (self.partitions, self.topics, self.pattern)
        return next(name for name, value in zip(_SELECTIONS, given, strict=True) if value is not None)


@dataclass(frozen=True)
class ReadOptions:
    """What planning and tasks need to know, checked. `client` holds the `kafka.` properties without that prefix, and is
    in no repr; those that hold secrets show none.
    """

    client: Mapping[str, str] = field(repr=False)
    selection: Selection
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    decoding: Decoding = NO_DECODING
    limits: TaskLimits = NO_LIMITS
    slots: int | None = None
    fail_on_data_loss: bool = True
    poll_timeout_s: float = _DEFAULT_POLL_TIMEOUT_MS / 1000
    log_level: str | None = None


@dataclass(frozen=True, kw_only=True)
class BatchOptions(ReadOptions):
    """The options of one batch read."""

    start: Bound
    end: Bound


def parse_batch_options(options: Mapping[str, str]) -> BatchOptions:
    """Checks the options of a batch read. Raises ConfigError, naming the option and what would work."""
    given = GivenOptions(options)
    given.check_names(NAMES)
    checked = BatchOptions(**shared_read_options(given), start=batch_start(given), end=batch_end(given))
    given.warn_once()
    return checked


def result_schema(options: Mapping[str, str]) -> str:
    """The columns of a read, as a Spark schema string; checks what is wrong for a batch and for a stream alike."""
    given = GivenOptions(options)
    given.check_names(NAMES)
    shared = shared_read_options(given)
    start_bound(given, "earliest")
    schema: str = shared["decoding"].ddl(shared["columns"])
    return schema


def shared_read_options(given: GivenOptions) -> dict[str, Any]:
    """The fields of ReadOptions: what means the same in a batch and in a stream."""
    for name, why in _WITHOUT_EFFECT.items():
        if name in given:
            given.has_no_effect(name, why)
    decoding = parse_decoding(given)
    poll_timeout_ms = given.integer("kafkaConsumer.pollTimeoutMs", _DEFAULT_POLL_TIMEOUT_MS, minimum=1)
    return {
        "client": checked_properties(given, ConsumerSettings),
        "selection": given_selection(given),
        "columns": chosen_columns(given, decoding),
        "decoding": decoding,
        "limits": _limits(given),
        "slots": given.integer("slots", minimum=1),
        "fail_on_data_loss": given.boolean("failOnDataLoss", True),
        "poll_timeout_s": (poll_timeout_ms or 0) / 1000,
        "log_level": given.choice("logLevel", LEVELS, "") or None,
    }


def _limits(given: GivenOptions) -> TaskLimits:
    limits = TaskLimits(
        min_partitions=given.integer("minPartitions", minimum=1),
        max_records=given.integer("maxRecordsPerPartition", minimum=1),
        max_tasks=given.integer("maxTasks", minimum=0),
    )
    if limits.min_partitions and limits.max_tasks and limits.min_partitions > limits.max_tasks:
        raise ConfigError(f"minPartitions ({limits.min_partitions}) is greater than maxTasks ({limits.max_tasks})")
    return limits


def is_selection_given(given: GivenOptions) -> bool:
    """Whether some option says what is read."""
    return any(name in given for name in _SELECTIONS)


def given_selection(given: GivenOptions) -> Selection:
    """What is read, by the one option that says it."""
    chosen = [name for name in _SELECTIONS if name in given]
    if len(chosen) > 1:
        raise ConfigError(
            f"Only one of the following options can be specified for Kafka source: {', '.join(_SELECTIONS)}; "
            f"given are {' and '.join(chosen)}"
        )
    value = given.text(chosen[0], "") if chosen else ""
    if not value:
        hint = f"; {chosen[0]} is empty" if chosen else "; topic is for writes" if "topic" in given else ""
        raise ConfigError(
            f"One of the following options must be specified for Kafka source: {', '.join(_SELECTIONS)}{hint}"
        )
    if chosen == ["assign"]:
        return Selection(partitions=parse_partitions("assign", value))
    if chosen == ["subscribe"]:
        topics = tuple(sorted({topic.strip() for topic in value.split(",")} - {""}))
        if not topics:
            raise ConfigError(f"subscribe: expected topic names with commas between, got '{value}'")
        return Selection(topics=topics)
    return Selection(pattern=check_pattern("subscribePattern", value))


def start_bound(given: GivenOptions, default: str) -> Bound:
    """Where a read begins: at a time if one is given, else at `startingOffsets`."""
    no_match: NoMatch = "latest"
    if given.choice("startingOffsetsByTimestampStrategy", ("error", "latest"), "error") == "error":
        no_match = "error"
    by_time = _time_bound(given, "startingTimestamp", "startingOffsetsByTimestamp", no_match)
    return by_time or parse_offset_bound("startingOffsets", given.text("startingOffsets", default) or "")


def batch_start(given: GivenOptions) -> Bound:
    """Where a batch begins: not at `latest`."""
    bound = start_bound(given, "earliest")
    if bound.is_time:
        return bound
    if bound.everywhere == LATEST:
        raise ConfigError("starting offset can't be latest for batch queries on Kafka; a stream can start there")
    for partition, offset in bound.by_partition.items():
        if offset == LATEST:
            raise ConfigError(f"startingOffsets for {partition} can't be latest for batch queries on Kafka")
    return bound


def batch_end(given: GivenOptions) -> Bound:
    """Where a batch ends."""
    by_time = _time_bound(given, "endingTimestamp", "endingOffsetsByTimestamp", "latest")
    if by_time is not None:
        return by_time
    bound = parse_offset_bound("endingOffsets", given.text("endingOffsets", "latest") or "")
    if bound.everywhere == EARLIEST:
        raise ConfigError("ending offset can't be earliest for batch queries on Kafka")
    for partition, offset in bound.by_partition.items():
        if offset == EARLIEST:
            raise ConfigError(f"ending offset for {partition} can't be earliest for batch queries on Kafka")
    return bound


def _time_bound(given: GivenOptions, everywhere: str, by_partition: str, no_match: NoMatch) -> Bound | None:
    time = given.text(everywhere)
    if time is not None:
        return parse_time_bound(everywhere, time, no_match)
    times = given.text(by_partition)
    if times is not None:
        return parse_times_by_partition(by_partition, times, no_match)
    return None


def chosen_columns(given: GivenOptions, decoding: Decoding = NO_DECODING, *, of_files: bool = False) -> tuple[str, ...]:
    """The columns of the result, by `columns`, `includeHeaders` and the decoders; `of_files`: those of files, too."""
    include_headers = given.boolean("includeHeaders", False)
    chosen = given.text("columns")
    if chosen is None:
        return decoding.result_names(ALL_COLUMNS if include_headers else DEFAULT_COLUMNS)
    known = decoding.result_names(ALL_COLUMNS)
    if of_files:
        known += tuple(name for name in FILE_COLUMNS if name not in known)
    by_lower_name = {name.lower(): name for name in known}
    columns: list[str] = []
    for name in (part.strip() for part in chosen.split(",")):
        if name.lower() not in by_lower_name:
            raise ConfigError(f"columns: there is no column '{name}'; the columns are {', '.join(known)}")
        columns.append(by_lower_name[name.lower()])
    if len(set(columns)) < len(columns):
        raise ConfigError(f"columns: a column is named twice in '{chosen}'")
    if include_headers and HEADERS not in columns:
        raise ConfigError("includeHeaders is true but the option columns leaves 'headers' out: name it there")
    return tuple(columns)
