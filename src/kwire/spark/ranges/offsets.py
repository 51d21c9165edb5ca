"""Which offsets a read covers: the bounds a user writes, and what they come to on the log as it is now.

Pure functions over plain values: no socket, no Spark, no Arrow. The meaning of every bound is that of Spark's Kafka
source, except that kwire binds `earliest` and `latest` once, when the read is planned, so that a task which runs twice
returns the same rows.

    -2  earliest: the first offset that the log still has
    -1  latest: the offset that the next record will get
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.numbers import signed_number, whole_number
from kwire.errors import ConfigError, KafkaError
from kwire.errors.listing import first_of

EARLIEST: Final = -2
LATEST: Final = -1

_OFFSETS_EXAMPLE: Final = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
_TIMES_EXAMPLE: Final = '{"topicA":{"0":1497553200000,"1":1497553200000}}'
_PARTITIONS_EXAMPLE: Final = '{"topicA":[0,1],"topicB":[2,4]}'

_MAX_INT64: Final = (1 << 63) - 1
_NAMED: Final = 10
_NAMED_ENDS: Final = "use -1 for latest, -2 for earliest"

NoMatch = Literal["error", "latest"]


@dataclass(frozen=True)
class Bound:
    """One end of a read, as its option says it.

    `option` is the option's name, for error texts. Either `everywhere` holds one number for all partitions, or
    `by_partition` one for each. The numbers are offsets (EARLIEST and LATEST among them), or milliseconds since the
    epoch when `is_time`; then `no_match` says what happens to a partition without a record that late.
    """

    option: str
    everywhere: int | None = None
    by_partition: Mapping[TopicPartition, int] = field(default_factory=dict)
    is_time: bool = False
    no_match: NoMatch = "latest"

    def at(self, partition: TopicPartition) -> int:
        return self.by_partition[partition] if self.everywhere is None else self.everywhere

    def check_names_exactly(self, assigned: Iterable[TopicPartition]) -> None:
        """Raises ConfigError unless a bound by partition names all assigned partitions and no other."""
        if self.everywhere is not None:
            return
        expected = set(assigned)
        missing = sorted(expected - self.by_partition.keys())
        foreign = sorted(self.by_partition.keys() - expected)
        if missing or foreign:
            parts = [f"not named: {first_of(missing, _NAMED)}"] if missing else []
            parts += [f"named but not read: {first_of(foreign, _NAMED)}"] if foreign else []
            raise ConfigError(
                f"The partitions specified for {self.option} don't match what are assigned ({'; '.join(parts)}). "
                f"Name every partition that is read: {'each with a time' if self.is_time else _NAMED_ENDS}"
            )


class LogEnds(NamedTuple):
    """What a leader says of one partition: the first offset kept, and the offset the next record will get."""

    earliest: int
    latest: int


class DataLossError(KafkaError):
    """Offsets that the read was asked for and that the log does not have (any more); `failOnDataLoss` decides."""


def parse_offset_bound(option: str, text: str) -> Bound:
    """Reads `earliest`, `latest` (in any case) or JSON with one offset for each partition.

    Raises ConfigError with an example of what would work.
    """
    named = {"earliest": EARLIEST, "latest": LATEST}.get(text.strip().lower())
    if named is not None:
        return Bound(option, everywhere=named)
    by_partition = _parse_numbers(option, text, _OFFSETS_EXAMPLE)
    for partition, offset in by_partition.items():
        if offset < EARLIEST:
            raise ConfigError(
                f"{option} for {partition} is {offset}; an offset is 0 or more, -1 (latest) or -2 (earliest)"
            )
    return Bound(option, by_partition=by_partition)


def parse_time_bound(option: str, text: str, no_match: NoMatch) -> Bound:
    """Reads one time for all partitions, in milliseconds since the epoch."""
    time = signed_number(text)
    if time is None or abs(time) > _MAX_INT64:
        raise ConfigError(f"{option}: Expected a single long value (milliseconds), got {text}")
    return Bound(option, everywhere=_not_negative(option, time), is_time=True, no_match=no_match)


def parse_times_by_partition(option: str, text: str, no_match: NoMatch) -> Bound:
    """Reads JSON with one time for each partition, in milliseconds since the epoch."""
    times = _parse_numbers(option, text, _TIMES_EXAMPLE)
    for partition, time in times.items():
        _not_negative(f"{option} for {partition}", time)
    return Bound(option, by_partition=times, is_time=True, no_match=no_match)


def parse_partitions(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Reads JSON that lists partitions by topic, as the option `assign` has them."""
    expected = ConfigError(
        f"{option}: No topicpartitions to assign as specified value for option '{option}' is '{text}'. "
        f"Expected e.g. {_PARTITIONS_EXAMPLE}"
    )
    by_topic = _parse_object(text, expected)
    partitions: set[TopicPartition] = set()
    for topic, numbers in by_topic.items():
        if not isinstance(numbers, list) or not all(_is_int(number) and number >= 0 for number in numbers):
            raise expected
        partitions.update(TopicPartition(topic, number) for number in numbers)
    return tuple(sorted(partitions))


def bind(
    start: Bound,
    end: Bound,
    logs: Mapping[TopicPartition, LogEnds],
    times: Mapping[tuple[TopicPartition, int], int],
    fail_on_data_loss: bool,
) -> dict[TopicPartition, tuple[int, int]]:
    """What the two bounds come to on these logs: partition -> (start, end), end excluded, never end < start.

    `times` answers for each (partition, ms) of the bounds by time: the offset of the first record that late, or
    LATEST where there is none. Raises ConfigError where the bounds contradict each other or the log, and
    DataLossError, if `fail_on_data_loss`, where the log no longer or not yet has what was asked for; else the range
    is cut to what there is. What contradicts itself is told before what is lost, as by Spark's own source.
    """
    start.check_names_exactly(logs)
    end.check_names_exactly(logs)
    asked = {partition: _bind_one(partition, start, end, ends, times) for partition, ends in sorted(logs.items())}
    return {
        partition: _kept(partition, first, last, logs[partition], fail_on_data_loss)
        for partition, (first, last) in asked.items()
    }


def _bind_one(
    partition: TopicPartition,
    start: Bound,
    end: Bound,
    ends: LogEnds,
    times: Mapping[tuple[TopicPartition, int], int],
) -> tuple[int, int]:
    """The range that was asked for, which the log may not have."""
    options = f"{start.option}, {end.option}"
    given_by_partition = start.is_time and end.is_time and start.everywhere is None and end.everywhere is None
    if given_by_partition and start.at(partition) > end.at(partition):
        raise ConfigError(
            f"{options}: The specified start timestamp {start.at(partition)} is greater than the end timestamp "
            f"{end.at(partition)} for topic {partition.topic} partition {partition.partition}."
        )
    first = _offset_of(partition, start, ends, times)
    last = _offset_of(partition, end, ends, times)
    if first > last:
        if _is_given(start, partition) and _is_given(end, partition):
            raise ConfigError(
                f"{options}: The specified start offset {first} is greater than the end offset {last} "
                f"for topic {partition.topic} partition {partition.partition}."
            )
        raise ConfigError(
            f"{options}: The resolved start offset {first} is greater than the resolved end offset {last} "
            f"for topic {partition.topic} partition {partition.partition}; "
            f"the log now has the offsets [{ends.earliest}, {ends.latest})."
        )
    return first, last


def _kept(partition: TopicPartition, first: int, last: int, ends: LogEnds, fail_on_data_loss: bool) -> tuple[int, int]:
    """What the log has of a range."""
    if fail_on_data_loss and first < last and (first < ends.earliest or last > ends.latest):
        raise DataLossError(data_loss_text(partition, first, last, f"the log has [{ends.earliest}, {ends.latest})"))
    kept = (min(max(first, ends.earliest), last), min(last, ends.latest))
    return (kept[0], max(kept))


def data_loss_text(partition: TopicPartition, first: int, last: int, found: str) -> str:
    """The text of a DataLossError: which records, what was found instead, and what would let the read go on."""
    return (
        f"Could not read records in offset [{first}, {last}) for topic partition {partition}: {found}. "
        "Some data may have been lost: records may have aged out, the topic may have been deleted or recreated, or the "
        "offset is not written yet. To read what there is, set the option failOnDataLoss to false"
    )


def _offset_of(
    partition: TopicPartition, bound: Bound, ends: LogEnds, times: Mapping[tuple[TopicPartition, int], int]
) -> int:
    number = bound.at(partition)
    if bound.is_time:
        offset = times[partition, number]
        if offset == LATEST and bound.no_match == "error":
            raise ConfigError(
                f"{bound.option}: No offset matched from request of topic-partition {partition} and timestamp "
                f"{number}. With startingOffsetsByTimestampStrategy=latest such a partition returns no rows"
            )
        return ends.latest if offset == LATEST else offset
    return {EARLIEST: ends.earliest, LATEST: ends.latest}.get(number, number)


def _is_given(bound: Bound, partition: TopicPartition) -> bool:
    return not bound.is_time and bound.at(partition) >= 0


def _not_negative(what: str, time: int) -> int:
    if time < 0:
        raise ConfigError(f"{what} is {time}; a time is given in milliseconds since the epoch, 0 or more")
    return time


def _parse_numbers(option: str, text: str, example: str) -> dict[TopicPartition, int]:
    expected = ConfigError(f"{option}: Expected e.g. {example}, got {text}")
    numbers: dict[TopicPartition, int] = {}
    for topic, by_number in _parse_object(text, expected).items():
        if not isinstance(by_number, dict):
            raise expected
        for partition, number in by_number.items():
            index = whole_number(partition)
            if index is None or not _is_int(number) or abs(number) > _MAX_INT64:
                raise expected
            numbers[TopicPartition(topic, index)] = number
    return numbers


def _parse_object(text: str, expected: ConfigError) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise expected from None
    if not isinstance(parsed, dict):
        raise expected
    return parsed


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
