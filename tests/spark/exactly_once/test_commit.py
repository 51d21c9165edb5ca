"""What a driver does with the transactions of its tasks, and when it refuses: on the embedded broker, without a JVM."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import Admin, Producer, _prepared
from kwire._prepared import PreparedTransaction
from kwire.errors import KafkaError, ProducerFencedError
from kwire.spark.exactly_once import commit as exactly_once_commit
from kwire.spark.exactly_once.commit import Committer
from kwire.spark.exactly_once.decisions import ExactlyOnceError, Job
from kwire.spark.options.write import transactional
from kwire.spark.workers.clients import close_idle_clients, idle_clients
from kwire.testing import Broker
from kwire.testing.state.authorizer import ALLOW, GROUP, LITERAL, PREFIXED, READ, TRANSACTIONAL_ID, WRITE, Acl
from kwire.testing.state.authorizer import TOPIC as TOPIC_RESOURCE
from tests.drivers.rotating import Site
from tests.spark.exactly_once.query_world import TOPIC, Worker, kill

RELEASES = pytest.mark.parametrize("broker", ["3.9.2", "4.4.0"], indirect=True)
QUERY, RUN, LATER, LAST = (str(uuid.UUID(int=number)) for number in range(1, 5))


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(topics={TOPIC: 1}, release=getattr(request, "param", "4.4.0")) as made:
        yield made
        close_idle_clients()


def job(batch: int | None = 0, run: str = RUN, scope: str = f"p-{QUERY}") -> Job:
    return Job(scope, run, batch)


def write(broker: Broker, of: Job, *values: bytes, worker: Worker | None = None) -> PreparedTransaction:
    """A task that does not look whether its batch is decided: as one that looked before that was."""
    used = worker or Worker(broker.bootstrap_servers)
    _prepared.begin_as(used.producer, used.names.take(of))
    used.write(list(values))
    found = _prepared.detach(used.producer)
    assert found is not None
    if worker is None:
        kill(used.producer)
    return found


def committer(broker: Broker, of: Job, *prepared: PreparedTransaction, rows: int = 1) -> Committer:
    client = {"bootstrap.servers": broker.bootstrap_servers, "retry.backoff.ms": "5", "default.api.timeout.ms": "5000"}
    return Committer(client, of, prepared, rows=rows, topics=[TOPIC])


def commit(broker: Broker, of: Job, *prepared: PreparedTransaction, rows: int = 1) -> None:
    with committer(broker, of, *prepared, rows=rows) as made:
        made.commit()


def abort(broker: Broker, of: Job, *prepared: PreparedTransaction) -> None:
    with committer(broker, of, *prepared) as made:
        made.abort()


def committed(broker: Broker) -> list[bytes | None]:
    return broker.values(TOPIC, committed=True)


def still_open(broker: Broker) -> list[str]:
    with Admin(broker.bootstrap_servers) as admin:
        return _prepared.list_open(admin, "")


# -- what is committed, and what is not --------------------------------------------------------------------------------


@RELEASES
def test_what_no_message_names_is_aborted_with_the_commit(broker: Broker) -> None:
    """Left by a task that was killed, by a losing attempt, and by a run that is gone."""
    write(broker, job(0, LATER), b"another run")
    write(broker, job(), b"lost")
    commit(broker, job(), write(broker, job(), b"1"))
    assert committed(broker) == [b"1"]
    assert still_open(broker) == []


@RELEASES
def test_an_attempt_that_goes_on_after_the_commit_holds_no_reader_up(broker: Broker) -> None:
    """A process that was stopped in the middle of its task, while another attempt was committed."""
    slow = Worker(broker.bootstrap_servers)
    assert slow.begin(job())
    slow.write([b"slow"])
    slow.producer.flush()
    commit(broker, job(), write(broker, job(), b"quick"))
    slow.write([b"still slow"])
    with pytest.raises(KafkaError):
        slow.producer.flush()
    kill(slow.producer)
    with Producer(broker.bootstrap_servers) as other:
        other.send(TOPIC, b"of somebody else")
    assert committed(broker) == [b"quick", b"of somebody else"]
    assert still_open(broker) == []


@RELEASES
def test_a_run_whose_transactions_were_aborted_is_told(broker: Broker) -> None:
    theirs = write(broker, job(0, LATER), b"2")
    commit(broker, job(), write(broker, job(), b"1"))
    with pytest.raises(ExactlyOnceError, match=f"run {RUN} has taken over"):
        commit(broker, job(0, LATER), theirs)
    assert committed(broker) == [b"1"]


def test_other_queries_with_the_prefix_are_left_alone(broker: Broker) -> None:
    """A query is its checkpoint: one that begins anew has decisions of its own, from batch 0 on."""
    commit(broker, job(57), write(broker, job(57), b"57"))
    other = job(0, LATER, f"p-{LATER}")
    theirs = write(broker, other, b"0")
    commit(broker, job(58), write(broker, job(58), b"58"))
    batch_write = job(None, LAST, "p-batch")
    commit(broker, batch_write, write(broker, batch_write, b"batch"))
    commit(broker, other, theirs)
    assert sorted(committed(broker)) == [b"0", b"57", b"58", b"batch"]  # type: ignore[type-var]


@RELEASES
def test_a_batch_that_is_repeated_is_dropped(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    commit(broker, job(), write(broker, job(), b"1"))
    commit(broker, job(0, LATER), write(broker, job(0, LATER), b"1", b"2"), rows=2)
    assert committed(broker) == [b"1"]
    assert still_open(broker) == []
    assert "has been committed with 1 row; the 2 of now are dropped" in caplog.text
    commit(broker, job(1, LATER), write(broker, job(1, LATER), b"3"))
    assert committed(broker) == [b"1", b"3"]


def test_a_repeated_batch_without_rows_finishes_the_decided_one(broker: Broker) -> None:
    decided = write(broker, job(), b"1")
    die_before(broker, "finish", job(), decided)
    assert committed(broker) == []
    commit(broker, job(0, LATER), rows=0)
    assert committed(broker) == [b"1"]


@RELEASES
def test_what_was_left_open_is_aborted_where_a_batch_was_decided_before(broker: Broker) -> None:
    """The driver died between the end of its transactions and the end of others: a query that is idle after it has no
    next batch, and readers would wait for a time-out.
    """
    write(broker, job(), b"killed")
    die_before(broker, "sweep", job(), write(broker, job(), b"1"))
    assert committed(broker) == []
    write(broker, job(0, LATER), b"killed, too")
    commit(broker, job(0, LATER), rows=1)
    assert committed(broker) == [b"1"]
    assert still_open(broker) == []


def test_a_run_whose_transactions_are_aborted_where_a_batch_was_decided_before_is_told(broker: Broker) -> None:
    die_before(broker, "finish", job(), write(broker, job(), b"1"))
    theirs = write(broker, job(0, LAST), b"1")
    commit(broker, job(0, LATER), rows=1)
    with pytest.raises(ExactlyOnceError, match=f"run {LATER} has taken over"):
        commit(broker, job(0, LAST), theirs)
    assert committed(broker) == [b"1"]


def test_a_batch_without_rows_needs_no_topic(broker: Broker) -> None:
    with committer(broker, job(), rows=0) as made:
        made._topics = []
        made.commit()
    commit(broker, job(1), write(broker, job(1), b"1"))
    assert committed(broker) == [b"1"]


def test_the_next_commit_shows_the_certificates_that_were_replaced(tmp_path: Path) -> None:
    """By the producer that the driver keeps: a commit that fails ends the query."""
    site = Site(tmp_path)
    for batch in range(2):
        with Committer(site.settings, job(batch), [], rows=0, topics=["t"]) as made:
            made.commit()
            kept = made._producer
        assert [each.producer for each in idle_clients()] == [kept]
        site.rotate()
    close_idle_clients()
    site.broker.stop()


class _DiesHereError(KafkaError):
    pass


def die_before(broker: Broker, step: str, of: Job, *prepared: PreparedTransaction) -> None:
    def dies(name: str) -> None:
        if name == step:
            raise _DiesHereError

    made = committer(broker, of, *prepared).__enter__()
    made._step = dies
    with pytest.raises(_DiesHereError):
        made.commit()
    kill(made._producer)


@RELEASES
def test_an_abort_aborts(broker: Broker) -> None:
    write(broker, job(), b"killed")
    abort(broker, job(), write(broker, job(), b"1"), write(broker, job(), b"2"))
    assert committed(broker) == []
    assert still_open(broker) == []


@RELEASES
def test_an_abort_after_the_decision_commits(broker: Broker) -> None:
    """Spark aborts when commit() has failed, which may be after it has decided."""
    prepared = write(broker, job(), b"1")
    die_before(broker, "finish", job(), prepared)
    abort(broker, job(), prepared)
    assert committed(broker) == [b"1"]


def test_an_abort_leaves_other_runs_alone(broker: Broker) -> None:
    theirs = write(broker, job(0, LATER), b"2")
    abort(broker, job(), write(broker, job(), b"1"))
    assert still_open(broker) == [theirs.transactional_id]


def test_an_abort_that_reaches_no_broker_says_so(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    prepared = write(broker, job(), b"1")
    broker.faults.error("InitProducerId", 53, times=None)
    abort(broker, job(), prepared)
    assert "was not aborted" in caplog.text


def test_a_write_finishes_what_the_write_before_has_decided(broker: Broker) -> None:
    first, second = job(None, RUN, "p-batch"), job(None, LATER, "p-batch")
    die_before(broker, "finish", first, write(broker, first, b"1"))
    commit(broker, second, write(broker, second, b"2"))
    assert sorted(committed(broker)) == [b"1", b"2"]  # type: ignore[type-var]


def test_hundreds_of_tasks(broker: Broker) -> None:
    """Their names need several offsets in several groups, as the topic has one partition."""
    worker = Worker(broker.bootstrap_servers)
    prepared = [write(broker, job(), b"%d" % number, worker=worker) for number in range(250)]
    kill(worker.producer)
    die_before(broker, "finish", job(), *prepared)
    assert committed(broker) == []
    with Admin(broker.bootstrap_servers) as admin:
        groups = [listing.group_id for listing in admin.list_groups()]
    assert len(groups) == 2
    commit(broker, job(0, LATER), rows=0)
    assert sorted(committed(broker), key=lambda value: int(value or b"")) == [b"%d" % number for number in range(250)]
    commit(broker, job(1, LATER), write(broker, job(1, LATER), b"last"))
    assert committed(broker)[-1] == b"last"


# -- what comes too late -----------------------------------------------------------------------------------------------


@RELEASES
def test_a_transaction_that_timed_out_fails_the_batch_before_it_is_decided(broker: Broker) -> None:
    late, well = write(broker, job(), b"late"), write(broker, job(), b"well")
    broker.clock.advance(1000)
    with pytest.raises(
        ExactlyOnceError, match=r"has ended.*None of its rows will be read; the query can be started again"
    ):
        commit(broker, job(), late, well)
    abort(broker, job(), late, well)
    assert committed(broker) == []
    commit(broker, job(0, LATER), write(broker, job(0, LATER), b"again"))
    assert committed(broker) == [b"again"]


def test_a_batch_is_not_decided_when_its_time_is_almost_over(broker: Broker) -> None:
    early, late = write(broker, job(), b"early"), write(broker, job(), b"late")
    with committer(broker, job(), early, late) as made:
        made._now_ms = lambda: broker.clock.time_ms() + 850_000
        with pytest.raises(ExactlyOnceError, match=r"times out in 50 s of 900.*raise kafka.transaction.timeout.ms"):
            made.commit()
    assert committed(broker) == []


@RELEASES
def test_a_decided_batch_that_timed_out_is_lost_with_an_error_at_each_start(broker: Broker) -> None:
    prepared = [write(broker, job(), b"%d" % number) for number in range(2)]
    die_before(broker, "finish", job(), *prepared)
    with Admin(broker.bootstrap_servers) as admin:
        _prepared.end(admin, prepared[:1], commit=True)
    broker.clock.advance(1000)
    text = r"Batch 0 .* was decided, but 1 of its 2 transactions .*" + re.escape(prepared[1].transactional_id)
    for run in (LATER, LAST):
        with pytest.raises(ExactlyOnceError, match=text + ".*another transactionalIdPrefix"):
            commit(broker, job(0, run), again := write(broker, job(0, run), b"again"))
        abort(broker, job(0, run), again)
    assert committed(broker) == [b"0"]
    other = job(0, LAST, f"q-{QUERY}")
    commit(broker, other, write(broker, other, b"0", b"1"))
    assert committed(broker) == [b"0", b"0", b"1"]


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_checkpoint_that_was_set_back(broker: Broker) -> None:
    for batch in range(3):
        commit(broker, job(batch), write(broker, job(batch), b"%d" % batch))
    with pytest.raises(ExactlyOnceError, match="batch 2 was already"):
        commit(broker, job(1, LATER), write(broker, job(1, LATER), b"again"))
    assert committed(broker) == [b"0", b"1", b"2"]


def test_a_group_that_is_used_for_something_else(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets(job().scope, {(TOPIC, 0): 5})
    with pytest.raises(ExactlyOnceError, match="used for something else"):
        commit(broker, job(), write(broker, job(), b"1"))


def test_brokers_that_tell_nothing_of_transactions() -> None:
    with Broker(topics={TOPIC: 1}, release="2.8.2") as broker:
        prepared = write(broker, job(), b"1")
        with pytest.raises(ExactlyOnceError, match=r"Kafka 3\.0"):
            commit(broker, job(), prepared)
        assert committed(broker) == []


@RELEASES
def test_the_acls_that_it_needs(broker: Broker) -> None:
    """Write for transactional ids and Read for groups with the prefix, Write and Read for the topic."""
    authorizer = broker._state().authorizer
    authorizer.enabled = True
    anybody: dict[str, Any] = {"principal": "User:*", "host": "*", "permission": ALLOW}
    for acl in (
        Acl(TRANSACTIONAL_ID, "p-", PREFIXED, operation=WRITE, **anybody),
        Acl(GROUP, "p-", PREFIXED, operation=READ, **anybody),
        Acl(TOPIC_RESOURCE, TOPIC, LITERAL, operation=WRITE, **anybody),
        Acl(TOPIC_RESOURCE, TOPIC, LITERAL, operation=READ, **anybody),
    ):
        authorizer.acls[acl] = None
    write(broker, job(), b"lost")
    commit(broker, job(), write(broker, job(), b"1"))
    assert committed(broker) == [b"1"]


def test_two_phase_commit_has_no_time_out() -> None:
    """On a cluster that lets the client prepare transactions (KIP-939)."""
    allowed = {"unstable_api_versions_enable": True, "transaction_two_phase_commit_enable": True}
    with Broker(topics={TOPIC: 1}, **allowed) as broker:
        client = {"bootstrap.servers": broker.bootstrap_servers, "transaction.two.phase.commit.enable": "true"}
        prepared = []
        for number in range(2):
            with Producer.from_config(transactional(client)) as producer:
                _prepared.begin_as(producer, job().name_of("0123456789ab", number))
                producer.send(TOPIC, b"%d" % number)
                prepared.append(_prepared.detach(producer))
        broker.clock.advance(100_000)
        with Committer(client, job(), [prepared[0]], rows=1, topics=[TOPIC]) as made:  # type: ignore[list-item]
            made.commit()
        assert committed(broker) == [b"0"]
        assert still_open(broker) == []


def test_a_broker_that_tells_nothing_does_not_hold_up_a_commit(
    broker: Broker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it would have told of is aborted with the next batch."""
    monkeypatch.setattr(exactly_once_commit, "_LIST_WITHIN_S", 0.3)
    write(broker, job(), b"lost")
    broker.faults.error("ListTransactions", 15, times=None)
    commit(broker, job(), write(broker, job(), b"1"))
    assert "stay open for now" in caplog.text
    broker.faults.clear()
    assert len(still_open(broker)) == 1
    commit(broker, job(1), write(broker, job(1), b"2"))
    assert committed(broker) == [b"1", b"2"]
    assert still_open(broker) == []


# -- what a process keeps ----------------------------------------------------------------------------------------------


@RELEASES
def test_the_next_batch_finds_the_connections_of_the_last_one(broker: Broker) -> None:
    commit(broker, job(), write(broker, job(), b"1"))
    (kept,) = idle_clients()
    prepared = write(broker, job(1), b"2")
    commit(broker, job(1), prepared)
    assert idle_clients() == [kept]
    assert committed(broker) == [b"1", b"2"]


@RELEASES
def test_a_driver_that_was_kept_fences_one_that_came_meanwhile(broker: Broker) -> None:
    commit(broker, job(), write(broker, job(), b"1"))
    with Producer(broker.bootstrap_servers, transactional_id=job().scope) as other:
        other.init_transactions()
        other.begin_transaction()
        other.send(TOPIC, b"never")
        other.flush()
        commit(broker, job(1), write(broker, job(1), b"2"))
        with pytest.raises(ProducerFencedError):
            other.commit_transaction()
    assert committed(broker) == [b"1", b"2"]


def test_a_commit_that_fails_keeps_nothing(broker: Broker) -> None:
    die_before(broker, "decide", job(), prepared := write(broker, job(), b"1"))
    assert idle_clients() == []
    broker.faults.error("InitProducerId", 53, times=None)
    abort(broker, job(), prepared)
    assert idle_clients() == []
