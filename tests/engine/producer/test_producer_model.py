"""The whole producer against a model of Kafka's producer state, in virtual time, by seeds: nothing may be doubled,
reordered or lost, and every Delivery says what the log has.

`play(seed)` is one run: a cluster, settings, records at random moments, faults, moves of leaders, restarts, cut steps.
KWIRE_MODEL_SEEDS says how many seeds (and from which: "1000" or "5000:1000"); `make test` plays a few.
"""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from functools import partial
from typing import Any

import pytest

from kwire._codec import Delivery
from kwire.engine.connections.connection import Connection
from tests.engine.model_cluster import TOPIC, Cluster
from tests.engine.produce_world import ProducerWorld
from tests.thorough import THOROUGH

LIMITS = (2, 3, 10, 1_000_000)
"""Of the records of a batch; they stand for max.message.bytes."""

RELEASES = ("4.4.0", "4.0.2", "3.9.2", "2.8.2", "2.5.1", "2.4.1", "1.1.1", "0.11.0.3")


def seeds(default: int) -> range:
    first, _, count = os.environ.get("KWIRE_MODEL_SEEDS", "").rpartition(":")
    wanted = int(count) if count else 1000 if THOROUGH else default
    return range(int(first or 0), int(first or 0) + wanted)


class ModelWorld(ProducerWorld):
    """A producer and a cluster that misbehaves. Sends `records` records, then lets the cluster calm down."""

    def __init__(self, rng: random.Random, cluster: Cluster, **options: Any) -> None:
        super().__init__(
            *cluster.nodes,  # type: ignore[arg-type]
            topics={},
            bootstrap_servers=[tuple(address) for address in cluster.addresses.values()],
            reconnect_backoff_max_ms=300,
            retry_backoff_max_ms=300,
            **options,
        )
        for node in cluster.nodes:
            node.brokers = dict(cluster.addresses)
        self.rng = rng
        self.cluster = cluster
        self.pauses = rng.choice(((0.0001, 0.001), (0.0003, 0.001, 0.004, 0.02), (0.001, 0.01, 0.3)))
        self.sent: list[list[tuple[bytes, Delivery]]] = [[] for _ in cluster.logs]
        self.deaf: set[Connection] = set()
        self.arrives: dict[Connection, float] = {}
        self.unread: dict[Connection, deque[bytes]] = {}

    # -- what requests meet -----------------------------------------------------------------------------------------

    def deliver(self, connection: Connection, frame: bytes) -> None:
        """Each connection's requests are read in order, one at a time."""
        moment = self.now + 0.0005 + 0.002 * self.rng.random()
        self.arrives[connection] = max(moment, self.arrives.get(connection, 0.0) + 1e-7)
        self.at(self.arrives[connection], partial(self.arrive, connection, frame))

    def arrive(self, connection: Connection, frame: bytes) -> None:
        unread = self.unread.setdefault(connection, deque())
        unread.append(frame)
        if len(unread) == 1 and self.busy_until.get(connection, 0.0) <= self.now:
            self.read(connection)

    def read(self, connection: Connection) -> None:
        unread = self.unread[connection]
        while unread and self.busy_until.get(connection, 0.0) <= self.now:
            if connection not in self.open or connection in self.deaf:
                return
            self.process(connection, unread.popleft())

    def process(self, connection: Connection, frame: bytes) -> None:
        fault = self.rng.random()
        if frame[4:6] != b"\0\0" or fault >= self.cluster.trouble:
            self.answer(connection, frame, frame[4:6] != b"\0\x12" and self.rng.random() < self.cluster.trouble)
        elif fault < self.cluster.trouble * 0.3:
            self.lose(connection, "reset before it was read")
        elif fault < self.cluster.trouble * 0.6:
            self.peers[connection.address].answer(frame, self.now)
            self.lose(connection, "reset behind it")
        elif fault < self.cluster.trouble * 0.8 and self.cluster.zombies:
            self.lose(connection, "reset while it waits")
            peer = self.peers[connection.address]
            self.at(self.now + self.rng.random(), lambda: peer.answer(frame, self.now))
        elif fault < self.cluster.trouble * 0.9:
            self.peers[connection.address].answer(frame, self.now)
            self.deaf.add(connection)
        else:
            self.deaf.add(connection)

    def answer(self, connection: Connection, frame: bytes, slow: bool) -> None:
        answer = self.peers[connection.address].answer(frame, self.now)
        wait = self.rng.random() ** 3 * 2 if slow else 0.0
        self.busy_until[connection] = self.now + wait
        for part in answer or []:
            if wait:
                self.at(self.now + wait, partial(self.receive, connection, part))
            else:
                self.receive(connection, part)
        if wait:
            self.at(self.now + wait, partial(self.read, connection))

    # -- what happens -----------------------------------------------------------------------------------------------

    def restart(self) -> None:
        node = self.rng.choice(self.cluster.nodes)
        node.refuses = "starting"
        address = self.cluster.addresses[node.node_id]
        self.lose_all(address)
        if self.rng.random() < 0.5:
            for log in self.cluster.logs:
                if log.leader == node.node_id:
                    log.move(self.rng.randrange(len(self.cluster.nodes)))
        self.at(self.now + self.rng.random() * 2, lambda: setattr(node, "refuses", ""))

    def forget(self) -> None:
        """All records were deleted, as far as brokers keep no state beyond them; only where nothing is under way."""
        if not self.accumulator.pending and not self.agenda:
            for log in self.cluster.logs:
                log.producers.clear()

    def happen(self, likely: float) -> None:
        chance = self.rng.random()
        if chance < likely * 0.4:
            self.cluster.move_some()
        elif chance < likely * 0.6:
            self.restart()
        elif chance < likely * 0.7:
            self.core.recover(self.now)
            self.open.clear()
        elif chance < likely * 0.8:
            for address in self.cluster.addresses.values():
                self.lose_all(address)
        elif chance < likely * 0.9:
            self.forget()
        elif chance < likely:
            self.cluster.max_records = self.rng.choice(LIMITS)
        self.cluster.look_again()

    def put(self, count: int) -> None:
        for _ in range(count):
            partition = self.rng.randrange(len(self.sent))
            row = self.sent[partition]
            value = b"%d" % len(row)
            row.append((value, self.send(value, TOPIC, partition=partition)))

    def play(self, records: int, likely: float) -> None:
        while sum(map(len, self.sent)) < records:
            self.put(self.rng.choice((1, 1, 1, 2, 5, 20)))
            if self.rng.random() < 0.5:
                self.run(self.now + self.rng.choice(self.pauses))
                self.happen(likely)
        self.cluster.trouble = 0.0
        for node in self.cluster.nodes:
            node.refuses = ""
            node.look()
        self.run(lambda: not self.accumulator.pending)

    # -- what must hold ---------------------------------------------------------------------------------------------

    def verdict(self, *, once: bool) -> list[str]:
        """What is wrong with the logs, beside what was sent and reported.

        A batch that failed may still be on its way when a new producer id comes, which does not shut it out as a new
        epoch does; so its place in the log is not looked at then.
        """
        wrong = []
        for number, (log, row) in enumerate(zip(self.cluster.logs, self.sent, strict=True)):
            values = log.values
            counts = Counter(values)
            one_id = len({batch.producer_id for batch in log.batches}) < 2
            counted = {value for value, delivery in row if one_id or delivery.exception() is None}
            firsts = [int(value) for value in dict.fromkeys(values) if value in counted]
            if once and max(counts.values(), default=1) > 1:
                wrong.append(f"[{number}] doubled: {[int(v) for v in values]}")
            if firsts != sorted(firsts):
                wrong.append(f"[{number}] reordered: {[int(v) for v in values]}")
            for value, delivery in row:
                if delivery.exception() is None:
                    offset = delivery.result().offset
                    if not counts[value]:
                        wrong.append(f"[{number}] {value!r} is lost")
                    elif offset >= 0 and values[offset] != value:
                        wrong.append(f"[{number}] {value!r} is not at {offset}, {values[offset]!r} is")
        if self.accumulator.used:
            wrong.append(f"{self.accumulator.used} bytes are still accounted for")
        return wrong


def make(seed: int, **forced: Any) -> ModelWorld:
    rng = random.Random(seed)
    cluster = Cluster(rng, rng.choice((1, 2, 3)), rng.choice((1, 1, 2, 4)), rng.choice(RELEASES))
    request_timeout = rng.choice((500, 1000, 2000))
    options = {
        "linger_ms": rng.choice((0, 0, 1, 5)),
        "batch_size": rng.choice((0, 0, 100, 100, 300, 2000)),
        "max_request_size": rng.choice((600, 1000, 1_000_000)),
        "max_in_flight_requests_per_connection": rng.choice((1, 2, 5, 5, 5)),
        "request_timeout_ms": request_timeout,
        "delivery_timeout_ms": rng.choice((request_timeout + 5, 3000, 10_000, 120_000, 120_000)),
        "retries": rng.choice((1, 2, 5, 2**31 - 1, 2**31 - 1, 2**31 - 1)),
        "compression": rng.choice(("none", "none", "none", "lz4")),
    }
    cluster.max_records = rng.choice((3, 1_000_000, 1_000_000))
    cluster.trouble = rng.choice((0.02, 0.1, 0.2, 0.3, 0.5))
    return ModelWorld(rng, cluster, **{**options, **forced})


def play(seed: int) -> tuple[ModelWorld, list[str]]:
    """One run with idempotence."""
    world = make(seed)
    world.play(world.rng.choice((100, 300, 600)), world.rng.choice((0.0, 0.02, 0.1)))
    return world, world.verdict(once=True)


def play_plain(seed: int) -> tuple[ModelWorld, list[str]]:
    """One run without idempotence, with one request in flight: order is all that is promised."""
    world = make(seed, enable_idempotence=False, max_in_flight_requests_per_connection=1)
    world.cluster.zombies = False
    world.play(world.rng.choice((100, 300, 600)), world.rng.choice((0.0, 0.02, 0.1)))
    return world, world.verdict(once=False)


@pytest.mark.parametrize("game", [play, play_plain])
def test_nothing_is_doubled_reordered_or_lost(game: Any) -> None:
    bad = {seed: wrong for seed in seeds(120) if (wrong := game(seed)[1])}
    assert not bad, f"{len(bad)} seeds of {len(seeds(120))}, e.g. {next(iter(bad.items()))}"


def test_the_runs_meet_what_they_are_for() -> None:
    """Failures, new epochs and producer ids, and leaders that move occur in a few runs."""
    seen: Counter[str] = Counter()
    for seed in range(30):
        world, _ = play(seed)
        batches = [batch for log in world.cluster.logs for batch in log.batches]
        seen["batches"] += len(batches)
        seen["epochs"] += len({(batch.producer_id, batch.epoch) for batch in batches}) > 1
        seen["ids"] += len({batch.producer_id for batch in batches}) > 1
        seen["failed"] += sum(d.exception() is not None for row in world.sent for _, d in row)
        seen["moved"] += any(log.leader_epoch for log in world.cluster.logs)
    assert all(seen[name] for name in ("batches", "epochs", "ids", "failed", "moved")), seen
