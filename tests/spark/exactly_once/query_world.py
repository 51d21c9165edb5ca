"""A query without Spark: drivers, tasks and their deaths, around the classes that write exactly once.

    world = EmbeddedQueryWorld(seed=3)
    world.play()          # drivers live and die until every batch is in the commit log
    world.check()         # each row is there exactly once

Batches, their rows and the logs of the checkpoint are Spark's; which rows a task gets is drawn anew for each attempt of
a batch. A driver is an object that runs until it has done its work, or raises Killed at a step that the seed chose.
"""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kwire import Admin, Consumer, Producer, _prepared
from kwire._prepared import PreparedTransaction
from kwire.errors import KafkaError
from kwire.spark.exactly_once.commit import Committer
from kwire.spark.exactly_once.decision_reader import read_decision
from kwire.spark.exactly_once.decisions import Job
from kwire.spark.exactly_once.names import WorkerNames
from kwire.spark.exactly_once.task import Prepared, TaskTransaction
from kwire.spark.writing.write_task import TaskReport
from kwire.testing import Broker

TOPIC = "out"
STEPS = ["fence", "read", "list", "verify", "begin", "offsets", "decide", "finish", "sweep"]
_FAULTY = ["InitProducerId", "OffsetFetch", "ListTransactions", "DescribeTransactions", "TxnOffsetCommit", "EndTxn"]
_CODES = [-1, 7, 14, 15, 16, 51]


class Killed(BaseException):
    """The process is gone at once."""


def kill(producer: Producer) -> None:
    """As SIGKILL does: nothing more is sent."""
    producer._reactor.close()
    producer._accumulator.closed = "killed"


@dataclass
class Checkpoint:
    """What survives every driver."""

    query: str = field(default_factory=lambda: str(uuid.uuid4()))
    offsets: dict[int, list[bytes]] = field(default_factory=dict)
    commits: set[int] = field(default_factory=set)


class Worker:
    """A Python worker process, which runs one task at a time."""

    def __init__(self, servers: str, topic: str = TOPIC) -> None:
        self.names = WorkerNames()
        self.topic = topic
        self.producer = Producer(
            servers, transactional_id="unused", transaction_timeout_ms=900_000, linger_ms=0, max_block_ms=20_000
        )

    def begin(self, job: Job) -> bool:
        """Whether there is something to write for, as far as the task knows."""
        self.job = job
        self.transaction = TaskTransaction(self.producer, job, self.names)
        return self.transaction.begin()

    def write(self, rows: list[bytes]) -> None:
        for row in rows:
            self.producer.send(self.topic, row, key=row)

    def detach(self, rows: int = 0) -> Prepared:
        """The message of a task that had so many rows."""
        prepared = self.transaction.detach()
        self.transaction.__exit__(None, None, None)
        return self.message(rows, prepared)

    def message(self, rows: int, prepared: PreparedTransaction | None = None) -> Prepared:
        said = self.transaction
        return Prepared(self.job, TaskReport(rows), prepared, said.seen, said.is_late)

    def fail(self) -> None:
        """The task fails, and its producer is closed."""
        error = KafkaError("the task failed")
        self.transaction.__exit__(KafkaError, error, None)
        self.producer.close()


def committer_of(
    client: dict[str, str], job: Job, messages: list[Prepared], topic: str, step: Callable[[str], None]
) -> Committer:
    """What Spark's driver makes of the messages of the tasks."""
    open_ones = [each for each in messages if each.transaction is not None]
    return Committer(
        client,
        job,
        [each.transaction for each in open_ones],  # type: ignore[misc]
        rows=sum(each.report.rows for each in messages),
        topics=[topic],
        seen={each.seen for each in open_ones},
        are_late=any(each.is_late for each in messages),
        step=step,
    )


class QueryWorld:
    """One query, on brokers that are there; drivers are killed, and so are tasks, as the seed has it."""

    def __init__(self, seed: int, servers: str, *, topic: str = TOPIC, batches: int = 5) -> None:
        self.rng = random.Random(seed)
        self.servers, self.topic = servers, topic
        self.checkpoint = Checkpoint()
        self.batches = batches
        self.number = 0
        self.workers: list[Worker] = []
        self.zombies: list[tuple[Worker, list[bytes]]] = []
        self.happened: Counter[str] = Counter()

    def stop(self) -> None:
        self.end_app()

    def disturb(self) -> None:
        """Something goes wrong outside."""

    @property
    def scope(self) -> str:
        return f"p-{self.checkpoint.query}"

    @property
    def client(self) -> dict[str, str]:
        return {"bootstrap.servers": self.servers, "retry.backoff.ms": "5"}

    # -- the driver -------------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Drivers until all is committed; each may die at any step of any batch."""
        for _ in range(60):
            try:
                self.live(str(uuid.uuid4()), self.doom())
                return
            except Killed:
                self.happened["driver killed"] += 1
            except KafkaError as error:
                self.happened[f"{type(error).__name__}: {error}"[:90]] += 1
            if self.rng.random() < 0.7:
                self.end_app()
        raise AssertionError(f"no driver got through: {self.happened}")

    def doom(self) -> Callable[[str], None]:
        """Kills at one of the next steps, or never."""
        left = self.rng.choice([self.rng.randrange(12), self.rng.randrange(60), 1000])

        def step(name: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                self.happened[f"killed before {name}"] += 1
                raise Killed
            self.disturb()

        return step

    def live(self, run: str, step: Callable[[str], None]) -> None:
        """One run of the query: Spark's loop of batches."""
        done = self.checkpoint.commits
        batch = max(done, default=-1) + 1
        while batch < self.batches:
            rows = self.checkpoint.offsets.get(batch) or self.new_rows()
            self.checkpoint.offsets[batch] = rows
            job = Job(self.scope, run, batch)
            step("tasks")
            self.commit(job, self.run_tasks(job, rows), step)
            step("commit log")
            done.add(batch)
            batch += 1

    def commit(self, job: Job, messages: list[Prepared], step: Callable[[str], None]) -> None:
        """As Spark does: commit(), and where that fails abort(), each in a process of its own."""
        try:
            self.call(Committer.commit, job, messages, step)
        except KafkaError:
            self.call(Committer.abort, job, messages, step)
            raise

    def call(
        self,
        method: Callable[[Committer], None],
        job: Job,
        messages: list[Prepared],
        step: Callable[[str], None],
    ) -> None:
        """A driver that is killed closes nothing."""
        prepared = [each.transaction for each in messages if each.transaction is not None]

        def fatal(name: str) -> None:
            try:
                step(name)
            except Killed:
                if name == "finish":
                    self.finish_some(prepared)
                kill(committer._producer)
                raise

        with committer_of(self.client, job, messages, self.topic, fatal) as committer:
            method(committer)

    def finish_some(self, prepared: list[PreparedTransaction]) -> None:
        """The driver dies when it has ended some of them. The decision may name others: then these are not ended."""
        committed = self.decided()
        some = [each for each in prepared if each.transactional_id in committed and self.rng.random() < 0.5]
        with Admin(self.servers) as admin:
            _prepared.end(admin, some, commit=True)

    def decided(self) -> set[str]:
        with Admin(self.servers) as admin:
            last = read_decision(admin, Job(self.scope, "reader"))
        return set() if last is None else {each.transactional_id for each in last.transactions}

    def new_rows(self) -> list[bytes]:
        count = self.rng.choice([0, 1, 5, 20])
        self.number += count
        return [b"%d" % number for number in range(self.number - count, self.number)]

    # -- tasks ------------------------------------------------------------------------------------------------------

    def end_app(self) -> None:
        """The application is gone, with its workers."""
        for worker in [*self.workers, *(worker for worker, _ in self.zombies)]:
            kill(worker.producer)
        self.workers.clear()
        self.zombies.clear()

    def worker(self) -> Worker:
        if self.workers and self.rng.random() < 0.8:
            return self.workers.pop(self.rng.randrange(len(self.workers)))
        return Worker(self.servers, self.topic)

    def run_tasks(self, job: Job, rows: list[bytes]) -> list[Prepared]:
        """The rows in some tasks, each tried until one attempt's message arrives."""
        parts: list[list[bytes]] = [[] for _ in range(self.rng.randrange(1, 5))]
        for row in rows:
            self.rng.choice(parts).append(row)
        found = []
        for part in parts:
            while part:
                message = self.attempt(job, part)
                if message is not None:
                    found.append(message)
                    break
        return found

    def attempt(self, job: Job, rows: list[bytes]) -> Prepared | None:
        """The message of one attempt; None where it got lost."""
        fate = self.rng.choice(["well"] * 6 + ["killed", "lost", "failed", "zombie", "speculative"])
        self.happened[fate] += 1
        worker = self.worker()
        if not worker.begin(job):
            self.happened["late"] += 1
            self.workers.append(worker)
            return worker.message(len(rows))
        half = len(rows) // 2
        worker.write(rows[:half])
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
            return None
        worker.write(rows[half:])
        message = worker.detach(len(rows))
        self.workers.append(worker)
        if fate == "speculative":
            return self.attempt(job, rows)
        if self.zombies and self.rng.random() < 0.3:
            self.end_zombie()
        return None if fate == "lost" else message

    def end_zombie(self) -> None:
        """A task that was thought dead writes the rest, if it may."""
        worker, rows = self.zombies.pop()
        try:
            worker.write(rows)
            worker.detach()
            self.workers.append(worker)
        except KafkaError as error:
            self.happened[f"zombie: {type(error).__name__}"] += 1
            kill(worker.producer)

    # -- the end ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Each row once, and nothing that readers wait for once what was left open is ended."""
        self.end_what_is_left()
        assert set(self.checkpoint.offsets) == self.checkpoint.commits
        wanted = Counter(row for rows in self.checkpoint.offsets.values() for row in rows)
        assert self.found(sum(wanted.values())) == wanted, self.happened

    def end_what_is_left(self) -> None:
        """By one batch more, whose commit aborts what nobody ended."""
        self.end_app()
        batch = max(self.checkpoint.offsets, default=-1) + 1
        job = Job(self.scope, str(uuid.uuid4()), batch)
        worker = self.worker()
        assert worker.begin(job)
        worker.write([b"last"])
        self.commit(job, [worker.detach(1)], lambda name: None)
        self.checkpoint.offsets[batch] = [b"last"]
        self.checkpoint.commits.add(batch)
        self.end_app()
        kill(worker.producer)

    def found(self, count: int) -> Counter[bytes]:
        """What a reader of committed records gets, who waits for `count` of them."""
        found: Counter[bytes] = Counter()
        with Consumer(self.servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
            consumer.assign(consumer.partitions_for(self.topic))
            until = time.monotonic() + 20
            while time.monotonic() < until and found.total() < count:
                found.update(value or b"" for value in consumer.poll(timeout=1.0).values())
            found.update(value or b"" for value in consumer.poll(timeout=0.3).values())
        return found


class EmbeddedQueryWorld(QueryWorld):
    """On embedded brokers, whose answers get lost, or are errors, and of which some die; what is left times out."""

    def __init__(self, seed: int, *, release: str = "4.4.0", faults: bool = True, nodes: int = 1) -> None:
        self.broker = Broker(topics={TOPIC: 3}, release=release, nodes=nodes)
        self.broker.start()
        self.faults = faults
        super().__init__(seed, self.broker.bootstrap_servers)

    def stop(self) -> None:
        super().stop()
        self.broker.stop()

    def disturb(self) -> None:
        if not self.faults or self.rng.random() > 0.15:
            return
        if len(self.broker.nodes) > 1 and self.rng.random() < 0.5:
            self.move()
            return
        api = self.rng.choice(_FAULTY)
        if self.rng.random() < 0.6:
            self.broker.faults.close(api, after_effect=self.rng.random() < 0.7)
        else:
            self.broker.faults.error(api, self.rng.choice(_CODES))

    def move(self) -> None:
        """The coordinator of the driver's id or of its group moves, or a node dies, or lives again."""
        node = self.rng.choice(self.broker.nodes)
        dead = [each for each in self.broker.nodes if not self.broker.is_alive(each)]
        if dead:
            self.broker.revive(dead[0])
        elif self.rng.random() < 0.4:
            self.broker.kill(node)
        else:
            self.broker.move_coordinator(self.scope, node, self.rng.choice(["group", "transaction"]))

    def end_what_is_left(self) -> None:
        self.broker.faults.clear()
        for node in self.broker.nodes:
            if not self.broker.is_alive(node):
                self.broker.revive(node)
        self.broker.clock.advance(1000)

    def found(self, count: int) -> Counter[bytes]:
        return Counter(value for value in self.broker.values(TOPIC, committed=True) if value is not None)
