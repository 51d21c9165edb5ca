"""Partitions as the shell names them: TOPIC:PARTITION is one, TOPIC all of a topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kwire.cli.usage import UsageError
from kwire.engine.common.numbers import whole_number
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.engine.common.addresses import TopicPartition


def name_of(partition: tuple[str, int]) -> str:
    """orders:3."""
    topic, number = partition
    return f"{topic}:{number}"


def partition_named(text: str) -> TopicPartition:
    """The partition of TOPIC:PARTITION. UsageError for anything else."""
    from kwire import TopicPartition

    topic, _, number = text.rpartition(":")
    index = whole_number(number)
    if not topic or index is None:
        raise UsageError(f"{text!r}: write TOPIC:PARTITION, as in orders:3")
    return TopicPartition(topic, index)


def partitions_named(admin: Admin, texts: Iterable[str], option: str = "") -> list[TopicPartition]:
    """The partitions of each TOPIC and TOPIC:PARTITION. KafkaError for one that does not exist."""
    from kwire import TopicPartition

    named: dict[str, set[int]] = {}
    for text in texts:
        topic, colon, number = text.partition(":")
        index = whole_number(number)
        if colon and index is None:
            raise UsageError(f"{option}{text!r}: write TOPIC or TOPIC:PARTITION, as in orders:3")
        named.setdefault(topic, set()).update([] if index is None else [index])
    found = []
    for topic, info in admin.describe_topics(list(named)).items():
        missing = sorted(named[topic] - set(info.partitions))
        if missing:
            raise KafkaError(f"{topic!r} has no partition {missing[0]}; it has 0 to {len(info.partitions) - 1}")
        found += [TopicPartition(topic, index) for index in sorted(named[topic] or info.partitions)]
    return found
