"""What Admin returns about replicas, their directories and their reassignments. Layer 3: values only."""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import NamedTuple
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.notebooks import in_notebooks
from kwire.errors import BrokerError


@in_notebooks
class TopicPartitionReplica(NamedTuple):
    """The replica of a partition that one broker has."""

    topic: str
    partition: int
    broker_id: int

    def __str__(self) -> str:
        return f"{TopicPartition(self.topic, self.partition)} on broker {self.broker_id}"


@in_notebooks
class ReplicaInfo(NamedTuple):
    """One replica in a log directory: its size in bytes, and how many records it lacks of what it copies. One that is
    being moved here from another directory of its broker `is_future`."""

    size: int
    offset_lag: int
    is_future: bool = False


@in_notebooks
class LogDirDescription(NamedTuple):
    """One log directory of a broker. `error` is why it cannot be used, None where it can. Bytes of its volume are None
    before Kafka 3.3; no new replicas come into one that `is_cordoned`."""

    error: BrokerError | None
    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None = None
    usable_bytes: int | None = None
    is_cordoned: bool = False


@in_notebooks
class ReplicaLogDirInfo(NamedTuple):
    """Where a replica is and where it is being moved to: None where it is not there, or not being moved."""

    current_dir: str | None = None
    current_offset_lag: int | None = None
    future_dir: str | None = None
    future_offset_lag: int | None = None


@in_notebooks
class PartitionReassignment(NamedTuple):
    """A reassignment that is in progress: the brokers of all replicas, and which of them are to come and to go."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
