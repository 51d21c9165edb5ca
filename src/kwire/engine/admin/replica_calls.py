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
from kwire.engine.admin.calls import Question, broker_ids
from kwire.engine.admin.replica_results import (
    LogDirDescription,
    PartitionReassignment,
    ReplicaLogDirInfo,
    TopicPartitionReplica,
)
from kwire.engine.calls import arguments
from kwire.engine.calls.words import word_in
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError

_ELECTION_TYPES = {"preferred": PREFERRED, "unclean": UNCLEAN}


def describe_log_dirs(brokers: Iterable[int] | None) -> Question[dict[int, dict[str, LogDirDescription]]]:
    """`Admin.describe_log_dirs`."""
    wanted = None if brokers is None else _brokers(brokers)
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
    arguments.flag(may_change_factor, "allow_replication_factor_change")
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
    kind = word_in(election_type, _ELECTION_TYPES)
    if kind is None:
        raise ConfigError(f"election_type={election_type!r}: expected 'preferred' or 'unclean'")
    code = _ELECTION_TYPES[kind]
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
    return arguments.checked_name(path, f"the path of a log directory for {key!r}")


def _replicas_of(tp: TopicPartition, replicas: object) -> list[int]:
    found = broker_ids(replicas, f"replicas of {tp}")
    if not found:
        raise ConfigError(f"{tp}: a partition needs one replica at least; None cancels a reassignment")
    if len(set(found)) < len(found):
        raise ConfigError(f"replicas of {tp}: {found} names a broker twice")
    return found


def _brokers(given: object) -> list[int]:
    if isinstance(given, int) and not isinstance(given, bool):
        given = [given]
    return list(dict.fromkeys(broker_ids(given, "brokers")))
