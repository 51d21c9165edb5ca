"""Finds out whether the records that a task waits for can still come, by asking the cluster anew.

A broker reports neither a deleted topic nor offsets that will never be written: a reader sees
only silence. So it looks, some seconds after it last heard something. What is done about a loss, the reader decides.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kwire._codec import no_uuid
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.spark.ranges.offsets import LogEnds, data_loss_text
from kwire.spark.ranges.tasks import OffsetRange

if TYPE_CHECKING:
    from kwire.spark.planning.live_cluster import LiveCluster

_log = logging.getLogger("kwire.spark")

_ANSWER_WITHIN_S: Final = 5.0


class Loss(NamedTuple):
    """Records of one range that cannot be read: what was found instead, and where the range goes on."""

    partition: TopicPartition
    text: str
    goes_on_at: int


class LossCheck:
    """Asks for the state of the logs that a task with these client properties reads."""

    def __init__(self, client: Mapping[str, str]) -> None:
        # Behind an open transaction records are held back, not lost: what counts is that they are there.
        self._client = {**client, "isolation.level": "read_uncommitted"}
        self.trouble: KafkaError | None = None
        """Why the cluster could not be asked the last time."""

    def losses(self, waiting: Sequence[tuple[OffsetRange, int]]) -> list[Loss]:
        """What of these ranges, each with its position, is lost; nothing while the cluster cannot be asked."""
        from kwire.spark.planning.live_cluster import LiveCluster  # most workers never need it

        try:
            with LiveCluster(self._client, timeout=_ANSWER_WITHIN_S) as cluster:
                present = cluster.present([each.partition for each, _ in waiting])
                ends = cluster.ends(present)
                self.trouble = None
                return list(_losses(waiting, cluster, ends))
        except KafkaError as error:
            self.trouble = error
            _log.warning("Cannot see whether records are lost: %s", error)
            return []


def is_recreated(each: OffsetRange, topic_id: object) -> bool:
    """Whether the topic is another one than when the range was planned, as far as brokers give topics an id."""
    return no_uuid() not in (each.topic_id, topic_id) and each.topic_id is not None and each.topic_id != topic_id


def _losses(
    waiting: Sequence[tuple[OffsetRange, int]], cluster: LiveCluster, ends: Mapping[TopicPartition, LogEnds]
) -> Iterator[Loss]:
    for each, position in waiting:
        tp = each.partition
        topic_id = cluster.topic_ids.get(tp.topic)
        if topic_id is None:
            yield _loss(each, position, each.end, "the topic does not exist any more")
        elif is_recreated(each, topic_id):
            place = position if tp in ends and ends[tp].earliest <= position < ends[tp].latest else each.end
            yield _loss(each, position, place, "the topic was deleted and created anew")
        elif tp not in ends:
            yield _loss(each, position, each.end, "the partition does not exist any more")
        elif position < ends[tp].earliest:
            yield _loss(each, position, min(ends[tp].earliest, each.end), _what_is_there(ends[tp]))
        elif ends[tp].latest <= position < each.end:
            yield _loss(each, position, each.end, _what_is_there(ends[tp]))


def _loss(each: OffsetRange, position: int, goes_on_at: int, found: str) -> Loss:
    return Loss(each.partition, data_loss_text(each.partition, position, each.end, found), goes_on_at)


def _what_is_there(ends: LogEnds) -> str:
    return f"the log has [{ends.earliest}, {ends.latest})"
