"""DescribeLogDirs: how many bytes the logs of partitions have, asked of their leaders. Layer 3, no I/O.

Needs the right to describe the cluster; brokers before Kafka 1.0 do not have it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Leader
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.api_keys import DESCRIBE_LOG_DIRS
from kwire.schema.error_codes import CLUSTER_AUTHORIZATION_FAILED

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class LogSizes(AdminApi[TopicPartition, int]):
    """The size in bytes of each partition's log at its leader; 0 for one that the leader does not list."""

    api_key = DESCRIBE_LOG_DIRS
    retries_codes = True
    what = "DescribeLogDirs"

    def __init__(self, partitions: Sequence[TopicPartition]) -> None:
        self.lookup = Leader()
        self._partitions = partitions

    @override
    def split(self, core: Services) -> Sequence[TopicPartition]:
        return self._partitions

    @override
    def request(self, core: Services, keys: Sequence[TopicPartition], version: int) -> protocol.DescribeLogDirsRequest:
        made = protocol.DescribeLogDirsRequest
        by_topic: dict[str, list[int]] = defaultdict(list)
        for tp in keys:
            by_topic[tp.topic].append(tp.partition)
        return made(topics=[made.DescribableLogDirTopic(topic=name, partitions=by_topic[name]) for name in by_topic])

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.DescribeLogDirsResponse, version: int
    ) -> Mapping[TopicPartition, int | KafkaError]:
        # Up to v2, who may not ask is told of no directory.
        code = response.error_code or (0 if response.results else CLUSTER_AUTHORIZATION_FAILED)
        if code:
            raise errors.broker.error_for(code, self.what)
        sizes = dict.fromkeys(keys, 0)
        for directory in response.results:
            for topic in directory.topics:
                for row in topic.partitions:
                    tp = TopicPartition(topic.name, row.partition_index)
                    if tp in sizes and not row.is_future_key:
                        sizes[tp] = row.partition_size
        return sizes
