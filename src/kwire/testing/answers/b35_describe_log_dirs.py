"""DescribeLogDirs (key 35).

Behaviour
    The one log directory of this node, with the sizes of the replicas that it has: of the partitions asked for, or of
    all for null. Partitions without a replica here are left out.

Version notes
    v3   error_code of the whole answer; who may not DESCRIBE the cluster is told no directory before
    v4   total_bytes and usable_bytes, which are not known: -1; v5 is_cordoned
"""

from __future__ import annotations

from kwire.errors import broker as codes
from kwire.protocol import DescribeLogDirsRequest, DescribeLogDirsResponse
from kwire.testing.answers.b34_alter_replica_log_dirs import log_dir_of
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, DESCRIBE

Context = RequestContext[DescribeLogDirsRequest]
_Dir = DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic
_Partition = _Topic.DescribeLogDirsPartition


_ERROR_SINCE = 3


def answer(context: Context) -> DescribeLogDirsResponse:
    """The directory."""
    if not context.allows(DESCRIBE, CLUSTER):
        code = codes.CLUSTER_AUTHORIZATION_FAILED.code if context.version >= _ERROR_SINCE else 0
        return DescribeLogDirsResponse(error_code=code, results=[])
    return DescribeLogDirsResponse(results=[_Dir(log_dir=log_dir_of(context.node), topics=_topics(context))])


def refuse(context: Context, code: int) -> DescribeLogDirsResponse:
    """The error alone; up to v2 that of the directory."""
    if context.version >= _ERROR_SINCE:
        return DescribeLogDirsResponse(error_code=code, results=[])
    return DescribeLogDirsResponse(results=[_Dir(error_code=code, log_dir=log_dir_of(context.node), topics=[])])


def _topics(context: Context) -> list[_Topic]:
    asked = context.request.topics
    wanted = None if asked is None else {(topic.topic, index) for topic in asked for index in topic.partitions}
    found = []
    for name, topic in sorted(context.cluster.topics.items()):
        rows = [
            _Partition(partition_index=each.index, partition_size=each.log.size, offset_lag=0, is_future_key=False)
            for each in topic.partitions
            if context.node in each.replicas and (wanted is None or (name, each.index) in wanted)
        ]
        if rows:
            found.append(_Topic(name=name, partitions=rows))
    return found
