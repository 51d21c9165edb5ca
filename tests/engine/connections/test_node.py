"""What a broker holds back keeps no other kind of request waiting: each purpose has a connection of its own."""

from __future__ import annotations

from typing import Any

from kwire import errors, protocol
from kwire._codec import NodeBase
from kwire.engine.admin.a02_list_offsets import ListOffsets
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.calls.offsets import LATEST, OffsetAndTimestamp
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.common.request import ANY, Purpose
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.settings.clients import ConsumerSettings
from kwire.schema.api_keys import API_VERSIONS, METADATA
from tests.engine.consumer.test_fetcher import LogBroker
from tests.engine.world import Outcome, World

A, B = Address("a", 1), Address("b", 2)
T0 = TopicPartition("t", 0)
POLL_S = 20.0
JOIN_GROUP = 11


class Polling:
    """A consumer whose fetch is held by the broker."""

    def __init__(self) -> None:
        self.broker = LogBroker()
        self.broker.long_poll = True
        self.broker.append(0, [b"0", b"1"])
        settings = ConsumerSettings(
            bootstrap_servers=[("a", 1)], auto_offset_reset="latest", fetch_max_wait_ms=round(POLL_S * 1000)
        )
        self.world = World({A: self.broker, B: self.broker}, settings)
        self.fetcher = Fetcher(self.world.core, settings)
        self.fetcher.subscription.assign([T0], self.world.now)
        self.world.run(lambda: len(self.broker.fetches) == 1)
        self.begun = self.world.now

    def look_up(self) -> FanOutCall[TopicPartition, OffsetAndTimestamp]:
        now = self.world.now
        return FanOutCall(self.world.core, ListOffsets({T0: LATEST}, isolation=0), deadline=now + 60, now=now)

    def ask_metadata(self) -> Outcome:
        return self.world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))


def test_offsets_and_metadata_are_answered_while_a_fetch_is_held() -> None:
    polling = Polling()
    world = polling.world
    lookup, metadata = polling.look_up(), polling.ask_metadata()
    world.run(lambda: lookup.done and metadata.ended)
    assert lookup.value()[T0].offset == 2
    assert world.now - polling.begun < 0.02
    assert len(polling.broker.fetches) == 1


def test_each_connection_is_made_once_and_kept() -> None:
    polling = Polling()
    for _ in range(5):
        lookup = polling.look_up()
        polling.world.run(lambda: lookup.done)  # noqa: B023 - run at once
    assert polling.broker.connections == 2
    assert sum(key == API_VERSIONS for key, _, _ in polling.broker.requests) == 2


def test_a_client_that_fetches_nothing_has_one_connection() -> None:
    broker = LogBroker()
    world = World({A: broker})
    for _ in range(3):
        outcome = world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))
        world.run(lambda: outcome.ended)  # noqa: B023 - run at once
    assert broker.connections == 1


class GroupPolling(Polling):
    """The broker holds back JoinGroup, too."""

    JOIN_S = 30.0

    def __init__(self) -> None:
        super().__init__()
        self.broker.handlers[JOIN_GROUP] = self.join
        self.joined = 0

    def join(self, message: Any, version: int, now: float) -> Any:
        self.joined += 1
        self.broker.holds = self.JOIN_S
        return protocol.JoinGroupResponse()

    def ask_to_join(self) -> Outcome:
        request = protocol.JoinGroupRequest(
            group_id="g", session_timeout_ms=10_000, member_id="", protocol_type="consumer", protocols=[]
        )
        return self.world.ask(0, JOIN_GROUP, request, purpose=Purpose.COORDINATOR, timeout=60.0)


def test_a_join_reaches_the_coordinator_while_a_fetch_is_held() -> None:
    polling = GroupPolling()
    polling.ask_to_join()
    polling.world.run(lambda: polling.joined == 1)
    assert polling.world.now - polling.begun < 0.02
    assert len(polling.broker.fetches) == 1


def test_fetches_are_answered_while_a_join_is_held() -> None:
    polling = GroupPolling()
    join = polling.ask_to_join()
    polling.world.run(lambda: polling.joined == 1)
    polling.world.run(polling.begun + POLL_S + 1)
    assert len(polling.broker.fetches) == 2, "the next fetch does not wait for the join"
    assert not join.ended
    polling.world.run(lambda: join.ended)
    assert join.error is None
    assert polling.world.now - polling.begun < polling.JOIN_S + 0.1


def test_metadata_is_answered_while_both_are_held() -> None:
    polling = GroupPolling()
    polling.ask_to_join()
    polling.world.run(lambda: polling.joined == 1)
    begun, metadata = polling.world.now, polling.ask_metadata()
    polling.world.run(lambda: metadata.ended)
    assert polling.world.now - begun < 0.02
    assert polling.broker.connections == 3


def test_a_held_connection_that_breaks_harms_no_other() -> None:
    polling = GroupPolling()
    join = polling.ask_to_join()
    polling.world.run(lambda: polling.joined == 1)
    polling.world.lose(max(polling.world.open, key=lambda each: each.number), "reset")
    assert isinstance(join.error, errors.ConnectError)
    assert len(polling.world.open) == 2
    assert not polling.fetcher.has_something()


def test_the_second_connection_may_be_lost() -> None:
    polling = Polling()
    world = polling.world
    lookup = polling.look_up()
    world.run(lambda: lookup.done)
    second = max(world.open, key=lambda connection: connection.number)
    again = polling.look_up()
    world.lose(second, "reset")
    world.run(lambda: again.done)
    assert again.value()[T0].offset == 2
    assert world.now - polling.begun < 1


def test_both_connections_follow_the_broker_and_close_with_the_client() -> None:
    polling = Polling()
    world = polling.world
    lookup = polling.look_up()
    world.run(lambda: lookup.done)
    polling.broker.brokers = {0: B}
    world.core.cluster.refresh(world.now)
    world.run(lambda: len(polling.broker.fetches) == 2)
    lookup = polling.look_up()
    world.run(lambda: lookup.done)
    assert {connection.address for connection in world.open} == {B}
    assert len(world.open) == 2
    under_way = polling.look_up()
    world.core.close(world.now)
    world.play_events()
    assert not world.open
    assert isinstance(under_way.error, errors.KafkaError)


def test_after_an_interrupted_step_both_are_made_anew() -> None:
    polling = Polling()
    world = polling.world
    under_way = polling.look_up()
    world.open.clear()
    world.core.recover(world.now)
    world.run(lambda: under_way.done)
    assert under_way.value()[T0].offset == 2
    polling.broker.append(0, [b"2"])
    world.run(polling.fetcher.has_something)
    assert [record.value for _, part in polling.fetcher.take(None) for record in part] == [b"2"]


def test_a_node_has_a_place_for_each_purpose() -> None:
    purposes = [number for name, number in vars(Purpose).items() if name.isupper()]
    assert purposes == list(range(len(NodeBase().links)))
