"""Administration of topics: create, delete, list; each as a call that finds the controller and is retried.

Layer 3, no I/O. Creating and deleting go to the controller (code 41 when it moved). CreateTopics below version 4 knows
no broker defaults: there a replication factor of -1 becomes min(3, number of brokers), and the number of partitions has
to be said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, Any, NamedTuple
from kwire.engine.api_keys import CREATE_TOPICS, DELETE_TOPICS, METADATA
from kwire.engine.calls import RequestCall
from kwire.engine.cluster import TopicInfo, metadata_request, topic_info
from kwire.engine.error_codes import NONE, UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION
from kwire.engine.request import ANY, CONTROLLER
from kwire.errors import ConfigError, UnknownTopicError

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.ports import Services

BROKER_DEFAULT = -1
_FIRST_VERSION_WITH_DEFAULTS = 4
_FIRST_VERSION_WITH_VALIDATE_ONLY = 1
_FIRST_VERSION_WITH_STATES = 6
_USUAL_REPLICATION = 3


class NewTopic(NamedTuple):
    """What a topic is to be. -1 leaves a number to the broker; `assignments` (partition -> replicas) replaces both."""

    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = {}
    assignments: Mapping[int, Sequence[int]] = {}

    def checked(self, name: str) -> NewTopic:
        """Itself; raises ConfigError that names topic and value."""
        for what, value in (("num_partitions", self.num_partitions), ("replication_factor", self.replication_factor)):
            if isinstance(value, bool) or not isinstance(value, int) or value == 0 or value < BROKER_DEFAULT:
                raise ConfigError(f"topic {name!r}: {what}={value!r}; a number from 1, or -1 for the broker's default")
        if self.assignments and (self.num_partitions, self.replication_factor) != (BROKER_DEFAULT, BROKER_DEFAULT):
            raise ConfigError(f"topic {name!r}: assignments say partitions and replicas; leave the two numbers out")
        return self


class CreatedTopic(NamedTuple):
    """A topic that was made; -1, and an id of zeros, where the broker does not tell."""

    name: str
    topic_id: UUID
    num_partitions: int
    replication_factor: int


def create_topics(
    core: Services, topics: Mapping[str, NewTopic], *, validate_only: bool, deadline: float, now: float
) -> RequestCall:
    """Creates the topics; the result is {name: CreatedTopic}. Fails with the error of the first topic that failed."""

    def message(version: int) -> Any:
        if validate_only and version < _FIRST_VERSION_WITH_VALIDATE_ONLY:
            raise errors.broker.error_for(UNSUPPORTED_VERSION, "validate_only needs Kafka 0.10.2 or newer")
        request = protocol.CreateTopicsRequest(
            timeout_ms=core.settings.request_timeout_ms,
            topics=[_creatable(name, topic, version, len(core.cluster.brokers)) for name, topic in topics.items()],
        )
        if validate_only:
            request.validate_only = True
        return request

    def take(response: Any, version: int) -> dict[str, CreatedTopic]:
        _raise_first(response.topics, "CreateTopics")
        return {
            row.name: CreatedTopic(row.name, row.topic_id, row.num_partitions, row.replication_factor)
            for row in response.topics
        }

    return RequestCall(
        core,
        f"CreateTopics of {', '.join(topics)}",
        CONTROLLER,
        CREATE_TOPICS,
        message,
        take,
        deadline,
        now,
        prepared=lambda: core.cluster.generation > 0,
    )


def _creatable(name: str, topic: NewTopic, version: int, brokers: int) -> Any:
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
        configs=[made.CreatableTopicConfig(name=key, value=str(value)) for key, value in topic.configs.items()],
    )


def delete_topics(core: Services, names: Sequence[str], *, deadline: float, now: float) -> RequestCall:
    """Deletes the topics; the result is None. Fails with the error of the first topic that failed."""

    def message(version: int) -> Any:
        request = protocol.DeleteTopicsRequest(timeout_ms=core.settings.request_timeout_ms)
        if version >= _FIRST_VERSION_WITH_STATES:
            request.topics = [protocol.DeleteTopicsRequest.DeleteTopicState(name=name) for name in names]
        else:
            request.topic_names = list(names)
        return request

    def take(response: Any, version: int) -> None:
        _raise_first(response.responses, "DeleteTopics")

    return RequestCall(
        core,
        f"DeleteTopics of {', '.join(names)}",
        CONTROLLER,
        DELETE_TOPICS,
        message,
        take,
        deadline,
        now,
        prepared=lambda: core.cluster.generation > 0,
    )


def describe_topics(core: Services, names: Sequence[str] | None, *, deadline: float, now: float) -> RequestCall:
    """What the metadata says now; the result is {name: TopicInfo}, of all topics for None. Never creates a topic."""

    def message(version: int) -> Any:
        return metadata_request(version, names, allow_auto_create=False)

    def take(response: Any, version: int) -> dict[str, TopicInfo]:
        found = {row.name: topic_info(row) for row in response.topics if row.name is not None}
        if names is None:
            return found
        for name in names:
            code = found[name].error if name in found else UNKNOWN_TOPIC_OR_PARTITION
            if code == UNKNOWN_TOPIC_OR_PARTITION:
                brokers = ", ".join(f"{row.host}:{row.port}" for row in response.brokers)
                raise UnknownTopicError(f"topic {name!r} does not exist; asked: {brokers}")
            if code != NONE:
                raise errors.broker.error_for(code, f"topic {name!r}")
        return {name: found[name] for name in names}

    what = "Metadata of " + ("all topics" if names is None else ", ".join(names))
    return RequestCall(core, what, ANY, METADATA, message, take, deadline, now)


def _raise_first(rows: Iterable[Any], what: str) -> None:
    failed = [(row.name, row.error_code, getattr(row, "error_message", None)) for row in rows if row.error_code]
    if not failed:
        return
    name, code, text = failed[0]
    others = f" (and {len(failed) - 1} more: {', '.join(repr(row[0]) for row in failed[1:])})" if failed[1:] else ""
    raise errors.broker.error_for(code, f"{what} of {name!r}{others}" + (f": {text}" if text else ""))
