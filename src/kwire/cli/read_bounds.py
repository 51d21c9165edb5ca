"""Where `kwire consume` begins and ends in each partition: --from and --to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from kwire._inside import offsets_at
from kwire.cli.places import ENDS, moment
from kwire.cli.usage import UsageError
from kwire.engine.common.numbers import whole_number

if TYPE_CHECKING:
    from kwire.consumer import Consumer, TopicPartition

    Partitions: TypeAlias = Sequence[TopicPartition]


@dataclass(frozen=True)
class Last:
    """This number of records before the end of a partition."""

    count: int


Bound: TypeAlias = int | str | datetime | Last


def parse_bound(option: str, text: str) -> Bound:
    """What --from or --to means. UsageError for anything else."""
    if text.lower() in ENDS:
        return ENDS[text.lower()]
    offset = whole_number(text)
    if offset is not None:
        return offset
    count = whole_number(text[1:]) if text.startswith("-") else None
    if count is not None:
        return Last(count)
    found = moment(text)
    if found is None:
        raise UsageError(
            f"{option} {text!r}: earliest, latest, an offset, -10 (the last ten), -1h (an hour ago), "
            "or a time such as 2024-05-01T12:00:00+00:00"
        )
    return found


def starts(consumer: Consumer, partitions: Partitions, bound: Bound) -> dict[TopicPartition, int | str | datetime]:
    """Where reading begins, as `Consumer.assign` takes it."""
    if isinstance(bound, Last):
        return dict(_before_the_end(consumer, partitions, bound.count))
    return dict.fromkeys(partitions, bound)


def ends(consumer: Consumer, partitions: Partitions, bound: Bound | None, *, follow: bool) -> dict[TopicPartition, int]:
    """The offsets at which reading ends: no record from there on is read.

    They are never after the ends that the partitions have now, unless `follow`; then None means no end at all.
    """
    if isinstance(bound, int) and follow:
        return dict.fromkeys(partitions, bound)
    if bound is None and follow:
        return {}
    if isinstance(bound, Last):
        return _before_the_end(consumer, partitions, bound.count)
    if bound == "earliest":
        return consumer.beginning_offsets(partitions)
    last = consumer.end_offsets(partitions)
    if isinstance(bound, int):
        return {tp: min(bound, end) for tp, end in last.items()}
    if isinstance(bound, datetime):
        found = offsets_at(consumer, dict.fromkeys(partitions, bound), last)
        return {tp: min(found[tp], end) for tp, end in last.items()}
    return last


def _before_the_end(consumer: Consumer, partitions: Partitions, count: int) -> dict[TopicPartition, int]:
    begins, last = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    return {tp: max(begins[tp], end - count) for tp, end in last.items()}
