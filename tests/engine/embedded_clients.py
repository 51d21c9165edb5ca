"""A producer and a reader in the embedded world: the engine's sender and fetcher without their fronts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kwire._codec import Delivery
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.producer.sender import Sender
from kwire.engine.settings.clients import ConsumerSettings, ProducerSettings
from kwire.fronts.producer import new_accumulator
from tests.engine.embedded_world import EmbeddedClient, EmbeddedWorld
from tests.engine.produce_world import Sending


class EmbeddedProducer(EmbeddedClient):
    """A client with the engine's sender."""

    def __init__(self, shared: EmbeddedWorld, **given: Any) -> None:
        settings = ProducerSettings(**shared.settings(given))
        super().__init__(shared, settings)
        self.warnings: list[str] = []
        self.accumulator = new_accumulator(settings, 5, self.core.after_step)
        self.accumulator.run_callback = lambda function, delivery: function(delivery)
        self.sender = Sender(self.core, settings, self.accumulator, self.warnings.append)
        self.accumulator.on_attention = lambda: self.sender.pump(self.now)
        self.sending = Sending()
        self.sending._accumulator = self.accumulator

    def send(self, topic: str, value: bytes | None, **more: Any) -> Delivery:
        self.accumulator.set_clock(self.now, self.shared.wall_clock())
        return self.sending.send(topic, value, **more)

    def complete(self, deliveries: Iterable[Delivery]) -> list[int]:
        """Plays until their results are known; their offsets."""
        wanted = list(deliveries)
        self.run(lambda: all(delivery.done() for delivery in wanted))
        return [delivery.result().offset for delivery in wanted]


class EmbeddedReader(EmbeddedClient):
    """A client with the engine's fetcher, which reads these partitions of a topic (or all) from the start.

    `read` is what it has handed out.
    """

    def __init__(
        self, shared: EmbeddedWorld, topic: str, partitions: Iterable[int] | None = None, **given: Any
    ) -> None:
        settings = ConsumerSettings(**shared.settings({"auto_offset_reset": "earliest", **given}))
        super().__init__(shared, settings)
        self.fetcher = Fetcher(self.core, settings)
        self.read: dict[TopicPartition, list[bytes | None]] = {}
        chosen = range(len(shared.cluster.topics[topic].partitions)) if partitions is None else partitions
        self.fetcher.subscription.assign([TopicPartition(topic, index) for index in chosen], self.now)

    def poll(self, timeout: float = 1.0) -> int:
        """Waits for records and takes them; returns how many."""
        until = self.now + timeout
        self.fetcher.settle()
        self.fetcher.pump_if_due(self.now)
        self.at(until, lambda: None)
        self.run(lambda: self.fetcher.has_something() or self.now >= until)
        count = 0
        for tp, part in self.fetcher.take(None):
            self.read.setdefault(tp, []).extend(part.values())
            count += len(part)
        self.fetcher.hand_out.arrived = True
        self.fetcher.pump_if_due(self.now)
        return count

    def values(self) -> list[bytes | None]:
        return [value for part in self.read.values() for value in part]
