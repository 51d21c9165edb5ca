"""Admin: topics created, deleted, described, and their offsets.

Layer 5: puts the engine's calls on the synchronous driver. What is asked of whom is in `kwire.engine.admin`, one file
per API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack
from kwire.drivers.client import Client
from kwire.engine import absent, arguments
from kwire.engine.absent import without
from kwire.engine.addresses import TopicPartition
from kwire.engine.admin.a02_list_offsets import ListOffsets
from kwire.engine.admin.a03_metadata import DescribeTopics
from kwire.engine.admin.a19_create_topics import CreatedTopic, CreateTopics, NewTopic
from kwire.engine.admin.a20_delete_topics import DeleteTopics
from kwire.engine.metadata import PartitionInfo, TopicInfo
from kwire.engine.offsets import NO_OFFSET, OffsetAndTimestamp, isolation_code, time_of
from kwire.engine.settings import AdminSettings, configured_by, from_config, keywords
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.engine.options import AdminOptions, Servers, Timeout

Partition = TypeVar("Partition", bound=tuple[str, int])

__all__ = ["Admin", "CreatedTopic", "NewTopic", "PartitionInfo", "TopicInfo"]


@configured_by(AdminSettings)
@without(absent.ADMIN)
class Admin(Client[AdminSettings]):
    """Administration of topics, from any thread.

        with Admin("host:9092") as admin:
            admin.create_topics({"topic": 12})

    Keywords are the settings below. Each call takes `timeout=` in seconds (default
    `default_api_timeout_ms`) and is retried within it where that can help. Errors: ConfigError for arguments;
    ConnectError with a cause for each address; UnknownTopicError; BrokerError, also code 35 where the broker is too old
    for the call; KafkaTimeoutError.
    """

    kind = "admin"

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]) -> None:
        self._open(AdminSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win."""
        return cls._of(from_config(AdminSettings, config, **keywords(bootstrap_servers, options)))

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
        wanted = {arguments.topic_name(name): _new_topic(name, detail) for name, detail in _by_name(topics).items()}
        if not wanted:
            return {}
        created: dict[str, CreatedTopic] = self._run(CreateTopics(wanted, validate_only=validate_only), timeout)
        return created

    def delete_topics(self, topics: Iterable[str], *, timeout: Timeout = None) -> None:
        """Deletes topics. Raises the BrokerError of the first that failed (code 3 where it does not exist)."""
        names = arguments.topic_names(topics)
        if names:
            self._run(DeleteTopics(names), timeout)

    def list_topics(self, *, internal: bool = False, timeout: Timeout = None) -> list[str]:
        """The names of all topics, sorted; those of Kafka itself only with `internal=True`."""
        found = self.describe_topics(timeout=timeout)
        return sorted(name for name, info in found.items() if internal or not info.is_internal)

    def describe_topics(self, topics: Iterable[str] | None = None, *, timeout: Timeout = None) -> dict[str, TopicInfo]:
        """Id, partitions, leaders and replicas of topics (None: of all). UnknownTopicError for one that is missing."""
        names = None if topics is None else arguments.topic_names(topics)
        if names == []:
            return {}
        found: dict[str, TopicInfo] = self._run(DescribeTopics(names), timeout)
        return found

    def list_offsets(
        self,
        when: Mapping[Partition, int | datetime | str],
        *,
        isolation_level: str = "read_uncommitted",
        timeout: Timeout = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The offset of each partition at a time: "earliest", "latest", a datetime or ms since the epoch.

        None where no record is that late. With "read_committed", "latest" is the last stable offset.
        """
        times = {tp: time_of(moment) for tp, moment in arguments.by_partition(when, "when").items()}
        isolation = isolation_code(isolation_level)
        found: dict[TopicPartition, OffsetAndTimestamp] = self._run(ListOffsets(times, isolation=isolation), timeout)
        return {tp: None if entry.offset == NO_OFFSET else entry for tp, entry in found.items()}


def _by_name(topics: object) -> Mapping[str, object]:
    """What create_topics is given, by topic."""
    if isinstance(topics, Mapping):
        return topics
    if isinstance(topics, Iterable):
        topics = [topics] if isinstance(topics, str) else list(topics)
        if any(isinstance(topic, NewTopic) for topic in topics):
            raise ConfigError("topics is a list of NewTopic, which has no name; give {name: NewTopic(...)}")
    return dict.fromkeys(arguments.topic_names(topics), NewTopic())


def _new_topic(name: str, detail: object) -> NewTopic:
    if isinstance(detail, NewTopic):
        made = detail
    elif isinstance(detail, Mapping):
        odd = [key for key in detail if key not in NewTopic._fields]
        if odd:
            raise ConfigError(f"topic {name!r}: unknown detail {odd[0]!r}; there are {', '.join(NewTopic._fields)}")
        made = NewTopic(**detail)
    elif isinstance(detail, int):
        made = NewTopic(num_partitions=detail)
    else:
        raise ConfigError(f"topic {name!r}: {detail!r} is neither a number of partitions nor a NewTopic")
    return made.checked(name)
