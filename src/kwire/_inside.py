"""What the shell, tables, workers and `kwire.spark` ask of a client: what it knows already, and what no method returns.

Layer 5, beside the bases of the clients: no protocol logic, no sockets. Not for users. What asks a cluster imports its
question when it is called: a worker of Spark looks at topics only, and starts in half the time without all of them.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from kwire._client import Client
    from kwire.consumer import Consumer
    from kwire.engine.admin.group_calls import Progress
    from kwire.engine.admin.inquiry import Inquiry
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.connections.versions import Versions
    from kwire.engine.metadata.metadata import TopicInfo
    from kwire.engine.settings.options import Timeout
    from kwire.fronts.consumer import ConsumerFront

    AnyClient = Client[Any]


def topic_id(client: AnyClient, topic: str) -> UUID:
    """The topic's id by the client's metadata; all zeros where that has none."""
    return client._core.cluster.topic_id(topic)


def offered_versions(client: AnyClient, broker: int) -> Versions | None:
    """What the broker offered when it was last connected to; None where it was not, or did not say."""
    return client._core.versions(broker)


def progress(client: AnyClient, group: str) -> dict[TopicPartition, Progress]:
    """How far the group has come in each partition: what it has committed, and the end."""
    from kwire.engine.admin import group_calls

    return client._door.run(group_calls.progress(_inquiry(client), group, stable=True))


def tenures(consumer: ConsumerFront) -> dict[TopicPartition, int]:
    """The number of each partition's assignment by the group: another one, too, where its topic was recreated."""
    return {tp: state.tenure for tp, state in consumer._fetcher.subscription.states.items()}


def offsets_at(
    consumer: Consumer, times: Mapping[TopicPartition, datetime], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The first offset of each time or later; where no record is that late the partition's end, as given."""
    found = consumer.offsets_for_times(times)
    return {tp: ends[tp] if row is None else row.offset for tp, row in found.items()}


def topics_to_read(client: AnyClient, names: Sequence[str], timeout: Timeout = None) -> dict[str, TopicInfo]:
    """As `Admin.describe_topics`. Raises TopicAuthorizationFailedError for one that the client may see, and not read,
    too."""
    from kwire.engine.admin.a03_metadata import DescribeTopics
    from kwire.engine.admin.calls import Question, as_it_is

    question: Question[dict[str, TopicInfo]] = Question(DescribeTopics(names, operation="read"), as_it_is)
    return client._door.run(_inquiry(client, timeout).ask(question))


def log_sizes(
    client: AnyClient, partitions: Iterable[TopicPartition], timeout: Timeout = None
) -> dict[TopicPartition, int]:
    """The size in bytes of the log of each partition."""
    from kwire.engine.admin import calls

    return client._door.run(_inquiry(client, timeout).ask(calls.log_sizes(partitions)))


def _inquiry(client: AnyClient, timeout: Timeout = None) -> Inquiry:
    from kwire.engine.admin.inquiry import Inquiry

    return Inquiry(client._door, client._core, client._patience(timeout))
