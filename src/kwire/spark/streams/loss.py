"""What a micro-batch reads between two offsets of the checkpoint, and what of it is lost.

The judgments are those of Spark's Kafka source: partitions that vanished, new ones whose first records are gone,
offsets that went backwards; with `failOnDataLoss` each fails the query, without it each is a warning. kwire adds one
that Spark's source cannot make: a topic that was deleted and created anew while the query ran, though its new log is
longer than the old position. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.errors.listing import first_of
from kwire.spark.ranges.stream_offsets import Offsets

_NAMED = 10


@dataclass(frozen=True)
class Judged:
    """The ranges to read, partition -> (start, end), none of them empty; and a sentence for each loss."""

    ranges: dict[TopicPartition, tuple[int, int]]
    losses: tuple[str, ...]


class EndsChangedError(KafkaError):
    """The log no longer has what Trigger.AvailableNow was to read to; `failOnDataLoss` does not help here."""


def judge(start: Offsets, end: Offsets, first_of_new: Offsets, recreated: Collection[str] = ()) -> Judged:
    """What to read from `start` to `end`.

    `first_of_new` holds the earliest offset of each partition of `end` that is not in `start`, as far as it is still
    there; such a partition is new and read from that offset. `recreated` names topics whose id has changed.
    """
    new = end.keys() - start.keys()
    begins = {**start, **{tp: first_of_new[tp] for tp in new if tp in first_of_new}}
    losses = [
        *_vanished(new - first_of_new.keys(), start.keys() - end.keys()),
        *(
            f"Added partition {tp} starts from {first_of_new[tp]} instead of 0"
            for tp in sorted(new & first_of_new.keys())
            if first_of_new[tp] > 0
        ),
        *_rewound(begins, end, recreated),
    ]
    ranges = {tp: (begins[tp], end[tp]) for tp in sorted(end) if tp in begins and begins[tp] < end[tp]}
    return Judged(ranges, tuple(losses))


def loss_text(losses: Iterable[str], *, fails: bool) -> str:
    """One text for all losses of a batch, with what the option does or would do."""
    advice = (
        "To read what there is, set the option failOnDataLoss to false"
        if fails
        else "The query reads what there is, since the option failOnDataLoss is false"
    )
    return (
        f"{'. '.join(losses)}. Some data may have been missed: records may have aged out, or a topic may have been "
        f"deleted or recreated before they were read. {advice}"
    )


def check_frozen_ends(frozen: Offsets, end: Offsets, latest: Offsets) -> None:
    """Raises EndsChangedError where a batch of Trigger.AvailableNow ends elsewhere than its frozen ends allow, or
    where the log has become shorter than that.
    """
    foreign = sorted(frozen.keys() ^ end.keys())
    if foreign:
        raise EndsChangedError(
            "The partitions of the batch are not those that Trigger.AvailableNow began with: "
            f"{first_of(foreign, _NAMED)} differ. {_RESTART}"
        )
    for tp in sorted(end):
        if end[tp] > frozen[tp]:
            raise EndsChangedError(
                f"The batch ends at {end[tp]} in {tp}, beyond {frozen[tp]}, where Trigger.AvailableNow ends. {_RESTART}"
            )
    gone = sorted(end.keys() - latest.keys())
    if gone:
        raise EndsChangedError(
            f"Partitions {first_of(gone, _NAMED)} have been deleted while Trigger.AvailableNow reads them. {_RESTART}"
        )
    for tp in sorted(end):
        if end[tp] > latest[tp]:
            raise EndsChangedError(
                f"The log of {tp} now ends at {latest[tp]}, before {end[tp]}, to which Trigger.AvailableNow reads. "
                f"{_RESTART}"
            )


# The checkpoint has no ids of topics.
_UNNOTICED = ", and a query started again from this checkpoint does not notice that. A new checkpoint reads all of it"
_RESTART = "A topic may have been deleted or recreated, or its log truncated; start the query again"


def _vanished(new: Collection[TopicPartition], old: Collection[TopicPartition]) -> Iterable[str]:
    if new:
        yield f"Cannot find earliest offsets of {first_of(sorted(new), _NAMED)}, which have been deleted"
    if old:
        yield f"Partitions {first_of(sorted(old), _NAMED)} have been deleted, or the options do not name them any more"


def _rewound(begins: Offsets, end: Offsets, recreated: Collection[str]) -> Iterable[str]:
    for tp in sorted(begins.keys() & end.keys()):
        if end[tp] < begins[tp]:
            yield (
                f"Partition {tp} offset was changed from {begins[tp]} to {end[tp]}"
                f"{_unread(tp, end[tp]) if tp.topic in recreated else ''}"
            )
        elif tp.topic in recreated and begins[tp] > 0:
            yield f"Topic {tp.topic} was deleted and created anew{_unread(tp, begins[tp])}{_UNNOTICED}"


def _unread(tp: TopicPartition, until: int) -> str:
    return f"; records of the new {tp} before offset {until} are not read"
