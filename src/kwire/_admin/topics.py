"""Admin: topics and the offsets of their partitions. Layer 5: signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any, TypeVar, overload
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.admin.a19_create_topics import CreatedTopic, NewTopic
    from kwire.engine.admin.a37_create_partitions import NewPartitions
    from kwire.engine.calls.offsets import OffsetAndTimestamp
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.metadata.metadata import TopicInfo
    from kwire.engine.settings.options import Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])


class TopicCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about topics and the offsets of their partitions."""

    def create_topics(
        self,
        topics: Mapping[str, int | NewTopic | Mapping[str, Any]] | Iterable[str],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> dict[str, CreatedTopic]:
        """Creates topics: {"name": number of partitions}, {"name": NewTopic(...)} or {"name": {"num_partitions": ...,
        "replication_factor": ..., "configs": {...}, "assignments": {...}}}, or names alone for the broker's defaults.

        Raises the BrokerError of the first topic that failed (code 36 where it exists); its `failures` has the error of
        each, the others exist then.
        """
        return self._door.run(self._asked(engine.calls.create_topics(topics, validate_only=validate_only), timeout))

    def delete_topics(self, topics: Iterable[str] | Iterable[UUID], *, timeout: Timeout = None) -> None:
        """Deletes topics, by their names or by their ids (from Kafka 2.8 on). Raises the BrokerError of the first that
        failed (code 3 where it does not exist, 100 for an id); its `failures` has the error of each, the others are
        deleted."""
        self._door.run(self._asked(engine.calls.delete_topics(topics), timeout))

    def create_partitions(
        self,
        topics: Mapping[str, int | NewPartitions | Mapping[str, Any]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> None:
        """Gives topics more partitions: {"name": how many in all}, or {"name": {"total_count": ..., "new_assignments":
        [[1, 2], ...]}} with the replicas of each new one.

        Raises the BrokerError of the first topic that failed (code 37 where it has as many already); its `failures`
        has the error of each, the others have theirs then. Needs Kafka 1.0.
        """
        self._door.run(
            self._asked(engine.partition_calls.create_partitions(topics, validate_only=validate_only), timeout)
        )

    def delete_records(
        self, before: Mapping[Partition, int | str], *, timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """Deletes the records before an offset of each partition, before its end for "latest"; the first offset that
        each has then.

        Raises the BrokerError of the first partition that failed (code 1 for an offset beyond the end, 44 where the
        topic is only compacted); its `failures` has the error of each. Needs Kafka 0.11.
        """
        return self._door.run(self._asked(engine.partition_calls.delete_records(before), timeout))

    def list_topics(self, *, internal: bool = False, timeout: Timeout = None) -> list[str]:
        """The names of all topics, sorted; those of Kafka itself only with `internal=True`."""
        return self._door.run(self._asked(engine.calls.list_topics(internal=internal), timeout))

    @overload
    def describe_topics(
        self, topics: Iterable[str] | None = None, *, timeout: Timeout = None
    ) -> dict[str, TopicInfo]: ...

    @overload
    def describe_topics(self, topics: Iterable[UUID], *, timeout: Timeout = None) -> dict[UUID, TopicInfo]: ...

    def describe_topics(
        self, topics: Iterable[str] | Iterable[UUID] | None = None, *, timeout: Timeout = None
    ) -> dict[str, TopicInfo] | dict[UUID, TopicInfo]:
        """Id, partitions, leaders and replicas of topics (None: of all), by their names or by their ids (from Kafka 3.1
        on). UnknownTopicError for one that is missing; of several its `failures` has the error of each."""
        return self._door.run(self._asked(engine.calls.describe_topics(topics), timeout))

    def list_offsets(
        self,
        when: Mapping[Partition, int | datetime | str],
        *,
        isolation_level: str = "read_uncommitted",
        timeout: Timeout = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The offset of each partition at a time: "earliest", "latest", a datetime or ms since the epoch.

        None where no record is as late. With "read_committed", "latest" is the last stable offset.
        """
        return self._door.run(self._asked(engine.calls.list_offsets(when, isolation_level=isolation_level), timeout))
