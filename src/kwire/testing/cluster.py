"""What the embedded broker knows: itself, its topics with their partitions, and the producer ids it handed out.

Plain state for one thread. Time is asked of clocks that are passed in; nothing here sees requests or sockets.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from kwire.errors import broker as codes
from kwire.testing.groups.groups import Groups
from kwire.testing.records.log import PartitionLog
from kwire.testing.settings.config_names import TOPIC_CONFIGS, topic_configs
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.settings.topic_settings import TopicSettings
from kwire.testing.state.authorizer import Authorizer
from kwire.testing.state.configs import Configs
from kwire.testing.state.coordinators import GROUP, SHARE, TRANSACTION, CoordinatorMoved, Coordinators
from kwire.testing.state.fetch_sessions import FetchSessions
from kwire.testing.state.internal_topics import InternalTopics
from kwire.testing.state.nodes import Nodes
from kwire.testing.state.partition import Partition, Topic, check_leader, check_topic_name
from kwire.testing.state.quotas import Quotas
from kwire.testing.state.replication import check_assignment, move_leader, node_came_back, node_died, place_replicas
from kwire.testing.state.scram_users import ScramUsers
from kwire.testing.state.telemetry import Telemetry
from kwire.testing.state.timers import Timers
from kwire.testing.state.tokens import Tokens
from kwire.testing.state.transactions import Transactions
from kwire.testing.state.upkeep import Upkeep

_MAX_PARTITIONS = 10_000
_SESSION_IDS_PER_NODE = 1_000_000


def _now_ms() -> int:
    return int(time.time() * 1000)


class ClusterState:
    """All nodes, and what they know together: each sees a change at once.

    `touched` collects what something happened to (partitions, and whatever else requests wait for), for the server,
    which resumes the flows that wait for it. `timers` are calls to come. `clock` is the time of records in ms since
    1970, `now` a monotonic clock in seconds. `release` is the release's number, `topic_defaults` are configs of topics
    that do not say otherwise, `values_at_start` what brokers are started with and only have to tell.
    """

    def __init__(
        self,
        *,
        auto_create_topics: bool = True,
        num_partitions: int = 1,
        max_message_bytes: int = 1_048_588,
        retention_bytes: int | None = None,
        nodes: Nodes | None = None,
        cluster_id: str = "kwire-testing-cluster1",
        clock: Callable[[], int] = _now_ms,
        now: Callable[[], float] = time.monotonic,
        properties: BrokerProperties | None = None,
        authorizer: Authorizer | None = None,
        features: Mapping[str, int] | None = None,
        release: tuple[int, ...] = (4, 4),
        topic_defaults: Mapping[str, str] | None = None,
        values_at_start: Mapping[str, str] | None = None,
        security_protocol: str = "PLAINTEXT",
    ) -> None:
        self.release = release
        self.topic_configs = topic_configs(release)
        self.security_protocol = security_protocol
        self.values_at_start = dict(values_at_start or {}) | {
            "auto.create.topics.enable": str(auto_create_topics).lower(),
            "num.partitions": str(num_partitions),
            "message.max.bytes": str(max_message_bytes),
            "log.retention.bytes": str(-1 if retention_bytes is None else retention_bytes),
        }
        for name, value in (topic_defaults or {}).items():
            self.values_at_start[TOPIC_CONFIGS[name].names()[0]] = value
        self.auto_create_topics = auto_create_topics
        self.num_partitions = num_partitions
        self.max_message_bytes = max_message_bytes
        self.retention_bytes = retention_bytes
        self.nodes = nodes or Nodes()
        self.cluster_id = cluster_id
        self.clock = clock
        self.now = now
        self.properties = properties or BrokerProperties()
        self.authorizer = authorizer or Authorizer()
        self.quotas = Quotas(now)
        self.scram = ScramUsers()
        self.tokens = Tokens(clock, self.properties)
        self.features = dict(features or {})
        self.features_epoch = 1
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[uuid.UUID, Topic] = {}
        self.touched: set[Hashable] = set()
        self.timers = Timers()
        self.groups = Groups(self)
        self.coordinators = Coordinators(
            {
                GROUP: self.properties.offsets_topic_num_partitions,
                TRANSACTION: self.properties.transaction_state_log_num_partitions,
                SHARE: self.properties.share_coordinator_state_topic_num_partitions,
            },
            self._coordinators_moved,
        )
        self.internal_topics = InternalTopics(self)
        self.coordinators.nodes_changed(self.nodes.ids)
        self.transactions = Transactions(self)
        self._next_producer_id = 1000
        self.upkeep = Upkeep(self)
        self._topic_defaults_at_start = dict(topic_defaults or {})
        self._topic_defaults: dict[str, str] = {}
        self.configs = Configs(self)
        self.telemetry = Telemetry(now, self.configs.of_client_metrics)
        self._fetch_sessions: dict[int, FetchSessions] = {}

    def create_topic(
        self,
        name: str,
        partitions: int,
        settings: Mapping[str, str | None] | Mapping[str, str] | None = None,
        *,
        replication_factor: int = -1,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> Topic:
        """Adds a topic. Raises BrokerError for a bad name, count or setting, and for a topic that exists.

        `assignment` names the replicas of each partition, the leader first; -1 is the default replication factor.
        """
        made = self.plan_topic(
            name, partitions, settings or {}, replication_factor=replication_factor, assignment=assignment
        )
        self.topics[name] = self.topics_by_id[made.topic_id] = made
        return made

    def plan_topic(
        self,
        name: str,
        partitions: int,
        settings: Mapping[str, str | None],
        *,
        replication_factor: int = -1,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> Topic:
        """The topic as `create_topic` would add it. Raises as that does."""
        check_topic_name(name)
        if name in self.topics:
            raise codes.TOPIC_ALREADY_EXISTS(f"topic {name!r} exists already")
        plain = name.replace(".", "_")
        alike = next((other for other in self.topics if other.replace(".", "_") == plain), None)
        if alike is not None:  # metrics of both would have one name
            raise codes.INVALID_TOPIC_EXCEPTION(f"topic {name!r} collides with existing topic {alike!r}")
        _check_partition_count(partitions)
        factor = self.default_replication_factor if replication_factor == -1 else replication_factor
        if assignment is None:
            assignment = [place_replicas(self.nodes, index, factor) for index in range(partitions)]
        made = Topic(name, uuid.uuid4(), self.settings_for(settings))
        self._add_partitions(made, assignment)
        return made

    @property
    def default_replication_factor(self) -> int:
        return min(self.properties.default_replication_factor, max(len(self.nodes.alive), 1))

    def add_partitions(self, topic: Topic, count: int, assignment: Sequence[Sequence[int]] | None = None) -> None:
        """Adds `count` partitions to a topic. Raises BrokerError."""
        present = len(topic.partitions)
        _check_partition_count(present + count)
        if assignment is None:
            factor = len(topic.partitions[0].replicas)
            assignment = [place_replicas(self.nodes, index, factor) for index in range(present, present + count)]
        self._add_partitions(topic, assignment)

    def _add_partitions(self, topic: Topic, assignment: Sequence[Sequence[int]]) -> None:
        for replicas in assignment:
            check_assignment(self.nodes, replicas)
        settings = topic.settings
        for replicas in assignment:
            log, index = PartitionLog(settings.retention_bytes, settings.segments), len(topic.partitions)
            topic.partitions.append(Partition(topic, index, log, list(replicas), list(replicas), leader=replicas[0]))

    def settings_for(self, given: Mapping[str, str | None]) -> TopicSettings:
        """A topic's settings: what was given over what was set for brokers, and that over what they were started with.

        Raises BrokerError (INVALID_CONFIG).
        """
        at_start = {
            "max.message.bytes": str(self.max_message_bytes),
            "min.insync.replicas": str(self.properties.min_insync_replicas),
            "unclean.leader.election.enable": str(self.properties.unclean_leader_election_enable).lower(),
        }
        if self.retention_bytes is not None:
            at_start["retention.bytes"] = str(self.retention_bytes)
        return TopicSettings.parse(
            given, self.topic_configs, at_start | self._topic_defaults_at_start | self._topic_defaults
        )

    def change_topic(self, topic: Topic, settings: TopicSettings) -> None:
        """Other settings from now on; retention by size holds at the next append."""
        topic.settings = settings
        for partition in topic.partitions:
            partition.log.retention_bytes, partition.log.limits = settings.retention_bytes, settings.segments
            self.upkeep.settings_changed(partition)

    def appended(self, partition: Partition) -> None:
        """Something was written: wakes readers, and sees to what time will do to it."""
        self.touched.add(partition)
        self.upkeep.appended(partition)

    def change_properties(self, properties: BrokerProperties, configs: Mapping[str, str]) -> None:
        """Other properties from now on; `configs` are all that were set for brokers, by their dotted names."""
        self.properties = properties
        self._topic_defaults = {
            name: configs[key]
            for name, config in self.topic_configs.items()
            for key in reversed(config.names())
            if key in configs
        }
        for topic in self.topics.values():
            self.change_topic(topic, self.settings_for(topic.settings.given))

    def delete_topic(self, topic: Topic) -> None:
        """Forgets a topic; readers that wait on it are woken."""
        del self.topics[topic.name], self.topics_by_id[topic.topic_id]
        for partition in topic.partitions:
            self.upkeep.stop(partition)
        self.groups.delete_topic(topic.name)
        self.wake(topic.partitions)

    def wake(self, what: Iterable[Hashable]) -> None:
        """Resumes the flows that wait for any of these."""
        self.touched.update(what)

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

    def partition_led_by(
        self, node: int, name: str | None, topic_id: uuid.UUID | None, index: int, epoch: int = -1
    ) -> Partition:
        """The same, if `node` leads it, in the leader epoch that is asked for unless that is -1. Raises BrokerError."""
        found = self.partition(name, topic_id, index)
        check_leader(found, node, epoch)
        return found

    # Nodes that die and leaders that move.

    def kill(self, node: int) -> None:
        """The node is gone: others lead what it led, and coordinate what it coordinated."""
        if self.nodes.set_alive(node, False):
            self._fetch_sessions.pop(node, None)
            self._nodes_changed(node_died, node)

    def revive(self, node: int) -> None:
        """The node is back, and in sync."""
        if self.nodes.set_alive(node, True):
            self._nodes_changed(node_came_back, node)

    def move_leader(self, partition: Partition, node: int) -> None:
        """Another leader, in a new epoch. Raises ConfigError for a node that does not live."""
        move_leader(partition, node, self.nodes)
        self.wake([partition])

    def truncate(self, partition: Partition, offset: int) -> None:
        """Loses the records from `offset` on, in a new epoch: an unclean election. Another replica leads if one can."""
        partition.truncate(offset)
        others = [each for each in partition.replicas if each != partition.leader and self.nodes.is_alive(each)]
        partition.lead_by(others[0] if others else partition.leader)
        self.wake([partition])

    def _nodes_changed(self, what: Callable[..., None], node: int) -> None:
        has_elr = self.features.get("eligible.leader.replicas.version", 0) > 0
        for topic in self.topics.values():
            for partition in topic.partitions:
                what(partition, node, self.nodes, has_elr=has_elr)
            self.wake(topic.partitions)
        self.coordinators.nodes_changed(each.node_id for each in self.nodes.alive)
        for kind in self.coordinators.slots:
            self.internal_topics.lead(kind)

    def _coordinators_moved(self, moved: Iterable[CoordinatorMoved]) -> None:
        moved = list(moved)
        self.wake(moved)
        for kind in {each.kind for each in moved}:
            self.internal_topics.lead(kind)

    def fetch_sessions(self, node: int) -> FetchSessions:
        """The fetch sessions of a node; they end when it dies."""
        if node not in self._fetch_sessions:
            slots = self.properties.max_incremental_fetch_session_cache_slots
            self._fetch_sessions[node] = FetchSessions(node * _SESSION_IDS_PER_NODE, slots)
        return self._fetch_sessions[node]

    def new_producer_id(self) -> int:
        """An id that no producer had before."""
        self._next_producer_id += 1
        return self._next_producer_id


def _check_partition_count(partitions: int) -> None:
    if not 1 <= partitions <= _MAX_PARTITIONS:
        raise codes.INVALID_PARTITIONS(f"{partitions} partitions; expected 1 to {_MAX_PARTITIONS}")
