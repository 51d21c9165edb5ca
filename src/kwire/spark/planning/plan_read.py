"""Asks the cluster what a batch read covers and divides it into tasks; runs once, in Spark's planning process.

Costs one Metadata request and, for each leader, two ListOffsets requests and one DescribeLogDirs, however many
partitions there are. All ends are bound here, so the tasks are pure functions of their ranges.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwire.engine.common.addresses import TopicPartition
from kwire.spark.options.read import BatchOptions
from kwire.spark.planning.live_cluster import LiveCluster
from kwire.spark.ranges.offsets import Bound, bind
from kwire.spark.ranges.tasks import (
    DEFAULT_RECORD_SIZE,
    ROWS_OF_A_BATCH_TASK,
    OffsetRange,
    Task,
    plan,
    slots,
)
from kwire.spark.workers.logs import tell_from


def plan_tasks(options: BatchOptions) -> list[Task]:
    """The tasks of a batch read; none where there is nothing to read.

    Raises ConfigError for bounds that contradict the log, DataLossError for records that are gone, UnknownTopicError,
    TopicAuthorizationFailedError, and ConnectError, with a cause for each address, when no broker answers within
    `kafka.default.api.timeout.ms`, or each address refuses for 15 s.
    """
    tell_from(options.log_level)
    with LiveCluster(options.client, gives_up_early=True) as cluster:
        leaders = cluster.partitions(options.selection, to_read=True)
        ends = cluster.ends(leaders)
        times = _offsets_of_times(cluster, (options.start, options.end), leaders)
        sizes = cluster.record_sizes(leaders, ends) or {}
    bound = bind(options.start, options.end, ends, times, options.fail_on_data_loss)
    ids = cluster.topic_ids
    ranges = [
        OffsetRange(tp, start, end, leaders[tp], ids[tp.topic], sizes.get(tp) or DEFAULT_RECORD_SIZE)
        for tp, (start, end) in bound.items()
    ]
    at_once = options.slots or slots()
    return plan(ranges, limits=options.limits, slots=at_once, rows_of_a_task=ROWS_OF_A_BATCH_TASK, cut=True)


def _offsets_of_times(
    cluster: LiveCluster, bounds: Iterable[Bound], partitions: Iterable[TopicPartition]
) -> dict[tuple[TopicPartition, int], int]:
    found = {}
    for bound in bounds:
        if bound.is_time:
            bound.check_names_exactly(partitions)
            times = {tp: bound.at(tp) for tp in partitions}
            found.update({(tp, times[tp]): offset for tp, offset in cluster.offsets_for_times(times).items()})
    return found
