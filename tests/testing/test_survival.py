"""Random traffic of groups of every kind, transactions and fetches, while what they are about is taken away.

Topics and groups are deleted, nodes die, leaders and coordinators move, records are lost, connections close, time
passes. Nothing of the broker's own may fail: in process every fault of a request or of a timer comes out here.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kwire import Admin, ShareConsumer, protocol, records
from kwire.errors import KafkaError
from kwire.protocol import (
    AddOffsetsToTxnRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    EndTxnRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    LeaveGroupRequest,
    MetadataRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupHeartbeatRequest,
)
from kwire.testing import Broker
from kwire.testing.groups.share_partition import ACCEPT, REJECT, RELEASE, RENEW
from kwire.testing.requests import CloseConnectionError, Suspend
from kwire.testing.serving.apis import Answer
from kwire.testing.settings.properties import BrokerProperties
from tests.drivers.waiting import until
from tests.testing.client import Client
from tests.testing.groups.requests import commit, join, sync
from tests.testing.in_process import WALL_CLOCK_MS, InProcess
from tests.testing.state.transaction_requests import add_request, produce_request
from tests.testing.wire import fetch, produce, values
from tests.timing import PATIENT

TOPICS = ("orders", "more")
SETTINGS = (
    {},
    {"retention.ms": "20000", "segment.ms": "5000"},
    {"cleanup.policy": "compact", "segment.ms": "5000", "delete.retention.ms": "10000"},
    {"cleanup.policy": "compact,delete", "retention.ms": "60000", "min.compaction.lag.ms": "3000"},
)
SHARE_GROUPS = ("shared", "pooled")
CLASSIC, CONSUMER = "classic", "consumer"
_CLOSED = Answer()


class Call:
    """A request on a connection of its own, to a node that lives."""

    def __init__(self, world: World, request: protocol.Request, version: int, node: int) -> None:
        self.node = node
        self._key, self._version = request.__api_key__, version
        self._serve = world.broker.nodes[node].connect()
        frame = protocol.encode_request(request, version, correlation_id=1, client_id="c")
        self._flow = self._serve(frame[4:])
        self.suspended: Suspend | None = None
        self.answer: Answer | None = None
        self.step()

    def step(self) -> None:
        try:
            self.suspended = next(self._flow)
        except StopIteration as finished:
            self.answer = finished.value
        except CloseConnectionError:
            self.close()

    def close(self) -> None:
        """The connection is gone, with what waits on it."""
        self._flow.close()
        self._serve.close()
        self.suspended, self.answer = None, self.answer or _CLOSED

    @property
    def response(self) -> Any:
        """None while it waits, and where the connection was closed."""
        if self.answer is None or not self.answer.parts:
            return None
        return protocol.decode_response(b"".join(map(bytes, self.answer.parts)), self._key, self._version)[1]


class World:
    """Three nodes and what clients do to them, by a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        properties = BrokerProperties(
            group_share_record_lock_duration_ms=15_000, group_initial_rebalance_delay_ms=self.rng.choice((0, 3000))
        )
        self.broker = InProcess(nodes=3, properties=properties)
        self.cluster = self.broker.cluster
        for group in SHARE_GROUPS:
            self.cluster.groups.configs.set(group, "share.auto.offset.reset", "earliest")
        self.waiting: list[Call] = []
        self.epochs: dict[tuple[str, str], int] = {}
        self.acquired: list[tuple[str, str, Any, int, int, int]] = []
        self.members: dict[str, int] = {}
        self.producers: list[list[int]] = []
        self.cluster.clock = lambda: WALL_CLOCK_MS + int(1000 * self.broker.now)
        self.create_topic()

    def run(self, steps: int) -> None:
        clients = [self.produce, self.fetch, self.share, self.acknowledge, self.beat_share, self.join, self.consume]
        clients += [self.beat, self.commit, self.leave, self.begin, self.write, self.end, self.produce, self.share]
        breaks = [self.delete_topic, self.create_topic, self.delete_group, self.delete_share_offsets, self.close]
        breaks += [self.kill, self.revive, self.revive, self.move_leader, self.move_coordinator, self.lose_records]
        breaks += [self.delete_records, self.pass_time, self.pass_time, self.keep_up]
        for _ in range(steps):
            self.rng.choice(clients if self.rng.random() < 0.6 else breaks)()
            self.drive()

    def ask(self, request: protocol.Request, version: int, node: int | None = None) -> Any:
        alive = [each.node_id for each in self.cluster.nodes.alive]
        if not alive:
            return None
        call = Call(self, request, version, node if node in alive else self.rng.choice(alive))
        if call.answer is None:
            self.waiting.append(call)
        return call.response

    def drive(self) -> None:
        """What the server does: resumes what is due or was touched."""
        while True:
            happened = frozenset(self.cluster.touched)
            self.cluster.touched.clear()
            woken = [
                each
                for each in self.waiting
                if each.suspended and (each.suspended.until <= self.broker.now or happened & each.suspended.wakers)
            ]
            for each in woken:
                each.step()
            self.waiting = [each for each in self.waiting if each.answer is None]
            if not self.cluster.touched:
                return

    def topic(self) -> str:
        return self.rng.choice(TOPICS)

    def led(self, topic: str, index: int) -> int:
        known = self.cluster.topics.get(topic)
        return known.partitions[index].leader if known else 1

    def coordinator(self, kind: int, key: str) -> int | None:
        return self.cluster.coordinators.leader(kind, key)

    # Clients.

    def produce(self) -> None:
        topic, index = self.topic(), self.rng.randrange(2)
        pairs = [(self.rng.choice((b"v", None)), b"%d" % self.rng.randrange(3)) for _ in range(self.rng.randint(1, 5))]
        self.ask(produce(self.keyed(*pairs), topic=topic, partition=index), 9, self.led(topic, index))

    def keyed(self, *pairs: tuple[bytes | None, bytes]) -> bytes:
        return records.encode([(value, key, self.cluster.clock()) for value, key in pairs])

    def fetch(self) -> None:
        self.ask(fetch(self.rng.randrange(8), topic=self.topic(), partitions=[0, 1], max_wait_ms=30_000), 11)

    def share(self) -> None:
        known = self.cluster.topics.get(self.topic())
        if known is None:
            return
        group, member = self.rng.choice(SHARE_GROUPS), self.rng.choice("ab")
        epoch = self.epochs.get((group, member), 0) if self.rng.random() < 0.8 else 0
        index = self.rng.randrange(2)
        asked = ShareFetchRequest.FetchTopic
        request = ShareFetchRequest(
            group_id=group,
            member_id=member,
            share_session_epoch=epoch,
            max_wait_ms=self.rng.choice((0, 20_000)),
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=self.rng.randint(1, 10),
            batch_size=10,
            topics=[asked(topic_id=known.topic_id, partitions=[asked.FetchPartition(partition_index=index)])],
        )
        found = self.ask(request, 2, self.led(known.name, index))
        self.epochs[group, member] = epoch + 1 if found is None or not found.error_code else 0
        for topic in found.responses if found is not None else ():
            for row in topic.partitions:
                for each in row.acquired_records:
                    held = (group, member, topic.topic_id, row.partition_index, each.first_offset, each.last_offset)
                    self.acquired.append(held)

    def acknowledge(self) -> None:
        if not self.acquired:
            return
        group, member, topic_id, index, first, last = self.acquired.pop(self.rng.randrange(len(self.acquired)))
        epoch = self.epochs.get((group, member), 1) if self.rng.random() < 0.9 else -1
        kind = self.rng.choice((ACCEPT, ACCEPT, RELEASE, REJECT, RENEW))
        asked = ShareAcknowledgeRequest.AcknowledgeTopic
        part = asked.AcknowledgePartition
        given = part.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[kind])
        request = ShareAcknowledgeRequest(
            group_id=group,
            member_id=member,
            share_session_epoch=epoch,
            is_renew_ack=kind == RENEW,
            topics=[
                asked(topic_id=topic_id, partitions=[part(partition_index=index, acknowledgement_batches=[given])])
            ],
        )
        found = self.ask(request, 2)
        if found is not None and not found.error_code:
            self.epochs[group, member] = epoch + 1 if epoch > 0 else 0

    def beat_share(self) -> None:
        group, member = self.rng.choice(SHARE_GROUPS), self.rng.choice("ab")
        epoch = self.rng.choice((0, 0, -1, self.members.get(f"{group}-{member}", 0)))
        request = ShareGroupHeartbeatRequest(
            group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=list(TOPICS)
        )
        found = self.ask(request, 1, self.coordinator(0, group))
        if found is not None:
            self.members[f"{group}-{member}"] = max(found.member_epoch, 0)

    def join(self) -> None:
        group = self.rng.choice((CLASSIC, CLASSIC, CONSUMER))
        known = [each for each, _ in self.members.items() if each.startswith(f"{group}/")]
        member = self.rng.choice([*known, f"{group}/"]).partition("/")[2]
        found = self.ask(join(group, member, session_ms=10_000, rebalance_ms=20_000), 9, self.coordinator(0, group))
        if found is not None and found.member_id:
            self.members[f"{group}/{found.member_id}"] = found.generation_id
            given = {found.member_id: b"\0\0\0\0\0\0\0\0\0\0"} if found.leader == found.member_id else {}
            if not found.error_code:
                self.ask(sync(found.member_id, found.generation_id, given, group=group), 5, self.coordinator(0, group))

    def consume(self) -> None:
        member = self.rng.choice(("m1", "m2"))
        epoch = self.rng.choice((0, self.members.get(f"{CONSUMER}={member}", 0), -1, -2))
        request = ConsumerGroupHeartbeatRequest(
            group_id=CONSUMER,
            member_id=member,
            member_epoch=epoch,
            instance_id=self.rng.choice((None, f"i{member}")),
            rebalance_timeout_ms=20_000 if epoch == 0 else -1,
            subscribed_topic_names=list(TOPICS) if epoch == 0 else None,
            subscribed_topic_regex=self.rng.choice((None, "o.*", "")) if epoch == 0 else None,
            topic_partitions=[] if epoch == 0 else None,
        )
        found = self.ask(request, 1, self.coordinator(0, CONSUMER))
        if found is not None:
            self.members[f"{CONSUMER}={member}"] = max(found.member_epoch, 0)

    def _member(self) -> tuple[str, str, int] | None:
        known = [each for each in self.members if "/" in each]
        if not known:
            return None
        chosen = self.rng.choice(known)
        group, _, member = chosen.partition("/")
        return group, member, self.members[chosen]

    def beat(self) -> None:
        if (found := self._member()) is not None:
            group, member, generation = found
            request = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)
            self.ask(request, 4, self.coordinator(0, group))

    def commit(self) -> None:
        if (found := self._member()) is not None:
            group, member, generation = found
            self.ask(commit({(self.topic(), 0): 3}, member, generation, group=group), 8, self.coordinator(0, group))

    def leave(self) -> None:
        if (found := self._member()) is not None:
            group, member, _ = found
            request = LeaveGroupRequest(group_id=group, members=[LeaveGroupRequest.MemberIdentity(member_id=member)])
            self.ask(request, 5, self.coordinator(0, group))

    def begin(self) -> None:
        request = InitProducerIdRequest(
            transactional_id="mine", transaction_timeout_ms=self.rng.choice((5_000, 60_000))
        )
        found = self.ask(request, 4, self.coordinator(1, "mine"))
        if found is not None and not found.error_code:
            self.producers = [[found.producer_id, found.producer_epoch, 0]]

    def write(self) -> None:
        if not self.producers:
            return
        producer_id, epoch, sequence = producer = self.producers[-1]
        topic, index = self.topic(), self.rng.randrange(2)
        self.ask(add_request(producer_id, epoch, [index], topic), 3, self.coordinator(1, "mine"))
        if self.rng.random() < 0.3:
            offsets = AddOffsetsToTxnRequest(
                transactional_id="mine", producer_id=producer_id, producer_epoch=epoch, group_id=CLASSIC
            )
            self.ask(offsets, 3, self.coordinator(1, "mine"))
        self.ask(
            produce_request([b"t"], producer_id, epoch, sequence, index, topic=topic, key=b"t"),
            9,
            self.led(topic, index),
        )
        producer[2] += self.rng.choice((0, 1))

    def end(self) -> None:
        if self.producers:
            producer_id, epoch, _ = self.producers[-1]
            request = EndTxnRequest(
                transactional_id="mine",
                producer_id=producer_id,
                producer_epoch=epoch,
                committed=self.rng.random() < 0.5,
            )
            self.ask(request, 3, self.coordinator(1, "mine"))

    # What is taken away.

    def delete_topic(self) -> None:
        if (known := self.cluster.topics.get(self.topic())) is not None:
            self.cluster.delete_topic(known)

    def create_topic(self) -> None:
        for name in TOPICS:
            if name not in self.cluster.topics and self.cluster.nodes.alive:
                self.cluster.create_topic(name, 2, self.rng.choice(SETTINGS))

    def delete_group(self) -> None:
        groups = [*SHARE_GROUPS, CLASSIC, CONSUMER]
        for group in self.rng.sample(groups, 2):
            self.ask(DeleteGroupsRequest(groups_names=[group]), 2, self.coordinator(0, group))

    def delete_share_offsets(self) -> None:
        group = self.rng.choice(SHARE_GROUPS)
        wanted = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name=self.topic())
        self.ask(DeleteShareGroupOffsetsRequest(group_id=group, topics=[wanted]), 0, self.coordinator(0, group))
        asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
        self.ask(DescribeShareGroupOffsetsRequest(groups=[asked]), 1, self.coordinator(0, group))

    def kill(self) -> None:
        node = self.rng.choice(self.cluster.nodes.ids)
        self.cluster.kill(node)
        for call in [each for each in self.waiting if each.node == node]:
            call.close()

    def revive(self) -> None:
        self.cluster.revive(self.rng.choice(self.cluster.nodes.ids))

    def move_leader(self) -> None:
        known, alive = self.cluster.topics.get(self.topic()), self.cluster.nodes.alive
        if known is not None and alive:
            self.cluster.move_leader(self.rng.choice(known.partitions), self.rng.choice(alive).node_id)

    def move_coordinator(self) -> None:
        if self.cluster.nodes.alive:
            kind, key = self.rng.choice([(1, "mine"), *((0, each) for each in (*SHARE_GROUPS, CLASSIC, CONSUMER))])
            self.cluster.coordinators.move(kind, key, self.rng.choice(self.cluster.nodes.alive).node_id)

    def lose_records(self) -> None:
        if (known := self.cluster.topics.get(self.topic())) is not None:
            partition = self.rng.choice(known.partitions)
            log = partition.log
            self.cluster.truncate(partition, self.rng.randint(log.start_offset, log.end_offset))

    def delete_records(self) -> None:
        if (known := self.cluster.topics.get(self.topic())) is not None:
            partition = self.rng.choice(known.partitions)
            partition.delete_before(self.rng.randint(partition.log.start_offset, partition.log.end_offset))

    def keep_up(self) -> None:
        """Retention and compaction now, whatever is under way."""
        self.cluster.upkeep.run_all()
        for topic in self.cluster.topics.values():
            if topic.settings.compacts and not topic.is_internal:
                partition = self.rng.choice(topic.partitions)
                self.cluster.upkeep.compact(partition, partition.log.end_offset)

    def close(self) -> None:
        if self.waiting:
            self.rng.choice(self.waiting).close()

    def pass_time(self, seconds: float | None = None) -> None:
        target = self.broker.now + (self.rng.uniform(0, 20) if seconds is None else seconds)
        timers = self.cluster.timers
        while (due := timers.next_due) is not None and due <= target:
            self.broker.now = max(self.broker.now, due)
            timers.run_due(due)
            self.drive()
        self.broker.now = target
        self.drive()

    def settle(self) -> None:
        """All nodes live, all timers have passed, and the broker works."""
        for node in self.cluster.nodes.ids:
            self.cluster.revive(node)
        self.pass_time(3600)
        self.pass_time(8 * 86_400)
        self.create_topic()
        assert not [each for each in self.waiting if each.suspended and each.suspended.until < self.broker.now]
        led = self.led("orders", 0)
        taken = self.ask(produce(self.keyed((b"last", b"k"))), 9, led).responses[0].partition_responses[0]
        assert taken.error_code == 0
        read = self.ask(fetch(taken.base_offset), 11, led).responses[0].partitions[0]
        assert values(read.records) == [b"last"]


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_nothing_fails_when_what_requests_are_about_goes_away(first: int) -> None:
    for seed in range(first, first + 20):
        world = World(seed)
        world.run(150)
        world.settle()


def _read_and_acknowledge(broker: Broker) -> None:
    with ShareConsumer(broker.bootstrap_servers, group_id="workers") as consumer:
        consumer.subscribe(["jobs"])
        consumer.poll(timeout=1)
        broker.append("jobs", [b"x"])
        until(lambda: bool(consumer.poll(timeout=1).values()))
        consumer.commit()


def _delete_topic(broker: Broker) -> None:
    broker.delete_topic("jobs")


def _delete_group(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.delete_consumer_groups(["workers"])


@pytest.mark.parametrize("delete", [_delete_topic, _delete_group])
def test_a_lock_of_acknowledged_records_ends_with_them(
    delete: Callable[[Broker], None], caplog: pytest.LogCaptureFixture
) -> None:
    with Broker(topics={"jobs": 1}) as broker:
        _read_and_acknowledge(broker)
        delete(broker)
        broker.clock.advance(60)
        assert "jobs" in broker.topics() or delete is _delete_topic
        with Client(broker) as client:
            assert client.ask(MetadataRequest(topics=[]), 9).brokers
    assert not [record for record in caplog.records if record.exc_info]


def _raise() -> None:
    raise RuntimeError("an injected fault")


def _is_served(broker: Broker) -> bool:
    with Client(broker) as client:
        return bool(client.ask(MetadataRequest(topics=[]), 9).brokers)


def test_a_timers_fault_costs_one_call(caplog: pytest.LogCaptureFixture) -> None:
    made = threading.Event()
    with Broker() as broker:
        timers, now = broker._state().timers, broker.clock.now()
        broker._run(lambda: (timers.call_at(now, _raise), timers.call_at(now, made.set)))
        assert made.wait(PATIENT)
        assert _is_served(broker)
        assert broker.topics() == {}
    assert "a call that was due failed" in caplog.text
    assert "an injected fault" in caplog.text


def test_a_connections_fault_costs_that_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker() as broker, Client(broker) as unlucky:
        assert unlucky.ask(MetadataRequest(topics=[]), 9).brokers
        [connection] = broker._listeners[1][0].connections
        monkeypatch.setattr(connection, "serve_ready", _raise)
        unlucky.send(MetadataRequest(topics=[]), 9)
        assert unlucky.is_closed()
        assert _is_served(broker)
    assert "an injected fault" in caplog.text


def test_what_is_done_when_a_client_goes_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    with Broker() as broker:
        with Client(broker) as client:
            client.ask(MetadataRequest(topics=[]), 9)
            [connection] = broker._listeners[1][0].connections
            connection._serve.session.on_close += [_raise, ended.set]
        assert ended.wait(PATIENT)
        assert _is_served(broker)
    assert "an injected fault" in caplog.text


def test_a_broker_whose_thread_has_ended_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    broker = Broker(topics={"orders": 1})
    broker.notify_fault(told.set)
    with broker:
        with monkeypatch.context() as patched:
            patched.setattr(broker._server, "_resume", _raise)
            with pytest.raises(KafkaError):
                until(lambda: broker.topics() is None)
        assert told.wait(PATIENT)
        for call in (broker.topics, broker.close_connections, lambda: broker.append("orders", [b"x"])):
            with pytest.raises(KafkaError, match="ended by an internal error"):
                call()
    broker.start()
    assert broker.topics() == {"orders": 1}
    broker.stop()
