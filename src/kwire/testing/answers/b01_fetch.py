"""Fetch (key 1).

Behaviour
    Partitions are read in the order of the request. The answer waits until min_bytes are there, max_wait_ms have
    passed, or a partition has an error to report, whichever comes first. A reader that starts inside a batch gets the
    whole batch. Followers are never behind: the high watermark is the end of the log. Readers of committed records get
    what lies before the last stable offset, and the aborted transactions within it. Sessions are in fetch_sessions.py.
    A reader over its quota gets nothing, at once (from release 2.0 on).

Version notes
    v0-2   a first entry larger than the limit is cut at the limit, in its middle
    v3     max_bytes for the whole answer; the first entry of the first partition that has one is always whole
    v0-1   down-converted to magic 0, v2-3 to magic 1, v4 and newer as stored
    v4     last_stable_offset and aborted_transactions; v5 log_start_offset
    v7     sessions; v9 current_leader_epoch is checked
    v11    followers serve readers; with a rack-aware selector the leader names the replica in the reader's rack
    v12    last_fetched_epoch is checked, diverging_epoch tells
    v10    zstd; below it a partition that has zstd is refused with UNSUPPORTED_COMPRESSION_TYPE
    v13    topics by id; an unknown one is answered with UNKNOWN_TOPIC_ID
    v16    current_leader and node_endpoints where the node does not serve the partition (KIP-951)
    v15    replica_id moves into a tagged field; followers are not told apart from consumers
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import FetchRequest, FetchResponse
from kwire.testing.answers.leaders import MOVED, endpoints, name_leader
from kwire.testing.records.conversion import down_converted, magic_for_fetch
from kwire.testing.records.record_sets import compression_of, last_offset_of, split_stored
from kwire.testing.requests import Flow, RequestContext, Suspend
from kwire.testing.state.authorizer import READ
from kwire.testing.state.fetch_sessions import Fetching, FetchSessions, Wanted
from kwire.testing.state.partition import Partition, check_leader, check_leader_epoch

Context = RequestContext[FetchRequest]
_Asked = FetchRequest.FetchTopic.FetchPartition
_TopicAnswer = FetchResponse.FetchableTopicResponse
_Answer = FetchResponse.FetchableTopicResponse.PartitionData
_Aborted = _Answer.AbortedTransaction
_READ_COMMITTED = 1
_FOLLOWERS_SINCE, _LEADERS_SINCE = 11, 16
_QUOTA = "consumer_byte_rate"


@dataclass(slots=True)
class _Budget:
    """How many bytes the answer may still take, and whether the one entry above every limit was given."""

    left: int
    whole_first: bool


class _Waiting:
    """What there is to read of what is asked for; a partition is looked at again only when something happened to it."""

    def __init__(self, context: Context, fetching: Fetching) -> None:
        self._context = context
        self._wanted = fetching.wanted
        self._available = 0
        self._must_tell = not fetching.wanted
        self._places: dict[Hashable, list[int]] = {}
        self._bytes: list[int] = []
        for at, wanted in enumerate(fetching.wanted):
            self._bytes.append(self._look(wanted))
            if self._must_tell:
                return
            partition = context.cluster.partition(wanted.topic, wanted.topic_id, wanted.asked.partition)
            self._places.setdefault(partition, []).append(at)
        self.wakers = frozenset(self._places)
        self._available = sum(self._bytes)

    @property
    def is_over(self) -> bool:
        """Whether there is enough to read, or something else to tell at once."""
        return self._must_tell or self._available >= self._context.request.min_bytes

    def look_again(self, happened: Iterable[Hashable] | None) -> None:
        """Something has happened to these; None: to any."""
        for each in self.wakers if happened is None else happened:
            for at in self._places.get(each, ()):
                self._available -= self._bytes[at]
                self._bytes[at] = self._look(self._wanted[at])
                self._available += self._bytes[at]

    def _look(self, wanted: Wanted) -> int:
        """How many bytes may be read of a partition; notes if there is something else to tell."""
        context, asked = self._context, wanted.asked
        try:
            partition = _readable(context, wanted)
            if _diverged(partition, asked) is not None or _better_replica(context, partition) is not None:
                self._must_tell = True
            there = partition.log.available(asked.fetch_offset, _readable_end(context, partition))
        except BrokerError:
            self._must_tell = True
            return 0
        return min(there, max(asked.partition_max_bytes, 1))


def answer(context: Context) -> Flow[FetchResponse]:
    """Waits as the request asks, then reads."""
    try:
        fetching = _sessions(context).begin(context.request, context.version, context.now())
    except BrokerError as refused:
        return FetchResponse(error_code=refused.code)
    context.charge(_QUOTA, 0)
    if context.throttle.ms and context.release.mutes_throttled_clients:
        return fetching.throttled()
    until = context.now() + max(context.request.max_wait_ms, 0) / 1000
    waiting = _Waiting(context, fetching)
    while not waiting.is_over and context.now() < until:
        waiting.look_again((yield Suspend(until, waiting.wakers)))
    budget = _Budget(_limit(context), context.version >= 3)
    rows = [_partition(context, wanted, budget) for wanted in fetching.wanted]
    context.spend(_QUOTA, sum(len(row.records) for row in rows if row.records))
    response = fetching.respond(rows, context.now())
    _name_endpoints(context, response)
    return response


def refuse(context: Context, code: int) -> FetchResponse:
    """Every partition answered with `code`."""
    return FetchResponse(
        responses=[
            _TopicAnswer(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[_refused(asked, code) for asked in topic.partitions],
            )
            for topic in context.request.topics
        ]
    )


def _sessions(context: Context) -> FetchSessions:
    return context.cluster.fetch_sessions(context.node)


def _limit(context: Context) -> int:
    return max(context.request.max_bytes, 0) if context.version >= 3 else 2**31 - 1


def _readable(context: Context, wanted: Wanted) -> Partition:
    """The partition, if this node may serve it to this reader. Raises BrokerError."""
    context.require_topic(READ, wanted.topic, wanted.topic_id)
    partition = context.cluster.partition(wanted.topic, wanted.topic_id, wanted.asked.partition)
    epoch = wanted.asked.current_leader_epoch
    if context.version >= _FOLLOWERS_SINCE and context.node in partition.replicas:
        check_leader_epoch(partition, epoch)
    else:
        check_leader(partition, context.node, epoch)
    return partition


def _better_replica(context: Context, partition: Partition) -> int | None:
    """The replica in the reader's rack, where the leader is not in it and the broker selects by rack (KIP-392)."""
    cluster, rack = context.cluster, context.request.rack_id
    if not rack or partition.leader != context.node or not cluster.properties.selects_replicas_by_rack:
        return None
    near = [replica for replica in partition.isr if cluster.nodes[replica].rack == rack]
    return near[0] if near and partition.leader not in near else None


def _diverged(partition: Partition, asked: _Asked) -> tuple[int, int] | None:
    """Where the reader's log parts from this one, by the epoch of its last record; None where it does not."""
    if asked.last_fetched_epoch < 0:
        return None
    epoch, end = partition.end_of_epoch(asked.last_fetched_epoch)
    if end < 0:
        raise codes.OFFSET_OUT_OF_RANGE(f"no epoch {asked.last_fetched_epoch} is known")
    return (epoch, end) if epoch < asked.last_fetched_epoch or end < asked.fetch_offset else None


def _partition(context: Context, wanted: Wanted, budget: _Budget) -> _Answer:
    asked = wanted.asked
    try:
        partition = _readable(context, wanted)
        diverged = _diverged(partition, asked)
        better = _better_replica(context, partition)
        records = b"" if diverged or better is not None else _records(context, partition, asked, budget)
    except BrokerError as refused:
        row = _refused(asked, refused.code)
        if context.version >= _LEADERS_SINCE and refused.code in MOVED:
            name_leader(row, context.cluster, wanted.topic, wanted.topic_id, asked.partition)
        return row
    log = partition.log
    row = _Answer(
        partition_index=asked.partition,
        high_watermark=log.end_offset,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=log.start_offset,
        aborted_transactions=_aborted(partition, asked.fetch_offset, records) if _is_committed(context) else None,
        preferred_read_replica=-1 if better is None else better,
        records=records,
    )
    if diverged:
        row.diverging_epoch.epoch, row.diverging_epoch.end_offset = diverged
    return row


def _name_endpoints(context: Context, response: FetchResponse) -> None:
    """Says where the leaders are that the rows name."""
    if context.version < _LEADERS_SINCE:
        return
    rows = [row for topic in response.responses for row in topic.partitions if row.error_code in MOVED]
    if rows:
        leaders = {row.current_leader.leader_id for row in rows}
        response.node_endpoints = endpoints(context, leaders, FetchResponse.NodeEndpoint)


def _is_committed(context: Context) -> bool:
    return context.request.isolation_level == _READ_COMMITTED


def _readable_end(context: Context, partition: Partition) -> int:
    """The offset before which the reader may read."""
    return partition.last_stable_offset if _is_committed(context) else partition.log.end_offset


def _aborted(partition: Partition, start: int, records: bytes | memoryview) -> list[_Aborted]:
    """The aborted transactions of what is read."""
    last = start
    for entry in split_stored(memoryview(records)):
        last = last_offset_of(entry)
    return [
        _Aborted(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in partition.producers.aborted_within(start, last + 1)
    ]


def _records(context: Context, partition: Partition, asked: _Asked, budget: _Budget) -> bytes | memoryview:
    limit = min(max(asked.partition_max_bytes, 0), budget.left)
    cut = context.version < 3
    end = _readable_end(context, partition)
    stored = partition.log.read(asked.fetch_offset, limit, first_whole=cut or budget.whole_first, end=end)
    if context.version < 10:
        _refuse_zstd(stored)
    given = down_converted(stored, magic_for_fetch(context.version), asked.fetch_offset)
    if cut:
        given = given[:limit]
    if given:
        budget.left = max(budget.left - len(given), 0)
        budget.whole_first = False
    return given


def _refuse_zstd(stored: bytes | memoryview) -> None:
    if any(compression_of(entry) == "zstd" for entry in split_stored(memoryview(stored))):
        raise codes.UNSUPPORTED_COMPRESSION_TYPE("zstd needs Fetch 10 or newer")


def _refused(asked: _Asked, code: int) -> _Answer:
    return _Answer(
        partition_index=asked.partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        records=b"",
    )
