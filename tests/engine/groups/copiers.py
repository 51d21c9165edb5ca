"""Programs that copy a topic exactly once, and are late: they work for too long, are suspended, hold records over
several polls, leave and come back. In virtual time, on the embedded cluster.

Copying   the copiers of one group, and what they did
Copier    one program: a consumer, a transactional producer, and a loop over both, as users write it

What was copied is read from the logs by the plain codec of `tests/reference`, and the group's offsets where the
coordinator keeps them: the checks share nothing with the clients.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from kwire.engine.calls.offsets import EARLIEST
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.consumer.polling import Polling
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.groups.group_offsets import GroupOffsets
from kwire.engine.groups.opening import open_membership
from kwire.engine.settings.clients import ConsumerSettings
from kwire.engine.transactions.offsets import member_of, offsets_of, why_late
from kwire.errors import KafkaError, ProducerFencedError, TransactionError
from tests.engine.embedded_clients import EmbeddedProducer
from tests.engine.embedded_world import EmbeddedClient
from tests.engine.transactions.world import TransactionalProducer, TransactionWorld
from tests.reference.records import decode_batch, frames

PARTITIONS = 2
COUNT = 100
"""Records in each partition of the input."""

Step = float | Callable[[], bool]
"""What a program waits for: seconds, or a condition."""

_ATTRIBUTES, _PRODUCER_ID = slice(21, 23), slice(43, 51)
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


def committed_values(log: bytes) -> list[bytes]:
    """What is committed in a partition's log, in order of the commits: by the markers alone."""
    found: list[bytes] = []
    open_: dict[bytes, list[bytes]] = defaultdict(list)
    for batch in frames(log):
        attributes = int.from_bytes(batch[_ATTRIBUTES], "big")
        records = list(decode_batch(batch))
        if attributes & _CONTROL:
            ended = open_.pop(batch[_PRODUCER_ID], [])
            found += ended if records[0].key == b"\x00\x00\x00\x01" else []
        else:
            assert attributes & _TRANSACTIONAL
            open_[batch[_PRODUCER_ID]] += [record.value or b"" for record in records]
    return found


class Suspendable(EmbeddedClient):
    """A client that may be suspended: what reaches it meanwhile waits, and its timers are late."""

    is_suspended = False

    def at(self, when: float, action: Callable[[], None]) -> None:
        super().at(when, lambda: self.later(action))

    def later(self, action: Callable[[], None]) -> None:
        if self.is_suspended:
            self.waiting.append(action)
        else:
            action()

    def lose(self, connection: Any, reason: str) -> None:
        self.later(lambda: super(Suspendable, self).lose(connection, reason))

    def suspend(self) -> None:
        self.is_suspended = True
        self.waiting: list[Callable[[], None]] = []
        self.shared.clients.remove(self)

    def resume(self) -> None:
        self.is_suspended = False
        self.shared.clients.append(self)
        for action in self.waiting:
            action()


class Reader(Suspendable):
    """The consumer: the engine's parts, without a front."""

    def __init__(self, world: TransactionWorld, **given: Any) -> None:
        settings = ConsumerSettings(**world.settings(given))
        super().__init__(world, settings)
        self.core.rng = world.rng.random
        self.fetcher = Fetcher(self.core, settings)
        self.subscription = self.fetcher.subscription
        self.membership = open_membership(self.core, settings, self.subscription)
        self.offsets = GroupOffsets(
            self.core, settings, self.membership.coordinator, self.subscription, self.membership, world.note
        )
        self.fetcher.begin_in_group(self.offsets.fetches)
        self.polling = Polling(self.core, settings, self.fetcher, self.membership, self.offsets)

    def subscribe(self) -> None:
        self.membership.subscribe(("in",), None, self.now)

    def poll(self, count: int) -> ConsumerRecords:
        self.polling.begin(self.now)
        self.run_listener()
        records = self.polling.take_records(count, self.now)
        self.fetcher.hand_out.arrived = True
        return records

    def run_listener(self) -> None:
        while (event := self.membership.next_event(self.now)) is not None:
            self.membership.event_done(event, None, self.now)

    def unsubscribe(self) -> Iterator[Step]:
        self.fetcher.settle()
        self.membership.unsubscribe(self.now)
        while not self.membership.can_leave:
            self.run_listener()
            yield 0.02
        left: list[float] = []
        self.membership.leave(self.now, left.append)
        yield lambda: bool(left)

    def rewind(self) -> Iterator[Step]:
        """Goes on from what the group has committed."""
        self.fetcher.settle()
        call = self.offsets.committed(list(self.subscription.states), self.now, self.now + 60)
        yield lambda: call.done
        for tp, row in call.value().items():
            state = self.subscription.state(tp)
            if row is None:
                state.reset(EARLIEST)
            else:
                state.seek(row.offset)


class Writer(Suspendable, TransactionalProducer):
    """The producer."""


class Copier:
    """One program. Its habits are drawn once; what befalls it, all the time.

    early    asks for the metadata together with the records, not when it commits
    holds    over how many polls it gathers the records of one transaction
    by_hand  gives offsets by partition; only where it gathers nothing, since they do not tell which records they are of
    """

    def __init__(self, copying: Copying, name: str, **options: Any) -> None:
        self.copying, self.name, self.options = copying, name, options
        world, self.rng = copying.world, copying.world.rng
        self.reader = Reader(world, **options)
        self.writer = Writer(world, transactional_id=name, linger_ms=0, transaction_timeout_ms=30_000)
        self.early = self.rng.random() < 0.3
        self.holds = self.rng.choice([1, 1, 2, 3])
        self.by_hand = self.holds == 1 and self.rng.random() < 0.5
        self.is_over = False
        self.life = self.loop()
        world.at(world.now, self.go_on)

    # What it does.

    def loop(self) -> Iterator[Step]:
        starting = self.writer.manager.initialise(self.writer.now)
        yield lambda: starting.done
        starting.value()
        self.reader.subscribe()
        while True:
            held: list[tuple[ConsumerRecords, Any]] = []
            while len(held) < self.holds:
                if records := self.reader.poll(self.rng.choice([1, 3, 10])):
                    held.append((records, self.reader.offsets.metadata() if self.early else None))
                yield self.rng.uniform(0.01, 0.1)
                if held and self.rng.random() < 0.3:
                    break
            yield from self.transact(held)

    def transact(self, held: list[tuple[ConsumerRecords, Any]]) -> Iterator[Step]:
        self.writer.begin()
        try:
            yield from self.copy(held)
        except ProducerFencedError:
            raise
        except TransactionError as error:
            self.copying.happened["refused"] += 1
            if not error.abortable:
                raise
            outcome = self.writer.manager.abort(self.writer.now)
            yield lambda: outcome.done
            outcome.value()
            yield from self.reader.rewind()
        else:
            self.copying.happened["committed"] += 1
        if not self.reader.membership.active:
            self.reader.subscribe()

    def copy(self, held: list[tuple[ConsumerRecords, Any]]) -> Iterator[Step]:
        for records, _ in held:
            for tp, part in records.by_partition().items():
                for record in part:
                    self.writer.send("out", b"%d" % record.offset, partition=tp.partition)
        yield self.work()
        if self.rng.random() < 0.05:
            self.copying.happened["left"] += 1
            yield from self.reader.unsubscribe()
            yield self.work()
        for records, metadata in held:
            given: Any = records
            if self.by_hand:
                given = {tp: part[-1].offset + 1 for tp, part in records.by_partition().items()}
            group = member_of(metadata or self.reader.offsets.metadata())
            rows = offsets_of(given)
            late = why_late(given, rows, group)
            sent = self.writer.manager.send_offsets(rows, group, self.writer.now, late=late)
            yield lambda sent=sent: sent.done  # type: ignore[misc]
            sent.value()
        ending = self.writer.manager.commit(self.writer.now)
        yield lambda: ending.done
        ending.value()

    def work(self) -> float:
        """Seconds of work: now and then more than max_poll_interval_ms and the session."""
        return self.rng.uniform(3.0, 9.0) if self.rng.random() < 0.15 else self.rng.uniform(0.0, 0.3)

    # How it is run.

    def go_on(self) -> None:
        if self.is_over:
            return
        world = self.copying.world
        if self.reader.is_suspended:
            world.at(world.now + 0.05, self.go_on)
            return
        self.copying.check_offsets()
        try:
            step = next(self.life)
        except KafkaError as error:
            self.copying.happened[type(error).__name__] += 1
            self.copying.replace(self)
            return
        self.wait(step)

    def wait(self, step: Step) -> None:
        world = self.copying.world
        if isinstance(step, float):
            world.at(world.now + step, self.go_on)
        elif not self.is_over and (self.reader.is_suspended or not step()):
            world.at(world.now + 0.02, lambda: self.wait(step))
        else:
            self.go_on()

    def suspend(self, seconds: float) -> None:
        """As SIGSTOP does, and SIGCONT after that."""
        if self.is_over or self.reader.is_suspended:
            return
        self.copying.happened["suspended"] += 1
        for client in (self.reader, self.writer):
            client.suspend()
        self.copying.world.at(self.copying.world.now + seconds, self.resume)

    def resume(self) -> None:
        if not self.is_over:
            for client in (self.reader, self.writer):
                client.resume()

    def kill(self) -> None:
        if self.reader.is_suspended:
            self.resume()
        self.is_over = True
        for client in (self.reader, self.writer):
            self.copying.world.remove(client)


class Copying:
    """A group of copiers from "in" to "out", partition by partition."""

    def __init__(self, seed: int, copiers: int, *, static: bool = False, **options: Any) -> None:
        self.world = TransactionWorld(
            seed=seed,
            nodes=1,
            topics={"in": PARTITIONS, "out": PARTITIONS},
            group_min_session_timeout_ms=1,
            group_initial_rebalance_delay_ms=0,
            group_consumer_session_timeout_ms=3_000,
            group_consumer_heartbeat_interval_ms=500,
            transaction_abort_timed_out_transaction_cleanup_interval_ms=500,
            transaction_state_log_num_partitions=2,
        )
        self.world.cluster.features.update({"group.version": 1})
        self.rng = random.Random(seed)
        self.static = static
        self.options: dict[str, Any] = {
            "group_id": "g",
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "isolation_level": "read_committed",
            "max_poll_interval_ms": 4_000,
            **options,
        }
        if "group_protocol" not in options:
            self.options |= {"session_timeout_ms": 3_000, "heartbeat_interval_ms": 500}
        self.happened: Counter[str] = Counter()
        self.highest: dict[tuple[str, int], int] = {}
        self.is_over = False
        self.write()
        self.copiers = [self.start(f"copier-{number}") for number in range(copiers)]

    def write(self) -> None:
        producer = EmbeddedProducer(self.world)
        producer.complete([producer.send("in", b"", partition=each % PARTITIONS) for each in range(PARTITIONS * COUNT)])
        self.world.remove(producer)

    def start(self, name: str) -> Copier:
        more = {"group_instance_id": name} if self.static else {}
        return Copier(self, name, **self.options, **more)

    def replace(self, copier: Copier) -> None:
        """The program ends, by an error or killed, and is started again."""
        copier.kill()
        self.copiers[self.copiers.index(copier)] = self.start(copier.name)

    def run(self) -> None:
        """Until the group has committed all of the input, by copiers that are suspended and killed now and then."""
        self.world.at(self.world.now + 1.0, self.strike)
        self.world.run(self.is_done)
        self.is_over = True
        for copier in self.copiers:
            copier.kill()
        self.world.run(self.world.now + 60.0)

    def strike(self) -> None:
        if self.is_over:
            return
        copier = self.rng.choice(self.copiers)
        if self.rng.random() < 0.8:
            copier.suspend(self.rng.uniform(1.0, 8.0))
        elif not self.static:
            self.happened["killed"] += 1
            self.replace(copier)
        self.world.at(self.world.now + self.rng.expovariate(1 / 2), self.strike)

    # What must hold.

    def is_done(self) -> bool:
        return [self.offset(number) for number in range(PARTITIONS)] == [COUNT] * PARTITIONS

    def offset(self, partition: int) -> int:
        row = self.world.cluster.groups.offsets.of("g").get(("in", partition))
        return 0 if row is None else row.offset

    def check_offsets(self) -> None:
        """What the group has committed never goes back."""
        for number in range(PARTITIONS):
            offset, before = self.offset(number), self.highest.get(("in", number), 0)
            assert offset >= before, f"in-{number} went back from {before} to {offset}"
            self.highest["in", number] = offset

    def copied(self) -> list[list[int]]:
        """The offsets whose copies are committed, by partition."""
        parts = self.world.cluster.topics["out"].partitions
        return [[int(value) for value in committed_values(bytes(part.log.whole()))] for part in parts]
