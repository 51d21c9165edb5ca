"""Which records a table has: from where, and up to where, in each partition of a topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from kwire._inside import offsets_at
from kwire.consumer import Consumer
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError, KafkaError

Place: TypeAlias = int | str | datetime | timedelta
"""An offset; "earliest" or "latest"; a time; or so long ago."""
Bound: TypeAlias = Place | Mapping[tuple[str, int], Place]

_ENDS = ("earliest", "latest")


def resolve(
    consumer: Consumer, partitions: Iterable[TopicPartition], start: Bound, end: Bound
) -> dict[TopicPartition, tuple[int, int]]:
    """The first offset and the one after the last, partition by partition. ConfigError for what is no bound; KafkaError
    for an offset that the log no longer has."""
    named = list(partitions)
    firsts, lasts = consumer.beginning_offsets(named), consumer.end_offsets(named)
    starts = _offsets(consumer, _by_partition(named, start, "start", "earliest"), firsts, lasts)
    ends = _offsets(consumer, _by_partition(named, end, "end", "latest"), firsts, lasts)
    for tp, offset in starts.items():
        if offset < firsts[tp]:
            raise KafkaError(f"start: {tp} begins at {firsts[tp]} by now; the records from {offset} on are gone")
    return {tp: (starts[tp], max(starts[tp], min(ends[tp], lasts[tp]))) for tp in named}


def _by_partition(
    partitions: Iterable[TopicPartition], bound: Bound, name: str, default: Place
) -> dict[TopicPartition, Place]:
    named = list(partitions)
    if not isinstance(bound, Mapping):
        return dict.fromkeys(named, _checked(bound, name))
    given = {TopicPartition(*tp): _checked(place, name) for tp, place in bound.items()}
    if foreign := given.keys() - set(named):
        raise ConfigError(f"{name} names {min(foreign)}, which is not among the partitions of what is read")
    return {tp: given.get(tp, default) for tp in named}


def _checked(place: object, name: str) -> Place:
    if isinstance(place, str) and place in _ENDS:
        return place
    if isinstance(place, (datetime, timedelta)) or (type(place) is int and place >= 0):
        return place
    raise ConfigError(f"{name}={place!r}: an offset, 'earliest', 'latest', a datetime, or a timedelta (so long ago)")


def _offsets(
    consumer: Consumer,
    places: Mapping[TopicPartition, Place],
    firsts: Mapping[TopicPartition, int],
    lasts: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    now = datetime.now(UTC)
    times: dict[TopicPartition, datetime] = {}
    found: dict[TopicPartition, int] = {}
    for tp, place in places.items():
        if isinstance(place, int):
            found[tp] = place
        elif isinstance(place, str):
            found[tp] = firsts[tp] if place == "earliest" else lasts[tp]
        else:
            times[tp] = place if isinstance(place, datetime) else now - place
    return {**found, **offsets_at(consumer, times, lasts)} if times else found
