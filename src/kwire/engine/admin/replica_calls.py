"""What a call of `Admin` about replicas and leaders asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire._typing import Any
from kwire.engine.admin.a34_alter_replica_log_dirs import AlterReplicaLogDirs
from kwire.engine.admin.a35_describe_log_dirs import DescribeLogDirs, DescribeReplicaLogDirs
from kwire.engine.admin.a43_elect_leaders import PREFERRED, UNCLEAN, ElectAllLeaders, ElectLeaders
from kwire.engine.admin.a45_alter_partition_reassignments import AlterPartitionReassignments
from kwire.engine.admin.a46_list_partition_reassignments import ListPartitionReassignments
from kwire.engine.admin.calls import Question
from kwire.engine.admin.replica_results import (
    LogDirDescription,
    PartitionReassignment,
    ReplicaLogDirInfo,
    TopicPartitionReplica,
)
from kwire.engine.calls import arguments
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError

_ELECTION_TYPES = {"preferred": PREFERRED, "unclean": UNCLEAN}


def describe_log_dirs(brokers: Iterable[int] | None) -> Question[dict[int, dict[str, LogDirDescription]]]:
    """`Admin.describe_log_dirs`."""
    wanted = None if brokers is None else _broker_ids(brokers, "brokers")
    return Question(None if wanted == [] else DescribeLogDirs(wanted), dict)


def describe_replica_log_dirs(replicas: Iterable[Any]) -> Question[dict[TopicPartitionReplica, ReplicaLogDirInfo]]:
    """`Admin.describe_replica_log_dirs`."""
    if isinstance(replicas, str | bytes | Mapping | TopicPartitionReplica) or not isinstance(replicas, Iterable):
        raise ConfigError(f"replicas={replicas!r}: expected a list of (topic, partition, broker)")
    wanted = list(dict.fromkeys(map(_replica, replicas)))
    return Question(DescribeReplicaLogDirs(wanted) if wanted else None, dict)


def alter_replica_log_dirs(assignment: Mapping[Any, str]) -> Question[None]:
    """`Admin.alter_replica_log_dirs`."""
    if not isinstance(assignment, Mapping):
        raise ConfigError(f"assignment={assignment!r}: expected a mapping {{(topic, partition, broker): directory}}")
    wanted = {_replica(key): _directory(key, path) for key, path in assignment.items()}
    return Question(AlterReplicaLogDirs(wanted) if wanted else None, lambda found: None)


def alter_partition_reassignments(
    reassignments: Mapping[Any, Sequence[int] | None], *, may_change_factor: bool
) -> Question[None]:
    """`Admin.alter_partition_reassignments`."""
    wanted = {
        tp: None if replicas is None else _replicas_of(tp, replicas)
        for tp, replicas in arguments.by_partition(reassignments, "reassignments").items()
    }
    api = AlterPartitionReassignments(wanted, may_change_factor=may_change_factor) if wanted else None
    return Question(api, lambda found: None)


def list_partition_reassignments(
    partitions: Iterable[tuple[str, int]] | None,
) -> Question[dict[TopicPartition, PartitionReassignment]]:
    """`Admin.list_partition_reassignments`."""
    wanted = None if partitions is None else arguments.partitions(partitions)
    return Question(None if wanted == [] else ListPartitionReassignments(wanted), dict)


def elect_leaders(
    election_type: str, partitions: Iterable[tuple[str, int]] | None
) -> Question[dict[TopicPartition, bool]]:
    """`Admin.elect_leaders`."""
    if election_type not in _ELECTION_TYPES:
        raise ConfigError(f"election_type={election_type!r}: expected 'preferred' or 'unclean'")
    code = _ELECTION_TYPES[election_type]
    if partitions is None:
        return Question(ElectAllLeaders(code), dict)
    wanted = list(dict.fromkeys(arguments.partitions(partitions)))
    return Question(ElectLeaders(code, wanted) if wanted else None, dict)


def _replica(entry: object) -> TopicPartitionReplica:
    """One replica: a tuple of three, or a mapping of their names."""
    if isinstance(entry, Mapping) and set(entry) == set(TopicPartitionReplica._fields):
        entry = tuple(entry[name] for name in TopicPartitionReplica._fields)
    if not isinstance(entry, tuple) or len(entry) != len(TopicPartitionReplica._fields):
        raise ConfigError(f"{entry!r} is not a replica: expected (topic, partition, broker)")
    topic, number, broker = entry
    return TopicPartitionReplica(*arguments.partition((topic, number)), arguments.broker_id(broker))


def _directory(key: object, path: object) -> str:
    if not isinstance(path, str) or not path:
        raise ConfigError(f"{key!r}: {path!r} is not a log directory: expected its path, as a str")
    return path


def _replicas_of(tp: TopicPartition, replicas: object) -> list[int]:
    if not isinstance(replicas, Iterable) or isinstance(replicas, str | bytes | Mapping):
        raise ConfigError(f"{tp}: {replicas!r} are no replicas: expected a list of broker ids, or None to cancel")
    found = _broker_ids(replicas, f"replicas of {tp}", may_repeat=False)
    if not found:
        raise ConfigError(f"{tp}: a partition needs one replica at least; None cancels a reassignment")
    return found


def _broker_ids(given: object, name: str, *, may_repeat: bool = True) -> list[int]:
    if isinstance(given, int) and not isinstance(given, bool):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise ConfigError(f"{name}={given!r}: expected a list of broker ids")
    ids = [arguments.broker_id(each, name) for each in given]
    once = list(dict.fromkeys(ids))
    if len(once) < len(ids) and not may_repeat:
        raise ConfigError(f"{name}: {ids} names a broker twice")
    return once
