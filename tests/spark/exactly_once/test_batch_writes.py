"""Batch writes that use their transactional ids again: how many there are, and that nobody's rows are lost by it."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, _prepared
from kwire.errors import KafkaError
from kwire.spark.exactly_once import task as exactly_once_task
from kwire.spark.exactly_once import writers as exactly_once_writers
from kwire.spark.exactly_once.commit import Committer
from kwire.spark.exactly_once.decisions import ExactlyOnceError, Job
from kwire.spark.exactly_once.names import WorkerNames
from kwire.spark.exactly_once.writers import ExactlyOnceWriter
from kwire.spark.options.write import parse_write_options
from kwire.spark.workers.clients import close_idle_clients
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.spark.exactly_once.batch_writes_world import SCOPE, WritesWorld
from tests.spark.exactly_once.query_world import TOPIC, Killed, Worker, committer_of, kill
from tests.spark.exactly_once.test_writers import batches, committed, copied, options
from tests.thorough import SOAK, THOROUGH, seeds

SEEDS = seeds(400 if SOAK else 40 if THOROUGH else 8)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"a": 2, "b": 1, TOPIC: 1}) as made:
        yield made
        close_idle_clients()


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a worker process of its own."""
    monkeypatch.setattr(exactly_once_task, "_names", WorkerNames())


def ids(broker: Broker) -> set[str]:
    """All transactional ids of tasks that the broker knows."""
    return set(broker._state().transactions._transactions) - {SCOPE}


def write(broker: Broker, tasks: int = 4, **how: bool) -> None:
    """A write of one row in each task, as Spark makes it: by copies of one writer."""
    writer = copied(ExactlyOnceWriter(parse_write_options(options(broker))))
    messages = [copied(writer).write(batches([("a", b"1")])) for _ in range(tasks)]
    method = copied(writer).abort if how.get("aborted") else copied(writer).commit
    method(copied(messages))


def test_ids_do_not_grow(broker: Broker) -> None:
    """A worker has two for each task of a write: those of the last write are in its decision."""
    for _ in range(12):
        write(broker)
    assert committed(broker) == {b"1": 48}
    assert len(ids(broker)) == 8


@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
def test_ids_do_not_grow_on_real_kafka(
    kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], release: str
) -> None:
    """And late attempts of each write hold no reader up."""
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    with Admin(servers) as admin:
        admin.create_topics({topic: 1})
    worker, late = Worker(servers, topic), Worker(servers, topic)
    names: set[str] = set()
    for number in range(6):
        job = Job(f"{topic}-batch", str(uuid.uuid4()))
        messages = []
        for _ in range(3):
            assert worker.begin(job)
            worker.write([b"%d" % number])
            messages.append(worker.detach(1))
        assert late.begin(job)
        with committer_of({"bootstrap.servers": servers}, job, messages, topic, lambda name: None) as driver:
            driver.commit()
        late.write([b"late"])
        assert late.detach(1).is_late
        names |= {message.transaction.transactional_id for message in messages if message.transaction is not None}
    assert len(names) == 6
    with Producer(servers) as other:
        other.send(topic, b"other", partition=0).result(30)
    wanted = Counter({b"%d" % number: 3 for number in range(6)}) + Counter([b"other"])
    with Consumer(servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign([(topic, 0)])
        found: Counter[bytes | None] = Counter()
        ends_at = time.monotonic() + 60
        while found.total() < wanted.total() and time.monotonic() < ends_at:
            found.update(consumer.poll(timeout=1.0).values())
    assert found == wanted
    for each in (worker, late):
        kill(each.producer)


def test_ids_of_aborted_writes_and_of_failed_tasks_are_used_again(broker: Broker) -> None:
    for _ in range(6):
        write(broker, aborted=True)
    writer = ExactlyOnceWriter(parse_write_options(options(broker)))
    for _ in range(6):
        with pytest.raises(ZeroDivisionError):
            writer.write(batches([("a", b"1")] * 9, fails_after=7))
    assert len(ids(broker)) <= 5
    write(broker)
    assert committed(broker) == {b"1": 4}


def test_an_id_whose_transaction_is_open_is_not_used_again(broker: Broker) -> None:
    writer = ExactlyOnceWriter(parse_write_options(options(broker)))
    messages = [writer.write(batches([("a", b"%d" % number)])) for number in range(3)]
    assert len({message.prepared.transaction.transactional_id for message in messages}) == 3  # type: ignore[attr-defined]
    writer.commit(messages)
    assert committed(broker) == {b"%d" % number: 1 for number in range(3)}


def test_ids_of_the_last_decision_are_not_used_again(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver died when it had ended all, and before it knew: the next one ends them again."""
    first = ExactlyOnceWriter(parse_write_options(options(broker)))
    messages = [first.write(batches([("a", b"%d" % number)])) for number in range(3)]

    def dying(*given: Any) -> Any:
        made = make(*given)

        def die(name: str) -> None:
            if name == "sweep":
                raise Killed

        made._step = die
        return made

    make = exactly_once_writers._committer
    with monkeypatch.context() as patch:
        patch.setattr(exactly_once_writers, "_committer", dying)
        with pytest.raises(Killed):
            first.commit(messages)
    write(broker, 3)
    write(broker, 3)
    assert committed(broker) == {b"0": 1, b"1": 7, b"2": 1}
    assert len(ids(broker)) == 6


def test_a_broker_that_tells_nothing_of_ids_gets_new_ones(broker: Broker) -> None:
    write(broker)
    broker.faults.error("DescribeTransactions", 53, times=1)
    write(broker, 1)
    broker.faults.clear()
    assert committed(broker) == {b"1": 5}
    assert len(ids(broker)) == 5


def test_what_an_old_coordinator_tells_is_not_believed(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It still tells of the transaction before."""
    write(broker, 1)
    write(broker, 1)
    (free, _) = sorted(exactly_once_task._names._idle[SCOPE].items(), key=lambda item: item[1][2])  # type: ignore[index]
    writer = ExactlyOnceWriter(parse_write_options(options(broker)))
    with Admin(broker.bootstrap_servers) as admin:
        before = _prepared.describe(admin, [free[0]])
    held = writer.write(batches([("a", b"2")]))
    assert held.prepared.transaction.transactional_id == free[0]  # type: ignore[attr-defined]
    monkeypatch.setattr(_prepared, "describe", lambda client, names, timeout=None: {**dict.fromkeys(names), **before})
    other = writer.write(batches([("a", b"3")]))
    monkeypatch.undo()
    writer.commit([held, other])
    assert committed(broker) == {b"1": 2, b"2": 1, b"3": 1}


# -- two drivers, and late attempts ------------------------------------------------------------------------------------


class Written:
    """A write whose driver is still to come."""

    def __init__(self, broker: Broker, value: bytes, worker: Worker | None = None) -> None:
        self.broker, self.value = broker, value
        self.job = Job(SCOPE, str(uuid.uuid4()))
        self.worker = worker or Worker(broker.bootstrap_servers)
        assert self.worker.begin(self.job)
        self.worker.write([value])
        self.message = self.worker.detach(1)

    def driver(self) -> Committer:
        client = {"bootstrap.servers": self.broker.bootstrap_servers, "retry.backoff.ms": "5"}
        return committer_of(client, self.job, [self.message], TOPIC, lambda name: None)

    def commit(self) -> None:
        with self.driver() as driver:
            driver.commit()

    def abort(self) -> None:
        with self.driver() as driver:
            driver.abort()


def test_of_two_writes_at_once_one_fails(broker: Broker) -> None:
    first, second = Written(broker, b"1"), Written(broker, b"2")
    second.commit()
    with pytest.raises(ExactlyOnceError, match=f"run {second.job.run} has taken over"):
        first.commit()
    first.abort()
    assert broker.values(TOPIC, committed=True) == [b"2"]


def test_a_driver_that_sweeps_late_aborts_nothing_that_was_decided(broker: Broker) -> None:
    """It has listed the transactions of the other write before it made its decision."""
    first, second = Written(broker, b"1"), Written(broker, b"2")
    with second.driver() as driver:

        def late(name: str) -> None:
            if name == "sweep":
                with pytest.raises(ExactlyOnceError, match="has taken over"):
                    first.commit()

        driver._step = late
        driver.commit()
    assert broker.values(TOPIC, committed=True) == [b"2"]


def test_a_write_that_was_aborted_is_not_committed(broker: Broker) -> None:
    first = Written(broker, b"1")
    first.abort()
    with pytest.raises(ExactlyOnceError, match="has been aborted"):
        first.commit()
    assert broker.values(TOPIC, committed=True) == []


def test_an_abort_ends_what_killed_tasks_have_left(broker: Broker) -> None:
    first = Written(broker, b"1")
    killed = Worker(broker.bootstrap_servers)
    assert killed.begin(first.job)
    killed.write([b"killed"])
    killed.producer.flush()
    kill(killed.producer)
    first.abort()
    with Admin(broker.bootstrap_servers) as admin:
        assert _prepared.list_open(admin, "") == []


def test_a_driver_that_finds_its_ids_in_use_knows_who_has_finished_for_it(broker: Broker) -> None:
    """It was suspended before it ended the transactions of its decision; others have, and have gone on."""
    first = Written(broker, b"1")
    with first.driver() as driver:

        def suspended(name: str) -> None:
            if name == "finish":
                for number in range(3):
                    Written(broker, b"later %d" % number, first.worker).commit()

        driver._step = suspended
        driver.commit()
    expected = [b"1", *(b"later %d" % number for number in range(3))]
    assert broker.values(TOPIC, committed=True) == expected


def test_a_decision_that_is_gone_is_no_success(broker: Broker) -> None:
    """Its tasks have written nothing."""
    first = Written(broker, b"1")
    first.commit()
    late = Worker(broker.bootstrap_servers)
    assert not late.begin(first.job)
    with Admin(broker.bootstrap_servers) as admin:
        admin.delete_consumer_group_offsets(SCOPE, [(TOPIC, 0)])
    message = late.message(1)
    client = {"bootstrap.servers": broker.bootstrap_servers}
    with committer_of(client, first.job, [message], TOPIC, lambda name: None) as driver:
        with pytest.raises(ExactlyOnceError, match="the decision is gone"):
            driver.commit()


def end_zombie(late: Worker) -> None:
    """It writes on, if it may."""
    try:
        late.write([b"later"])
        assert late.detach(1).is_late
    except KafkaError:
        kill(late.producer)


@pytest.mark.parametrize("batch", [None, 0])
@pytest.mark.parametrize("when", ["begins", "writes", "goes on"])
def test_a_late_attempt_holds_nobody_up(broker: Broker, batch: int | None, when: str) -> None:
    """It begins after the decision, is in the middle then, or goes on after it was aborted with it."""
    job = Job(SCOPE if batch is None else "p-query", str(uuid.uuid4()), batch)
    worker, late = Worker(broker.bootstrap_servers), Worker(broker.bootstrap_servers)
    worker.begin(job)
    worker.write([b"1"])
    message = worker.detach(1)
    if when != "begins":
        assert late.begin(job)
    if when == "goes on":
        late.write([b"late"])
        late.producer.flush()
    with committer_of({"bootstrap.servers": broker.bootstrap_servers}, job, [message], TOPIC, lambda name: None) as it:
        it.commit()
    if when == "begins":
        assert not late.begin(job)
    elif when == "writes":
        late.write([b"late"])
        assert late.detach(1).is_late
    else:
        end_zombie(late)
    with Producer(broker.bootstrap_servers) as other:
        other.send(TOPIC, b"other").result(10)
    assert broker.values(TOPIC, committed=True) == [b"1", b"other"]


@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_the_order_each_write_is_there_once_or_not_at_all(
    release: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exactly_once_task, "_LOOK_WITHIN_S", 0.5)
    world = WritesWorld(seed, applications=2 + seed % 2, release=release)
    try:
        world.play()
        world.check()
    finally:
        world.stop()
