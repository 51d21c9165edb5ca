"""Members of a group on the embedded cluster, in virtual time: each polls as a program does, and notes what it owns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.consumer.polling import Polling
from kwire.engine.groups.group_offsets import GroupOffsets
from kwire.engine.groups.opening import open_membership
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import KafkaError
from tests.engine.embedded_world import EmbeddedClient, EmbeddedWorld


class GroupMember(EmbeddedClient):
    """A consumer without its front: `step` is a poll that does not wait.

    owned   what its listener was told; `told` the calls of the listener; `faults` what polls raised
    read    (partition, offset) of each record handed out
    """

    def __init__(self, shared: EmbeddedWorld, name: str = "member", **given: Any) -> None:
        options = {"group_id": "g", "client_id": name, "auto_offset_reset": "earliest", **given}
        settings = ConsumerSettings(**shared.settings(options))
        super().__init__(shared, settings)
        self.core.rng = shared.rng.random
        self.name = name
        self.warnings: list[str] = []
        self.fetcher = Fetcher(self.core, settings)
        self.subscription = self.fetcher.subscription
        self.membership = open_membership(self.core, settings, self.subscription)
        self.membership.warn = self.warnings.append
        self.offsets = GroupOffsets(
            self.core,
            settings,
            self.membership.coordinator,
            self.subscription,
            self.membership,
            self.warnings.append,
        )
        self.fetcher.begin_in_group(self.offsets.fetches)
        self.polling = Polling(self.core, settings, self.fetcher, self.membership, self.offsets)
        self.owned: set[TopicPartition] = set()
        self.told: list[tuple[str, tuple[TopicPartition, ...]]] = []
        self.faults: list[KafkaError] = []
        self.read: list[tuple[TopicPartition, int]] = []
        self.listen: Callable[[str, tuple[TopicPartition, ...]], None] = lambda kind, partitions: None
        self.resting = False

    def subscribe(self, *topics: str, pattern: str | None = None) -> GroupMember:
        self.membership.subscribe(topics or None, pattern, self.now)
        return self

    def step(self) -> None:
        """One poll that does not wait."""
        self.polling.begin(self.now)
        self.hear()
        try:
            taken = self.polling.take(None, self.now)
        except KafkaError as error:
            self.faults.append(error)
            return
        self.read += [(tp, record.offset) for tp, records in taken for record in records]
        self.fetcher.hand_out.arrived = True

    def hear(self) -> None:
        """Runs the listener."""
        while (event := self.membership.next_event(self.now)) is not None:
            self.told.append((event.kind, event.partitions))
            self.listen(event.kind, event.partitions)
            if event.kind == "assigned":
                self.owned |= set(event.partitions)
            else:
                self.owned -= set(event.partitions)
            self.membership.event_done(event, None, self.now)

    def poll_every(self, seconds: Callable[[], float]) -> GroupMember:
        """Polls from now on, again and again, with such a pause after each."""

        def again() -> None:
            if self.dead or self.resting:
                return
            self.step()
            self.at(self.now + seconds(), again)

        self.at(self.now, again)
        return self

    def close(self) -> None:
        """Leaves in order; gone when the coordinator has answered."""
        self.resting = True
        self.fetcher.settle()
        self.membership.unsubscribe(self.now)

        def go_on() -> None:
            if self.dead:
                return
            self.hear()
            if self.membership.can_leave:
                self.membership.leave(self.now, lambda now: self.shared.remove(self))
            else:
                self.at(self.now + 0.01, go_on)

        go_on()


def partitions_of(topic: str, count: int) -> set[TopicPartition]:
    return {TopicPartition(topic, number) for number in range(count)}
