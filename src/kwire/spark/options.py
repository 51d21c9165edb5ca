"""The options of `format("kwire")`: their names, their meaning, and what is refused.

Names and meaning are those of Spark's Kafka source, so that a job changes from `format("kafka")` by that word alone;
`columns` and `maxTasks` are kwire's own. Spark hands option names over in lower case, so they are compared that way
and shown as documented. Pure: no socket, no Spark. Everything at fault raises ConfigError and names the option.

What differs from Spark's Kafka source, on purpose:

    unknown options             refused with the nearest name, not ignored
    maxRecordsPerPartition      always honoured; there it does nothing for `earliest`/`latest` alone
    partitions of `assign`      one that does not exist is an error, there it is ignored
    `earliest`, `latest`        bound when the read is planned, there by each task
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kwire.engine.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.spark.client_options import CLIENT_PREFIX, checked_properties
from kwire.spark.offsets import (
    EARLIEST,
    LATEST,
    Bound,
    NoMatch,
    parse_offset_bound,
    parse_partitions,
    parse_time_bound,
    parse_times_by_partition,
)
from kwire.spark.schema import ALL_COLUMNS, DEFAULT_COLUMNS, HEADERS

_log = logging.getLogger("kwire.spark")

_SERVERS: Final = "kafka.bootstrap.servers"
_SELECTIONS: Final = ("assign", "subscribe", "subscribePattern")

_HANDLED: Final = (
    *_SELECTIONS,
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "includeHeaders",
    "columns",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxTasks",
    "failOnDataLoss",
    "kafkaConsumer.pollTimeoutMs",
)
_WITHOUT_EFFECT: Final = {
    "maxOffsetsPerTrigger": "it limits the batches of a stream",
    "minOffsetsPerTrigger": "it limits the batches of a stream",
    "maxTriggerDelay": "it limits the batches of a stream",
    "groupIdPrefix": "a batch read joins no consumer group",
    "kafka.group.id": "a batch read joins no consumer group",
    "fetchOffset.numRetries": "kwire repeats a request until kafka.default.api.timeout.ms is over",
    "fetchOffset.retryIntervalMs": "kwire waits kafka.retry.backoff.ms between attempts",
}
_REFUSED: Final = {
    "kafka.auto.offset.reset": "use startingOffsets and endingOffsets",
    "kafka.enable.auto.commit": "the source commits no offsets",
    "kafka.interceptor.classes": "there are no interceptors",
    "kafka.key.deserializer": "keys come as binary; convert them with DataFrame operations",
    "kafka.value.deserializer": "values come as binary; convert them with DataFrame operations",
}
_KNOWN: Final = {name.lower(): name for name in (*_HANDLED, *_WITHOUT_EFFECT, *_REFUSED, _SERVERS)}

_DEFAULT_POLL_TIMEOUT_MS: Final = 120_000


@dataclass(frozen=True)
class Selection:
    """What is read: exactly one of `partitions`, `topics`, and `pattern` (a regular expression that is searched)."""

    partitions: tuple[TopicPartition, ...] | None = None
    topics: tuple[str, ...] | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class ReadOptions:
    """The options of one batch read, checked. `client` holds the `kafka.` properties without that prefix, and
    is in no repr; those that hold secrets show none. `max_tasks` is None by default and 0 for one task per range.
    """

    client: Mapping[str, str] = field(repr=False)
    selection: Selection
    start: Bound
    end: Bound
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    max_tasks: int | None = None
    fail_on_data_loss: bool = True
    poll_timeout_s: float = _DEFAULT_POLL_TIMEOUT_MS / 1000


def parse_read_options(options: Mapping[str, str]) -> ReadOptions:
    """Checks the options of a batch read. Raises ConfigError, naming the option and what would work."""
    given = {name.lower(): value for name, value in options.items()}
    _check_names(given)
    min_partitions = _positive(given, "minPartitions")
    max_tasks = _max_tasks(given)
    if min_partitions and max_tasks and min_partitions > max_tasks:
        raise ConfigError(f"minPartitions ({min_partitions}) is greater than maxTasks ({max_tasks})")
    poll_timeout_ms = _positive(given, "kafkaConsumer.pollTimeoutMs") or _DEFAULT_POLL_TIMEOUT_MS
    return ReadOptions(
        client=_client_properties(given),
        selection=_selection(given),
        start=_start(given),
        end=_end(given),
        columns=_columns(given),
        min_partitions=min_partitions,
        max_records_per_partition=_positive(given, "maxRecordsPerPartition"),
        max_tasks=max_tasks,
        fail_on_data_loss=_boolean(given, "failOnDataLoss", True),
        poll_timeout_s=poll_timeout_ms / 1000,
    )


def _check_names(given: Mapping[str, str]) -> None:
    for name in given:
        shown = _KNOWN.get(name, name)
        if shown in _REFUSED:
            raise ConfigError(f"Kafka option '{shown[len(CLIENT_PREFIX) :]}' is not supported: {_REFUSED[shown]}")
        if shown in _WITHOUT_EFFECT:
            _log.warning("The option %s has no effect: %s", shown, _WITHOUT_EFFECT[shown])
        elif name not in _KNOWN and not name.startswith(CLIENT_PREFIX):
            raise ConfigError(f"Unknown option '{name}'{_nearest(name)}")


def _nearest(name: str) -> str:
    candidates = {**_KNOWN, **{known.removeprefix(CLIENT_PREFIX): shown for known, shown in _KNOWN.items()}}
    close = difflib.get_close_matches(name, candidates, n=1)
    if close:
        return f"; did you mean '{candidates[close[0]]}'?"
    options = ", ".join(sorted((*_HANDLED, _SERVERS), key=str.lower))
    return f"; the options are {options}, and Kafka's consumer properties with the prefix 'kafka.'"


def _client_properties(given: Mapping[str, str]) -> dict[str, str]:
    """The properties for the consumer, tried on its table of settings: a fault shows before anything is read."""
    if not given.get(_SERVERS, "").strip():
        raise ConfigError(
            f"Option '{_SERVERS}' must be specified for configuring Kafka consumer, e.g. 'broker1:9092,broker2:9092'"
        )
    return checked_properties(
        {
            name.removeprefix(CLIENT_PREFIX): value
            for name, value in given.items()
            if name.startswith(CLIENT_PREFIX) and _KNOWN.get(name) not in _WITHOUT_EFFECT
        }
    )


def _selection(given: Mapping[str, str]) -> Selection:
    chosen = [name for name in _SELECTIONS if name.lower() in given]
    if len(chosen) > 1:
        raise ConfigError(
            f"Only one of the following options can be specified for Kafka source: {', '.join(_SELECTIONS)}; "
            f"given are {' and '.join(chosen)}"
        )
    value = given[chosen[0].lower()].strip() if chosen else ""
    if not value:
        raise ConfigError(f"One of the following options must be specified for Kafka source: {', '.join(_SELECTIONS)}")
    if chosen == ["assign"]:
        return Selection(partitions=parse_partitions("assign", value))
    if chosen == ["subscribe"]:
        topics = tuple(sorted({topic.strip() for topic in value.split(",")} - {""}))
        if not topics:
            raise ConfigError(f"subscribe: expected topic names with commas between, got '{value}'")
        return Selection(topics=topics)
    try:
        re.compile(value)
    except re.error as fault:
        raise ConfigError(f"subscribePattern: '{value}' is not a regular expression: {fault}") from None
    return Selection(pattern=value)


def _start(given: Mapping[str, str]) -> Bound:
    no_match = _no_match(given)
    by_time = _time_bound(given, "startingTimestamp", "startingOffsetsByTimestamp", no_match)
    if by_time is not None:
        return by_time
    bound = parse_offset_bound("startingOffsets", given.get("startingoffsets", "earliest"))
    if bound.everywhere == LATEST:
        raise ConfigError(
            "starting offset can't be latest for batch queries on Kafka, and streams are not in this version of kwire"
        )
    for partition, offset in bound.by_partition.items():
        if offset == LATEST:
            raise ConfigError(f"startingOffsets for {partition} can't be latest for batch queries on Kafka")
    return bound


def _end(given: Mapping[str, str]) -> Bound:
    by_time = _time_bound(given, "endingTimestamp", "endingOffsetsByTimestamp", "latest")
    if by_time is not None:
        return by_time
    bound = parse_offset_bound("endingOffsets", given.get("endingoffsets", "latest"))
    if bound.everywhere == EARLIEST:
        raise ConfigError("ending offset can't be earliest for batch queries on Kafka")
    for partition, offset in bound.by_partition.items():
        if offset == EARLIEST:
            raise ConfigError(f"ending offset for {partition} can't be earliest for batch queries on Kafka")
    return bound


def _time_bound(given: Mapping[str, str], everywhere: str, by_partition: str, no_match: NoMatch) -> Bound | None:
    if everywhere.lower() in given:
        return parse_time_bound(everywhere, given[everywhere.lower()], no_match)
    if by_partition.lower() in given:
        return parse_times_by_partition(by_partition, given[by_partition.lower()], no_match)
    return None


def _no_match(given: Mapping[str, str]) -> NoMatch:
    strategy = given.get("startingoffsetsbytimestampstrategy", "error").strip().lower()
    if strategy == "error":
        return "error"
    if strategy == "latest":
        return "latest"
    raise ConfigError(f"startingOffsetsByTimestampStrategy: expected 'error' or 'latest', got '{strategy}'")


def _columns(given: Mapping[str, str]) -> tuple[str, ...]:
    include_headers = _boolean(given, "includeHeaders", False)
    if "columns" not in given:
        return ALL_COLUMNS if include_headers else DEFAULT_COLUMNS
    by_lower_name = {name.lower(): name for name in ALL_COLUMNS}
    columns: list[str] = []
    for name in (part.strip() for part in given["columns"].split(",")):
        if name.lower() not in by_lower_name:
            raise ConfigError(f"columns: there is no column '{name}'; the columns are {', '.join(ALL_COLUMNS)}")
        columns.append(by_lower_name[name.lower()])
    if len(set(columns)) < len(columns):
        raise ConfigError(f"columns: a column is named twice in '{given['columns']}'")
    if include_headers and HEADERS not in columns:
        raise ConfigError("includeHeaders is true but the option columns leaves 'headers' out: name it there")
    return tuple(columns)


def _max_tasks(given: Mapping[str, str]) -> int | None:
    tasks = _integer(given, "maxTasks")
    if tasks is not None and tasks < 0:
        raise ConfigError(f"maxTasks must not be negative, got {tasks}; 0 means one task for each range of offsets")
    return tasks


def _positive(given: Mapping[str, str], option: str) -> int | None:
    number = _integer(given, option)
    if number is not None and number <= 0:
        raise ConfigError(f"{option} must be positive, got {number}")
    return number


def _integer(given: Mapping[str, str], option: str) -> int | None:
    text = given.get(option.lower())
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{option}: expected a whole number, got '{text}'") from None


def _boolean(given: Mapping[str, str], option: str, default: bool) -> bool:
    text = given.get(option.lower())
    if text is None:
        return default
    if text.strip().lower() not in ("true", "false"):
        raise ConfigError(f"{option}: expected true or false, got '{text}'")
    return text.strip().lower() == "true"
