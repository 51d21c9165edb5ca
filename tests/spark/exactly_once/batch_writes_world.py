"""Batch writes of several applications with one prefix, without Spark: their drivers and tasks take turns at random.

    world = WritesWorld(seed=3)
    world.play()          # each application makes its writes, one after the other; drivers and tasks die, and are late
    world.check()         # what was said to be written is there once, everything else once or not at all

One thread runs at a time. It hands over before each step of a driver, and between those of a task: where a process may
be suspended, and another one get ahead of it.
"""

from __future__ import annotations

import random
import threading
import uuid
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from kwire.errors import KafkaError
from kwire.spark.exactly_once.commit import Committer
from kwire.spark.exactly_once.decisions import ExactlyOnceError, Job
from kwire.spark.exactly_once.names import WorkerNames
from kwire.spark.exactly_once.task import Prepared
from kwire.testing import Broker
from tests.spark.exactly_once.query_world import TOPIC, Killed, Worker, committer_of, kill

SCOPE = "p-batch"
_WITHIN_S = 120.0


class Turns:
    """Lets one of several threads run at a time; which is drawn whenever one hands over."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._changed = threading.Condition()
        self._waiting: list[str] = []
        self._running: str | None = None

    def join(self, name: str) -> None:
        with self._changed:
            self._waiting.append(name)

    def begin(self) -> None:
        with self._changed:
            self._draw()

    def hand_over(self, name: str) -> None:
        with self._changed:
            if self._running == name:
                self._waiting.append(name)
                self._waiting.sort()
                self._draw()
            assert self._changed.wait_for(lambda: self._running == name, _WITHIN_S), "nobody hands over"

    def leave(self) -> None:
        with self._changed:
            self._draw()

    def _draw(self) -> None:
        self._running = self._waiting.pop(self._rng.randrange(len(self._waiting))) if self._waiting else None
        self._changed.notify_all()


@dataclass
class Write:
    """One write: its rows, and what its driver said of it."""

    job: Job
    rows: list[bytes]
    said: str = "nothing"


class SuspendedNames(WorkerNames):
    """Ids of a worker that may be suspended between looking for a free one and using it."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._application = application

    def take(self, job: Job, free: Collection[str] = ()) -> str:
        self._application.pause()
        name = super().take(job, free)
        self._application.pause()
        return name


@dataclass
class Application:
    """A driver with its workers; its writes come one after the other, each after the end of the one before."""

    name: str
    world: WritesWorld
    workers: list[Worker] = field(default_factory=list)
    zombies: list[tuple[Worker, list[bytes]]] = field(default_factory=list)

    def pause(self, _: str = "") -> None:
        self.world.turns.hand_over(self.name)

    def run(self) -> None:
        self.world.turns.hand_over(self.name)
        try:
            for number in range(self.world.writes_of_each):
                self.write(Write(Job(SCOPE, str(uuid.uuid4())), self.world.new_rows(f"{self.name}{number}")))
            while self.zombies:
                self.end_zombie()
        except BaseException as error:
            self.world.faults.append(error)
        finally:
            self.world.turns.leave()

    def write(self, write: Write) -> None:
        self.world.writes.append(write)
        left = self.world.rng.choice([1000, 1000, self.world.rng.randrange(9)])

        def step(name: str) -> None:
            nonlocal left
            self.pause()
            left -= 1
            if left < 0:
                raise Killed
            self.world.disturb()

        messages: list[Prepared] = []
        try:
            self.run_tasks(write, messages)
            self.end(Committer.commit, write, messages, step)
            write.said = "written"
        except Killed:
            write.said = "killed"
        except ExactlyOnceError as error:
            write.said = str(error)
            self.end(Committer.abort, write, messages, self.pause)
        except KafkaError as error:
            write.said = f"perhaps: {error}"
            self.end(Committer.abort, write, messages, self.pause)

    def end(self, method: object, write: Write, messages: list[Prepared], step: object) -> None:
        """Commits or aborts; a driver that is killed closes nothing."""
        with committer_of(self.world.client, write.job, messages, TOPIC, step) as committer:  # type: ignore[arg-type]
            try:
                method(committer)  # type: ignore[operator]
            except Killed:
                kill(committer._producer)
                raise

    def run_tasks(self, write: Write, messages: list[Prepared]) -> None:
        """Runs one task after the other, each until an attempt has a message; one that fails ends the write."""
        parts: list[list[bytes]] = [[] for _ in range(self.world.rng.randrange(1, 4))]
        for row in write.rows:
            self.world.rng.choice(parts).append(row)
        for part in parts:
            message = None
            while part and message is None:
                message = self.attempt(write.job, part)
            if message is not None:
                messages.append(message)

    def attempt(self, job: Job, rows: list[bytes]) -> Prepared | None:
        """The message of one attempt; None where there is none."""
        fate = self.world.rng.choice(["well"] * 6 + ["killed", "lost", "failed", "zombie", "speculative"])
        worker = self.worker()
        if not worker.begin(job):
            self.workers.append(worker)
            return worker.message(len(rows))
        half = len(rows) // 2
        worker.write(rows[:half])
        self.pause()
        if fate == "killed":
            worker.producer.flush()
            kill(worker.producer)
            return None
        if fate == "zombie":
            worker.producer.flush()
            self.zombies.append((worker, rows[half:]))
            return None
        if fate == "failed":
            worker.fail()
            self.world.killed.append(worker)
            return None
        try:
            worker.write(rows[half:])
            message = worker.detach(len(rows))
        except KafkaError:
            kill(worker.producer)
            raise
        self.pause()
        self.workers.append(worker)
        if fate == "speculative":
            return self.attempt(job, rows)
        if self.zombies and self.world.rng.random() < 0.4:
            self.end_zombie()
        return None if fate == "lost" else message

    def end_zombie(self) -> None:
        """An attempt that was thought dead writes the rest, if it may."""
        worker, rows = self.zombies.pop()
        try:
            worker.write(rows)
            self.pause()
            worker.detach(len(rows))
            self.workers.append(worker)
        except KafkaError:
            kill(worker.producer)

    def worker(self) -> Worker:
        if self.workers and self.world.rng.random() < 0.9:
            return self.workers.pop(self.world.rng.randrange(len(self.workers)))
        made = Worker(self.world.client["bootstrap.servers"])
        made.names = SuspendedNames(self)
        return made


class WritesWorld:
    """Applications that share a prefix, which they are told not to, on an embedded broker whose answers get lost."""

    def __init__(self, seed: int, *, applications: int = 2, writes_of_each: int = 5, release: str = "4.4.0") -> None:
        self.rng = random.Random(seed)
        self.turns = Turns(self.rng)
        self.writes_of_each = writes_of_each
        self.broker = Broker(topics={TOPIC: 2}, release=release)
        self.broker.start()
        # A driver that is suspended within its decision is not waited for as long as by default.
        self.client = {
            "bootstrap.servers": self.broker.bootstrap_servers,
            "retry.backoff.ms": "5",
            "default.api.timeout.ms": "2000",
        }
        self.writes: list[Write] = []
        self.faults: list[BaseException] = []
        self.killed: list[Worker] = []
        self.applications = [Application("abc"[number], self) for number in range(applications)]

    def stop(self) -> None:
        for application in self.applications:
            for worker in [*application.workers, *(worker for worker, _ in application.zombies)]:
                kill(worker.producer)
        self.broker.stop()

    def play(self) -> None:
        threads = [threading.Thread(target=each.run, name=each.name) for each in self.applications]
        for each in self.applications:
            self.turns.join(each.name)
        for thread in threads:
            thread.start()
        self.turns.begin()
        for thread in threads:
            thread.join()
        if self.faults:
            raise self.faults[0]

    def new_rows(self, of: str) -> list[bytes]:
        return [f"{of}-{number}".encode() for number in range(self.rng.choice([1, 4, 12]))]

    def disturb(self) -> None:
        if self.rng.random() < 0.1:
            api = self.rng.choice(["InitProducerId", "OffsetFetch", "TxnOffsetCommit", "EndTxn"])
            self.broker.faults.close(api, after_effect=self.rng.random() < 0.7)

    def check(self) -> None:
        """All was ended by one write more; what was left open after that is aborted by its time-out."""
        self.broker.faults.clear()
        last = Application("z", self)
        self.turns._running = "z"
        self.turns._waiting.clear()
        write = Write(Job(SCOPE, str(uuid.uuid4())), [b"last"])
        worker = last.worker()
        assert worker.begin(write.job)
        worker.write(write.rows)
        last.end(Committer.commit, write, [worker.detach(1)], lambda name: None)
        kill(worker.producer)
        self.broker.clock.advance(1000)
        found = Counter(value for value in self.broker.values(TOPIC, committed=True) if value is not None)
        assert found.pop(b"last") == 1
        for write in self.writes:
            self.check_write(write, {found.pop(row, 0) for row in write.rows})
        assert not found

    def check_write(self, write: Write, times: set[int]) -> None:
        assert "Their rows are lost" not in write.said, write.said
        if write.said == "written":
            assert times == {1}, write
        elif " is not committed: " in write.said:
            assert times == {0}, write
        else:
            assert times in ({0}, {1}), write
