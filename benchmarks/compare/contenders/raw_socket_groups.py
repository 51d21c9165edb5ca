"""A blocking socket and nothing else: sends a prepared OffsetCommit request and reads the response."""

from __future__ import annotations

from benchmarks.compare.contenders.meters import round_trips
from benchmarks.compare.contenders.raw_requests import connected, exchange
from benchmarks.compare.contenders.task import Task
from kwire import protocol

_VERSION = 8


def commits(task: Task) -> dict[str, float]:
    """The same request again and again, for a group without members."""
    topics = protocol.OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topics.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    request = protocol.OffsetCommitRequest(
        group_id="commits-raw", topics=[topics(name=task.topic, partitions=[partition])]
    )
    frame = protocol.encode_request(request, _VERSION, correlation_id=1, client_id="raw")
    with connected(task) as connection:
        _, response = protocol.decode_response(exchange(connection, frame), 8, _VERSION)
        code = response.topics[0].partitions[0].error_code
        if code:
            raise SystemExit(f"the broker refused a commit for {task.topic}: error {code}")
        return round_trips(lambda: exchange(connection, frame), task.count)
