"""DescribeLogDirs: the log directories of brokers, what is in them, and how many bytes that has. Layer 3, no I/O.

The sizes of logs are asked of the leaders of their partitions, everything else of the brokers named. Needs the right to
describe the cluster; brokers before Kafka 1.0 do not have it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.replica_results import (
    LogDirDescription,
    ReplicaInfo,
    ReplicaLogDirInfo,
    TopicPartitionReplica,
)
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AllBrokers, Leader, NamedBroker
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import BrokerError, KafkaError
from kwire.schema.api_keys import DESCRIBE_LOG_DIRS
from kwire.schema.error_codes import CLUSTER_AUTHORIZATION_FAILED, KAFKA_STORAGE_ERROR, NONE

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Directory = protocol.DescribeLogDirsResponse.DescribeLogDirsResult
    Row = Directory.DescribeLogDirsTopic.DescribeLogDirsPartition

LogDirs = dict[str, LogDirDescription]

TOO_OLD = "log directories can be asked about since Kafka 1.0"


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
        return _request(keys)

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.DescribeLogDirsResponse, version: int
    ) -> Mapping[TopicPartition, int | KafkaError]:
        _check(response, self.what)
        sizes = dict.fromkeys(keys, 0)
        for directory in response.results:
            for tp, row in _replicas(directory):
                if tp in sizes and not row.is_future_key:
                    sizes[tp] = row.partition_size
        return sizes


class DescribeLogDirs(AdminApi[int, LogDirs]):
    """{broker: {directory: LogDirDescription}}, of all brokers for None."""

    api_key = DESCRIBE_LOG_DIRS
    retries_codes = True
    tells_all = True
    what = "DescribeLogDirs"
    when_too_old = TOO_OLD

    def __init__(self, brokers: Sequence[int] | None) -> None:
        self.lookup = NamedBroker(lambda broker: broker)
        self._all = AllBrokers()
        self._brokers = brokers

    @override
    def split(self, core: Services) -> Sequence[int] | None:
        return self._all.ids(core) if self._brokers is None else self._brokers

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.DescribeLogDirsRequest:
        return protocol.DescribeLogDirsRequest(topics=None)

    @override
    def result(
        self, keys: Sequence[int], response: protocol.DescribeLogDirsResponse, version: int
    ) -> Mapping[int, LogDirs | KafkaError]:
        _check(response, f"{self.what} of broker {keys[0]}")
        found = {row.log_dir: _described(row, keys[0]) for row in response.results}
        return dict.fromkeys(keys, found)


class DescribeReplicaLogDirs(AdminApi[TopicPartitionReplica, ReplicaLogDirInfo]):
    """{replica: ReplicaLogDirInfo}, each asked of its broker."""

    api_key = DESCRIBE_LOG_DIRS
    retries_codes = True
    tells_all = True
    what = "DescribeLogDirs"
    when_too_old = TOO_OLD

    def __init__(self, replicas: Sequence[TopicPartitionReplica]) -> None:
        self.lookup = NamedBroker(lambda replica: replica.broker_id)
        self._replicas = replicas

    @override
    def split(self, core: Services) -> Sequence[TopicPartitionReplica]:
        return self._replicas

    @override
    def request(
        self, core: Services, keys: Sequence[TopicPartitionReplica], version: int
    ) -> protocol.DescribeLogDirsRequest:
        return _request([TopicPartition(key.topic, key.partition) for key in keys])

    @override
    def result(
        self, keys: Sequence[TopicPartitionReplica], response: protocol.DescribeLogDirsResponse, version: int
    ) -> Mapping[TopicPartitionReplica, ReplicaLogDirInfo | KafkaError]:
        broker = keys[0].broker_id
        _check(response, f"{self.what} of broker {broker}")
        found = dict.fromkeys(keys, ReplicaLogDirInfo())
        for directory in response.results:
            if directory.error_code not in (NONE, KAFKA_STORAGE_ERROR):
                raise _failure(directory, broker)
            for tp, row in _replicas(directory):
                key = TopicPartitionReplica(*tp, broker)
                if key in found:
                    found[key] = _with_place(found[key], directory.log_dir, row)
        return found


def _request(partitions: Sequence[TopicPartition]) -> protocol.DescribeLogDirsRequest:
    made = protocol.DescribeLogDirsRequest
    by_topic: dict[str, list[int]] = defaultdict(list)
    for tp in partitions:
        by_topic[tp.topic].append(tp.partition)
    return made(topics=[made.DescribableLogDirTopic(topic=name, partitions=by_topic[name]) for name in by_topic])


def _check(response: protocol.DescribeLogDirsResponse, what: str) -> None:
    # Up to v2, who may not ask is told of no directory.
    code = response.error_code or (0 if response.results else CLUSTER_AUTHORIZATION_FAILED)
    if code:
        raise errors.broker.error_for(code, what)


def _replicas(directory: Directory) -> Iterator[tuple[TopicPartition, Row]]:
    for topic in directory.topics:
        for row in topic.partitions:
            yield TopicPartition(topic.name, row.partition_index), row


def _described(directory: Directory, broker: int) -> LogDirDescription:
    return LogDirDescription(
        error=_failure(directory, broker) if directory.error_code else None,
        replicas={
            tp: ReplicaInfo(row.partition_size, row.offset_lag, row.is_future_key) for tp, row in _replicas(directory)
        },
        total_bytes=None if directory.total_bytes < 0 else directory.total_bytes,
        usable_bytes=None if directory.usable_bytes < 0 else directory.usable_bytes,
        is_cordoned=directory.is_cordoned,
    )


def _failure(directory: Directory, broker: int) -> BrokerError:
    return errors.broker.error_for(directory.error_code, f"log directory {directory.log_dir!r} of broker {broker}")


def _with_place(known: ReplicaLogDirInfo, path: str, row: Row) -> ReplicaLogDirInfo:
    if row.is_future_key:
        return known._replace(future_dir=path, future_offset_lag=row.offset_lag)
    return known._replace(current_dir=path, current_offset_lag=row.offset_lag)
