"""Admin: topics created, deleted, described, and their offsets.

Layer 5: puts the engine's calls on the synchronous driver. What is asked of whom is in `kwire.engine.admin`, one file
per API; arguments are checked in its `calls.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack
from kwire.engine.admin import calls, group_calls
from kwire.engine.admin.a19_create_topics import CreatedTopic, NewTopic
from kwire.engine.calls.offsets import OffsetAndTimestamp
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.metadata.metadata import PartitionInfo, TopicInfo
from kwire.engine.settings.clients import AdminSettings
from kwire.engine.settings.config import configured_by, keywords
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.group_calls import Progress
    from kwire.engine.admin.group_results import GroupDescription, GroupListing
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.settings.options import AdminOptions, Servers, Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])

__all__ = ["Admin", "CreatedTopic", "NewTopic", "PartitionInfo", "TopicInfo"]


@configured_by(AdminSettings)
@without(absent.ADMIN)
class Admin(AdminFront, Client[AdminSettings]):
    """Administration of topics, from any thread.

        with Admin("host:9092") as admin:
            admin.create_topics({"topic": 12})

    Keywords are the settings below. Each call takes `timeout=` in seconds (default
    `default_api_timeout_ms`) and is retried within it where that can help. Errors: ConfigError for arguments;
    ConnectError with a cause for each address; UnknownTopicError; BrokerError, also code 35 where the broker is too old
    for the call; KafkaTimeoutError.
    """

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]) -> None:
        self._open(AdminSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is ignored, with a line at DEBUG.
        """
        return cls._configured(AdminSettings, config, bootstrap_servers, options)

    # -- topics -----------------------------------------------------------------------------------------------------

    def create_topics(
        self,
        topics: Mapping[str, int | NewTopic | Mapping[str, Any]] | Iterable[str],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> dict[str, CreatedTopic]:
        """Creates topics: {"name": number of partitions}, {"name": NewTopic(...)} or {"name": {"num_partitions": ...,
        "replication_factor": ..., "configs": {...}, "assignments": {...}}}, or names alone for the broker's defaults.

        Raises the BrokerError of the first topic that failed (code 36 where it exists); the others may exist then.
        """
        return self._door.run(self._asked(calls.create_topics(topics, validate_only=validate_only), timeout))

    def delete_topics(self, topics: Iterable[str], *, timeout: Timeout = None) -> None:
        """Deletes topics. Raises the BrokerError of the first that failed (code 3 where it does not exist)."""
        self._door.run(self._asked(calls.delete_topics(topics), timeout))

    def list_topics(self, *, internal: bool = False, timeout: Timeout = None) -> list[str]:
        """The names of all topics, sorted; those of Kafka itself only with `internal=True`."""
        return self._door.run(self._asked(calls.list_topics(internal=internal), timeout))

    def describe_topics(self, topics: Iterable[str] | None = None, *, timeout: Timeout = None) -> dict[str, TopicInfo]:
        """Id, partitions, leaders and replicas of topics (None: of all). UnknownTopicError for one that is missing."""
        return self._door.run(self._asked(calls.describe_topics(topics), timeout))

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
        return self._door.run(self._asked(calls.list_offsets(when, isolation_level=isolation_level), timeout))

    # -- groups -----------------------------------------------------------------------------------------------------

    def list_groups(self, *, timeout: Timeout = None) -> list[GroupListing]:
        """All groups of all brokers, of whatever kind, sorted by their ids."""
        return self._door.run(self._asked(group_calls.list_groups(), timeout))

    def list_consumer_groups(self, *, timeout: Timeout = None) -> list[GroupListing]:
        """The groups of consumers, also those that only have offsets."""
        return self._door.run(self._asked(group_calls.list_consumer_groups(), timeout))

    def describe_consumer_groups(
        self, groups: Iterable[str], *, timeout: Timeout = None
    ) -> dict[str, GroupDescription]:
        """State, assignor and members of each group, of either protocol. Raises BrokerError (code 69) for one that does
        not exist; of several that failed its `failures` has the error of each."""
        return self._door.run(group_calls.describe_groups(self._asking(timeout), groups))

    def delete_consumer_groups(self, groups: Iterable[str], *, timeout: Timeout = None) -> None:
        """Deletes groups without members, and their offsets. Raises the BrokerError of the first that failed (code 68
        where it has members, 69 where it does not exist), whose `failures` has the error of each; the others are
        deleted."""
        self._door.run(self._asked(group_calls.delete_groups(groups), timeout))

    def list_consumer_group_offsets(
        self, group: str, *, require_stable: bool = False, timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The group's committed offsets. With `require_stable`, offsets of open transactions are waited for."""
        return self._door.run(self._asked(group_calls.list_offsets(group, stable=require_stable), timeout))

    def alter_consumer_group_offsets(
        self, group: str, offsets: Mapping[Partition, int | OffsetAndMetadata], *, timeout: Timeout = None
    ) -> None:
        """Commits these offsets in the group's place; a group that does not exist is created. Raises BrokerError
        (code 25) while it has members; its `failures` has the error of each partition that failed."""
        self._door.run(self._asked(group_calls.alter_offsets(group, offsets), timeout))

    def delete_consumer_group_offsets(
        self, group: str, partitions: Iterable[tuple[str, int]], *, timeout: Timeout = None
    ) -> None:
        """Deletes what the group has committed in these partitions. Raises BrokerError (code 86) for topics that a
        member has subscribed to; its `failures` has the error of each partition that failed."""
        self._door.run(self._asked(group_calls.delete_offsets(group, partitions), timeout))

    def remove_members_from_consumer_group(
        self, group: str, members: Iterable[str], *, timeout: Timeout = None
    ) -> None:
        """Puts static members, by their `group_instance_id`, out of a classic group at once. The `failures` of the
        BrokerError have the error of each that is not there."""
        self._door.run(self._asked(group_calls.remove_members(group, members), timeout))

    def lag(
        self, group: str, *, require_stable: bool = True, timeout: Timeout = None
    ) -> dict[TopicPartition, int | None]:
        """How many offsets each partition has after what the group has committed there, up to its end; None where it
        has committed nothing. In all partitions of the topics that it has committed in or that its members read.

        Offsets of an open transaction are waited for, unless `require_stable` is False.
        """
        return self._door.run(group_calls.lag(self._asking(timeout), group, stable=require_stable))

    def _progress(self, group: str) -> dict[TopicPartition, Progress]:
        return self._door.run(group_calls.progress(self._asking(None), group, stable=True))
