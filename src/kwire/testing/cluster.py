"""What the embedded broker knows: itself, its topics with their partitions, and the producer ids it gave out.

Plain state for one thread. Time is asked of a clock that is passed in; nothing here sees requests or sockets.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kwire.errors import broker as codes
from kwire.testing.log import PartitionLog
from kwire.testing.producer_state import ProducerStates
from kwire.testing.topic_settings import TopicSettings

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_MOST_PARTITIONS = 10_000


def _now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(slots=True, eq=False)
class Partition:
    """One partition: its log, its idempotent producers, its leader epoch."""

    topic: Topic
    index: int
    log: PartitionLog
    producers: ProducerStates = field(default_factory=ProducerStates)
    leader_epoch: int = 0


@dataclass(slots=True, eq=False)
class Topic:
    """A topic by name and id, with its settings and partitions."""

    name: str
    topic_id: uuid.UUID
    settings: TopicSettings
    partitions: list[Partition] = field(default_factory=list)


class ClusterState:
    """One node that leads everything.

    `touched` collects the partitions that something happened to, for the server, which resumes the readers that wait.
    """

    def __init__(
        self,
        *,
        auto_create_topics: bool = True,
        num_partitions: int = 1,
        max_message_bytes: int = 1_048_588,
        retention_bytes: int | None = None,
        node_id: int = 1,
        cluster_id: str = "kwire-testing-cluster1",
        clock: Callable[[], int] = _now_ms,
    ) -> None:
        self.auto_create_topics = auto_create_topics
        self.num_partitions = num_partitions
        self.max_message_bytes = max_message_bytes
        self.retention_bytes = retention_bytes
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.clock = clock
        self.host = ""
        self.port = 0
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[uuid.UUID, Topic] = {}
        self.touched: set[Partition] = set()
        self._next_producer_id = 1000

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str | None] | None = None) -> Topic:
        """Adds a topic. Raises BrokerError for a bad name, count or setting, and for a topic that exists."""
        check_topic_name(name)
        if name in self.topics:
            raise codes.TOPIC_ALREADY_EXISTS(f"topic {name!r} exists already")
        if not 1 <= partitions <= _MOST_PARTITIONS:
            raise codes.INVALID_PARTITIONS(f"{partitions} partitions; 1 to {_MOST_PARTITIONS} work")
        made = Topic(name, uuid.uuid4(), self.settings_for(settings or {}))
        retention = made.settings.retention_bytes
        made.partitions = [Partition(made, index, PartitionLog(retention)) for index in range(partitions)]
        self.topics[name] = self.topics_by_id[made.topic_id] = made
        return made

    def settings_for(self, given: Mapping[str, str | None]) -> TopicSettings:
        """A topic's settings: what was given over what the broker was started with."""
        return TopicSettings.parse(
            given, max_message_bytes=self.max_message_bytes, retention_bytes=self.retention_bytes
        )

    def delete_topic(self, topic: Topic) -> None:
        """Forgets a topic; readers that wait on it are woken."""
        del self.topics[topic.name], self.topics_by_id[topic.topic_id]
        self.touched.update(topic.partitions)

    def topic(self, name: str | None, topic_id: uuid.UUID | None = None) -> Topic:
        """The topic of that name, or of that id where there is no name. Raises BrokerError."""
        if name:
            found = self.topics.get(name)
            if found is None:
                raise codes.UNKNOWN_TOPIC_OR_PARTITION(f"no topic {name!r}")
        else:
            found = self.topics_by_id.get(topic_id) if topic_id is not None else None
            if found is None:
                raise codes.UNKNOWN_TOPIC_ID(f"no topic with id {topic_id}")
        return found

    def partition(self, name: str | None, topic_id: uuid.UUID | None, index: int) -> Partition:
        """The partition, by topic name or id. Raises BrokerError."""
        topic = self.topic(name, topic_id)
        if not 0 <= index < len(topic.partitions):
            raise codes.UNKNOWN_TOPIC_OR_PARTITION(
                f"topic {topic.name!r} has partitions 0 to {len(topic.partitions) - 1}, not {index}",
            )
        return topic.partitions[index]

    def new_producer_id(self) -> int:
        """An id that no producer had before."""
        self._next_producer_id += 1
        return self._next_producer_id


def check_topic_name(name: str) -> None:
    """Raises BrokerError (INVALID_TOPIC_EXCEPTION) for a name that Kafka would not take."""
    if name in {".", ".."} or not _TOPIC_NAME.fullmatch(name):
        raise codes.INVALID_TOPIC_EXCEPTION(
            f"{name!r}: a topic name has 1 to 249 of the characters a-z A-Z 0-9 . _ -, and is not '.' or '..'",
        )


def check_leader_epoch(partition: Partition, asked: int) -> None:
    """Raises BrokerError when a reader's idea of the leader epoch is not the partition's (KIP-320); -1 is none."""
    if asked == -1 or asked == partition.leader_epoch:
        return
    is_older = asked < partition.leader_epoch
    code = codes.FENCED_LEADER_EPOCH if is_older else codes.UNKNOWN_LEADER_EPOCH
    raise code(f"leader epoch {asked}; it is {partition.leader_epoch}")
