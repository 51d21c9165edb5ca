"""AlterReplicaLogDirs (key 34).

Behaviour
    Every node has one log directory, /kwire-<node>, so replicas stay where they are: another directory is
    LOG_DIR_NOT_FOUND, a partition without a replica on this node UNKNOWN_TOPIC_OR_PARTITION.

Version notes
    v2 is flexible
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, CLUSTER

Context = RequestContext[AlterReplicaLogDirsRequest]
_Topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_Result = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult.AlterReplicaLogDirPartitionResult


def log_dir_of(node: int) -> str:
    """The path that stands for a node's memory."""
    return f"/kwire-{node}"


def answer(context: Context) -> AlterReplicaLogDirsResponse:
    """One result per partition."""
    return _results(context, None)


def refuse(context: Context, code: int) -> AlterReplicaLogDirsResponse:
    """Every partition answered with `code`."""
    return _results(context, code)


def _results(context: Context, code: int | None) -> AlterReplicaLogDirsResponse:
    by_topic: dict[str, list[_Result]] = {}
    for wanted in context.request.dirs:
        for topic in wanted.topics:
            rows = by_topic.setdefault(topic.name, [])
            for index in topic.partitions:
                found = _code(context, wanted.path, topic.name, index) if code is None else code
                rows.append(_Result(partition_index=index, error_code=found))
    return AlterReplicaLogDirsResponse(
        results=[_Topic(topic_name=name, partitions=rows) for name, rows in by_topic.items()]
    )


def _code(context: Context, path: str, topic: str, index: int) -> int:
    try:
        context.require(ALTER, CLUSTER)
        if path != log_dir_of(context.node):
            raise codes.LOG_DIR_NOT_FOUND(f"there is no log directory {path!r}")
        if context.node not in context.cluster.partition(topic, None, index).replicas:
            raise codes.UNKNOWN_TOPIC_OR_PARTITION(f"node {context.node} has no replica of {topic}-{index}")
    except BrokerError as refused:
        return refused.code
    return 0
