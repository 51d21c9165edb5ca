"""AlterReplicaLogDirs: replicas are moved to other log directories, each by its own broker. Layer 3, no I/O.

A broker answers when the move has begun.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.replica_results import TopicPartitionReplica
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import NamedBroker
from kwire.engine.calls.rows import by_key
from kwire.errors import KafkaError
from kwire.schema.api_keys import ALTER_REPLICA_LOG_DIRS

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class AlterReplicaLogDirs(AdminApi[TopicPartitionReplica, None]):
    """Begins the moves; the result is None."""

    api_key = ALTER_REPLICA_LOG_DIRS
    tells_all = True
    what = "AlterReplicaLogDirs"
    when_too_old = "replicas can be moved between directories since Kafka 1.0"

    def __init__(self, wanted: Mapping[TopicPartitionReplica, str]) -> None:
        self.lookup = NamedBroker(lambda replica: replica.broker_id)
        self._wanted = wanted

    @override
    def split(self, core: Services) -> Sequence[TopicPartitionReplica]:
        return list(self._wanted)

    @override
    def request(
        self, core: Services, keys: Sequence[TopicPartitionReplica], version: int
    ) -> protocol.AlterReplicaLogDirsRequest:
        made = protocol.AlterReplicaLogDirsRequest.AlterReplicaLogDir
        by_path: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for key in keys:
            by_path[self._wanted[key]][key.topic].append(key.partition)
        return protocol.AlterReplicaLogDirsRequest(
            dirs=[
                made(
                    path=path,
                    topics=[made.AlterReplicaLogDirTopic(name=name, partitions=rows) for name, rows in topics.items()],
                )
                for path, topics in by_path.items()
            ]
        )

    @override
    def result(
        self, keys: Sequence[TopicPartitionReplica], response: protocol.AlterReplicaLogDirsResponse, version: int
    ) -> Mapping[TopicPartitionReplica, KafkaError | None]:
        rows = (
            (TopicPartitionReplica(topic.topic_name, row.partition_index, keys[0].broker_id), row.error_code)
            for topic in response.results
            for row in topic.partitions
        )
        return by_key(((key, self._refusal(key, code) if code else None) for key, code in rows), self.what)

    def _refusal(self, key: TopicPartitionReplica, code: int) -> KafkaError:
        return errors.broker.error_for(code, f"{self.what} of {key} to {self._wanted.get(key)!r}")
