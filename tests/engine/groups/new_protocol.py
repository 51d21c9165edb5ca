"""A scripted coordinator of one group by KIP-848, and a consumer's side of it without a consumer."""

from __future__ import annotations

from collections import deque
from typing import Any
from uuid import UUID

from kwire import protocol
from kwire.engine.calls.lookup import GROUP
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.subscription import Subscription
from kwire.engine.groups.consumer_group import ConsumerMembership
from kwire.engine.groups.coordinator import Coordinator
from kwire.engine.groups.membership import RebalanceEvent
from kwire.engine.settings.clients import ConsumerSettings
from tests.engine.world import HERE, Broker, World

IDS = {"t": UUID(int=1), "u": UUID(int=2), "v": UUID(int=3)}
INTERVAL_S = 1.0
ANSWER = protocol.ConsumerGroupHeartbeatResponse


class CoordinatingBroker(Broker):
    """Answers heartbeats from `script`; when that is empty, with the epoch last told and nothing new."""

    def __init__(self, release: str = "4.4.0") -> None:
        super().__init__(release)
        self.topics = {"t": [0, 0], "u": [0, 0], "v": [0]}
        self.hidden: set[str] = set()
        self.script: deque[Any] = deque()
        self.epoch = 0
        self.heartbeats: list[Any] = []
        self.handlers[10] = self.find_coordinator
        self.handlers[68] = self.heartbeat

    def find_coordinator(self, message: Any, version: int, now: float) -> Any:
        row = protocol.FindCoordinatorResponse.Coordinator
        return protocol.FindCoordinatorResponse(
            coordinators=[row(key=key, node_id=0, host=HERE.host, port=HERE.port) for key in message.coordinator_keys]
        )

    def heartbeat(self, message: Any, version: int, now: float) -> Any:
        self.heartbeats.append(message)
        step = self.script.popleft() if self.script else None
        if isinstance(step, int):
            return ANSWER(error_code=step, error_message="told so")
        if message.member_epoch < 0:
            return ANSWER(member_epoch=message.member_epoch, heartbeat_interval_ms=1000)
        if step == "silence":
            return None
        if step is not None:
            self.epoch += 1
        return ANSWER(
            member_id=message.member_id or "made by the broker",
            member_epoch=max(self.epoch, 1),
            heartbeat_interval_ms=int(INTERVAL_S * 1000),
            assignment=None if step is None else assignment(step),
        )

    def topic(self, name: str) -> Any:
        row = super().topic(name)
        row.topic_id = IDS[name]
        return row

    def metadata(self, message: Any, version: int, now: float) -> Any:
        if not message.topics or message.topics[0].name is not None:
            return super().metadata(message, version, now)
        names = {topic_id: name for name, topic_id in IDS.items()}
        response = super().metadata(protocol.MetadataRequest(topics=[]), version, now)
        for asked in message.topics:
            name = names[asked.topic_id]
            missing = protocol.MetadataResponse.MetadataResponseTopic(
                name=None, topic_id=asked.topic_id, error_code=100
            )
            response.topics = [*response.topics, missing if name in self.hidden else self.topic(name)]
        return response


def assignment(topics: dict[str, list[int]]) -> Any:
    row = ANSWER.Assignment.TopicPartitions
    return ANSWER.Assignment(
        topic_partitions=[row(topic_id=IDS[name], partitions=numbers) for name, numbers in topics.items()]
    )


class Consumer:
    """Polls, and runs the listener, as a front does; `held_commits` holds the commits before revocations."""

    def __init__(self, broker: CoordinatingBroker, **settings: Any) -> None:
        given = {"group_id": "g", "group_protocol": "consumer", **settings}
        self.broker = broker
        self.world = World({HERE: broker}, ConsumerSettings(bootstrap_servers=[tuple(HERE)], **given))
        core = self.world.core
        self.coordinator = Coordinator(core, GROUP, "g")
        self.subscription = Subscription(core, core.settings, lambda now: None)
        self.membership = ConsumerMembership(core, core.settings, self.coordinator, self.subscription)
        self.membership.before_revoke.append(self.commit_first)
        self.held_commits: list[Any] | None = None
        self.calls: list[tuple[str, list[str]]] = []
        self.committed: list[list[str]] = []
        self.listening = True

    def commit_first(self, partitions: Any, now: float, on_done: Any) -> None:
        self.committed.append(sorted(map(str, partitions)))
        if self.held_commits is None:
            on_done(now)
        else:
            self.held_commits.append(on_done)

    def subscribe(self, *topics: str, pattern: str | None = None) -> None:
        self.membership.subscribe(topics or None, pattern, self.world.now)

    def begin_poll(self) -> None:
        self.membership.poll(self.world.now)
        self.run_events()

    def run_events(self) -> None:
        while self.listening and (event := self.membership.next_event(self.world.now)) is not None:
            self.run_event(event)

    def run_event(self, event: RebalanceEvent) -> None:
        self.calls.append((event.kind, [str(tp) for tp in event.partitions]))
        self.membership.event_done(event, None, self.world.now)

    def poll(self, seconds: float = 0.1) -> None:
        """Polls for so long."""
        until = self.world.now + seconds
        while self.world.now < until:
            self.begin_poll()
            self.world.run(min(until, self.world.now + 0.01))
        self.begin_poll()
        self.membership.end_poll(self.world.now)

    @property
    def read(self) -> list[str]:
        return sorted(map(str, self.subscription.states))

    def is_handed_out(self, name: str, number: int) -> bool:
        state = self.subscription.states.get(TopicPartition(name, number))
        return state is not None and not state.held

    def leave(self) -> None:
        """Unsubscribes, and leaves when all is given back."""
        self.membership.unsubscribe(self.world.now)
        self.run_events()
        self.world.run(lambda: self.membership.can_leave)
        left: list[float] = []
        self.membership.leave(self.world.now, left.append)
        self.world.run(lambda: bool(left))
