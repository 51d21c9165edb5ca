"""What FastStream's page of AsyncAPI says of a subscriber and of a publisher: topics, and the shape of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from faststream._internal.configs import PublisherSpecificationConfig, SubscriberSpecificationConfig
from faststream._internal.endpoint.publisher import PublisherSpecification
from faststream._internal.endpoint.subscriber import SubscriberSpecification
from faststream.specification.asyncapi.utils import resolve_payloads
from faststream.specification.schema import Message, Operation, PublisherSpec, SubscriberSpec
from faststream.specification.schema.bindings import ChannelBinding, kafka


def _binding(topic: str) -> ChannelBinding:
    return ChannelBinding(kafka=kafka.ChannelBinding(topic=topic, partitions=None, replicas=None))


@dataclass(kw_only=True)
class ReadTopics(SubscriberSpecificationConfig):
    """What is read."""

    topics: Sequence[str]


class SubscriberPage(SubscriberSpecification[Any, ReadTopics]):
    """A channel for each topic."""

    def get_schema(self) -> dict[str, SubscriberSpec]:
        topics = [f"{self._outer_config.prefix}{topic}" for topic in self.config.topics]
        keys = {self._channel_key(topic, split=len(topics) > 1): topic for topic in topics}
        payload = resolve_payloads(self.get_payloads())
        return {
            key: SubscriberSpec(
                address=topic,
                description=self.description,
                operation=Operation(message=Message(title=f"{key}:Message", payload=payload), bindings=None),
                bindings=_binding(topic),
            )
            for key, topic in keys.items()
        }


@dataclass(kw_only=True)
class WrittenTopic(PublisherSpecificationConfig):
    """Where to."""

    topic: str


class PublisherPage(PublisherSpecification[Any, WrittenTopic]):
    """The channel of its topic."""

    @property
    def topic(self) -> str:
        return f"{self._outer_config.prefix}{self.config.topic}"

    @property
    def name(self) -> str:
        return self.config.title_ or f"{self.topic}:Publisher"

    def get_schema(self) -> dict[str, PublisherSpec]:
        payload = resolve_payloads(self.get_payloads(), "Publisher")
        return {
            self.name: PublisherSpec(
                address=self.topic,
                description=self.config.description_,
                operation=Operation(message=Message(title=f"{self.name}:Message", payload=payload), bindings=None),
                bindings=_binding(self.topic),
            )
        }
