"""What a call of a client asks, from its arguments: they are checked here, and the result is put into its final form.

Layer 3, no I/O. One function for each method of `Admin` (and for the offsets that a `Consumer` asks for), with the same
arguments; `inquiry.py` asks what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from kwire._typing import TYPE_CHECKING, Any, Generic, TypeVar
from kwire.engine.admin.a02_list_offsets import ListOffsets
from kwire.engine.admin.a03_metadata import DescribeTopics, DescribeTopicsById
from kwire.engine.admin.a19_create_topics import CreatedTopic, CreateTopics, NewTopic
from kwire.engine.admin.a20_delete_topics import DeleteTopics
from kwire.engine.admin.a35_describe_log_dirs import LogSizes
from kwire.engine.admin.config_values import config_name, config_text
from kwire.engine.calls import arguments
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.offsets import NO_OFFSET, OffsetAndTimestamp, isolation_code, time_of
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.notebooks import Rows
from kwire.engine.metadata.metadata import TopicInfo
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from uuid import UUID

T = TypeVar("T")
Partition = TypeVar("Partition", bound=tuple[str, int])


class Question(Generic[T]):
    """`api` is what to ask, None for nothing; `finish` makes the answer of the results by part, {} for None. Where some
    parts have failed, it makes what is told of the others."""

    __slots__ = ("api", "finish")

    def __init__(self, api: AdminApi[Any, Any] | None, finish: Callable[[Any], T]) -> None:
        self.api = api
        self.finish = finish


def create_topics(
    topics: Mapping[str, int | NewTopic | Mapping[str, Any]] | Iterable[str], *, validate_only: bool
) -> Question[dict[str, CreatedTopic]]:
    """`Admin.create_topics`."""
    wanted = {arguments.topic_name(name): _new_topic(name, detail) for name, detail in _by_name(topics).items()}
    api = CreateTopics(wanted, validate_only=arguments.flag(validate_only, "validate_only"))
    return Question(api if wanted else None, as_it_is)


def delete_topics(topics: Iterable[str] | Iterable[UUID]) -> Question[None]:
    """`Admin.delete_topics`."""
    wanted = arguments.topics_or_ids(arguments.to_delete(topics, "topics"))
    return Question(DeleteTopics(wanted) if wanted else None, lambda found: None)


def log_sizes(partitions: Iterable[TopicPartition]) -> Question[dict[TopicPartition, int]]:
    """The size in bytes of the log of each partition."""
    wanted = list(partitions)
    return Question(LogSizes(wanted) if wanted else None, as_it_is)


def list_topics(*, internal: bool) -> Question[list[str]]:
    """`Admin.list_topics`."""
    arguments.flag(internal, "internal")

    def names(found: dict[str, TopicInfo]) -> list[str]:
        return Rows(sorted(name for name, info in found.items() if internal or not info.is_internal), "topic")

    return Question(DescribeTopics(None), names)


def describe_topics(topics: Iterable[str] | Iterable[UUID] | None) -> Question[dict[Any, TopicInfo]]:
    """`Admin.describe_topics`."""
    if topics is None:
        return Question(DescribeTopics(None), as_it_is)
    wanted = arguments.topics_or_ids(topics)
    if not wanted:
        return Question(None, as_it_is)
    return Question(DescribeTopics(wanted) if isinstance(wanted[0], str) else DescribeTopicsById(wanted), as_it_is)


def list_offsets(
    when: Mapping[Partition, int | datetime | str], *, isolation_level: str, name: str = "when"
) -> Question[dict[TopicPartition, OffsetAndTimestamp | None]]:
    """`Admin.list_offsets`, and `Consumer.offsets_for_times`; `name` is that of the argument `when` there."""
    times = {tp: time_of(moment) for tp, moment in arguments.by_partition(when, name).items()}

    def found_at(found: dict[TopicPartition, OffsetAndTimestamp]) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return {tp: None if entry.offset == NO_OFFSET else entry for tp, entry in found.items()}

    return Question(ListOffsets(times, isolation=isolation_code(isolation_level)), found_at)


def ends_of(
    partitions: Iterable[tuple[str, int]], when: int, *, isolation_level: str
) -> Question[dict[TopicPartition, int]]:
    """`Consumer.beginning_offsets` and `Consumer.end_offsets`: `when` is EARLIEST or LATEST."""
    times = dict.fromkeys(arguments.partitions(partitions), when)
    return Question(
        ListOffsets(times, isolation=isolation_code(isolation_level)),
        lambda found: {tp: entry.offset for tp, entry in found.items()},
    )


def as_it_is(found: Any) -> Any:
    """For a question whose results need no further form."""
    return found


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
        made = NewTopic(**details(name, detail, NewTopic._fields))
    elif isinstance(detail, int):
        made = NewTopic(num_partitions=detail)
    else:
        raise ConfigError(f"topic {name!r}: {detail!r} is neither a number of partitions nor a NewTopic")
    made.check(name)
    where = f"topic {name!r}: configs"
    if not isinstance(made.configs, Mapping):
        raise ConfigError(f"{where}: {type(made.configs).__name__} is not a mapping {{config: value}}")
    texts = {config_name(each): config_text(value, f"{where}: {each}") for each, value in made.configs.items()}
    return made._replace(configs=texts, assignments=_assignments(name, made.assignments))


def _assignments(name: str, given: object) -> dict[int, list[int]]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"topic {name!r}: assignments={given!r}: expected a mapping {{partition: broker ids}}")
    return {
        arguments.whole(partition, f"topic {name!r}: a partition of assignments", 0, 2**31 - 1): broker_ids(
            replicas, f"topic {name!r}: replicas of {partition!r}"
        )
        for partition, replicas in given.items()
    }


def broker_ids(given: object, name: str) -> list[int]:
    """Ids of brokers, as an argument has them."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | bytearray | Mapping):
        raise ConfigError(f"{name}={given!r}: expected a list of broker ids")
    return [arguments.broker_id(each, name) for each in given]


def details(name: str, detail: Mapping[Any, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """The details of a topic as keywords; raises ConfigError for one that is not known."""
    odd = [key for key in detail if key not in known]
    if odd:
        raise ConfigError(f"topic {name!r}: unknown detail {odd[0]!r}; there are {', '.join(known)}")
    return dict(detail)
