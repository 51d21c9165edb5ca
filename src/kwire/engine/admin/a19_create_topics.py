"""CreateTopics: asked of the controller.

Layer 3, no I/O. Versions below 4 know no broker defaults: there a replication factor of -1 becomes min(3, number of
brokers), and the number of partitions has to be said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, cast, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import each_of
from kwire.engine.common.notebooks import in_notebooks
from kwire.errors import ConfigError, KafkaError
from kwire.schema.api_keys import CREATE_TOPICS
from kwire.schema.error_codes import TOPIC_ALREADY_EXISTS, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.admin.config_results import ConfigValue
    from kwire.engine.ports import Services

    CreatableTopic = protocol.CreateTopicsRequest.CreatableTopic

BROKER_DEFAULT = -1
_FIRST_VERSION_WITH_VALIDATE_ONLY = 1
_FIRST_VERSION_WITH_DEFAULTS = 4
_USUAL_REPLICATION = 3
_MAX_PARTITIONS = 2**31 - 1
_MAX_REPLICATION = 2**15 - 1


class NewTopic(NamedTuple):
    """What a topic is to be. -1 leaves a number to the broker; `assignments` (partition -> replicas) replaces both."""

    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, ConfigValue] = {}
    assignments: Mapping[int, Sequence[int]] = {}

    def check(self, name: str) -> None:
        """Raises ConfigError that names topic and value."""
        for what, value, most in (
            ("num_partitions", self.num_partitions, _MAX_PARTITIONS),
            ("replication_factor", self.replication_factor, _MAX_REPLICATION),
        ):
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if not is_whole or value == 0 or not BROKER_DEFAULT <= value <= most:
                raise ConfigError(
                    f"topic {name!r}: {what}={value!r}; a number from 1 to {most}, or -1 for the broker's default"
                )
        if self.assignments and (self.num_partitions, self.replication_factor) != (BROKER_DEFAULT, BROKER_DEFAULT):
            raise ConfigError(
                f"topic {name!r}: assignments already name partitions and replicas; leave the two numbers out"
            )


@in_notebooks
class CreatedTopic(NamedTuple):
    """A topic that was made; -1, and an id of zeros, where the broker does not tell."""

    name: str
    topic_id: UUID
    num_partitions: int
    replication_factor: int


class CreateTopics(AdminApi[str, CreatedTopic]):
    """Creates the topics; {name: CreatedTopic}."""

    api_key = CREATE_TOPICS
    means_done = frozenset({TOPIC_ALREADY_EXISTS})
    tells_all = True

    def __init__(self, topics: Mapping[str, NewTopic], *, validate_only: bool = False) -> None:
        self.what = f"CreateTopics of {', '.join(topics)}"
        self.lookup = Controller()
        self._topics = topics
        self._validate_only = validate_only

    @override
    def split(self, core: Services) -> Sequence[str]:
        return list(self._topics)

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.CreateTopicsRequest:
        if self._validate_only and version < _FIRST_VERSION_WITH_VALIDATE_ONLY:
            raise errors.broker.error_for(UNSUPPORTED_VERSION, "validate_only needs Kafka 0.10.2 or newer")
        brokers = len(core.cluster.brokers)
        request = protocol.CreateTopicsRequest(
            timeout_ms=self.patience_ms,
            topics=[_creatable(name, self._topics[name], version, brokers) for name in keys],
        )
        if self._validate_only:
            request.validate_only = True
        return request

    @override
    def result(
        self, keys: Sequence[str], response: protocol.CreateTopicsResponse, version: int
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        made = {
            row.name: CreatedTopic(row.name, row.topic_id, row.num_partitions, row.replication_factor)
            for row in response.topics
        }
        refused = each_of(((row.name, row.error_code, row.error_message) for row in response.topics), "CreateTopics")
        return {name: refused[name] or made[name] for name in made}


def _creatable(name: str, topic: NewTopic, version: int, brokers: int) -> CreatableTopic:
    made = protocol.CreateTopicsRequest.CreatableTopic
    partitions, replicas = topic.num_partitions, topic.replication_factor
    if version < _FIRST_VERSION_WITH_DEFAULTS and not topic.assignments:
        if partitions == BROKER_DEFAULT:
            raise errors.broker.error_for(
                UNSUPPORTED_VERSION, f"topic {name!r} without a number of partitions (needs Kafka 2.4 or newer)"
            )
        if replicas == BROKER_DEFAULT:
            replicas = max(1, min(_USUAL_REPLICATION, brokers))
    return made(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            made.CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in topic.assignments.items()
        ],
        configs=[made.CreatableTopicConfig(name=key, value=cast("str", value)) for key, value in topic.configs.items()],
    )
