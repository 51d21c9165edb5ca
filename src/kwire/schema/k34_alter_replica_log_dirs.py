"""AlterReplicaLogDirs (key 34), versions 0-2: moves replicas to other log directories of their broker (KIP-113).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 (v0-v2) and 4.4.0 (v1-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i32s, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AlterReplicaLogDirsRequest", "AlterReplicaLogDirsResponse"]


class AlterReplicaLogDirsRequest(Request, key=34, versions="0-2", flexible="2+"):
    """For each directory the partitions that shall live there."""

    class AlterReplicaLogDir(Struct):
        class AlterReplicaLogDirTopic(Struct):
            name: str = string("0+", default="")
            partitions: Sequence[int] = i32s("0+", default=())

        path: str = string("0+", default="")
        topics: Sequence[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic, "0+", default=())

    dirs: Sequence[AlterReplicaLogDir] = array(AlterReplicaLogDir, "0+", default=())


class AlterReplicaLogDirsResponse(Response, key=34, versions="0-2", flexible="2+"):
    """What became of each partition."""

    class AlterReplicaLogDirTopicResult(Struct):
        class AlterReplicaLogDirPartitionResult(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)

        topic_name: str = string("0+", default="")
        partitions: Sequence[AlterReplicaLogDirPartitionResult] = array(
            AlterReplicaLogDirPartitionResult, "0+", default=()
        )

    throttle_time_ms: int = i32("0+", default=0)
    results: Sequence[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult, "0+", default=())
