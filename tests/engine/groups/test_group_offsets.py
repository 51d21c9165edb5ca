"""Which offsets a consumer commits, by itself and when told: none of a record that the caller may be at work on."""

from __future__ import annotations

import random

import pytest

from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.polling import Polling
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.groups.committable import committable
from kwire.errors import CommitFailedError
from kwire.schema.error_codes import GROUP_AUTHORIZATION_FAILED, REBALANCE_IN_PROGRESS
from tests.engine.groups.offsets_world import Committing, T


def reading(records: int = 6, partitions: int = 1, **settings: object) -> Committing:
    """A consumer of partitions with records in them."""
    it = Committing(auto_commit_interval_ms=1000, **settings)
    for number in range(partitions):
        it.broker.append(number, [b"%d" % value for value in range(records)])
    it.assign(*T[:partitions])
    return it


def pass_interval(it: Committing) -> None:
    it.world.run(it.world.now + 1.1)


def test_a_commit_takes_what_polls_handed_out() -> None:
    it = reading(partitions=2)
    it.poll(4)
    it.call()
    it.commit()
    assert sum(it.sent()[0].values()) == 4
    it.poll(100)
    it.call()
    it.commit()
    assert {partition: offset for partition, (offset, _, _) in it.broker.offsets.items()} == {0: 6, 1: 6}


def test_a_commit_has_only_what_moved() -> None:
    it = reading()
    it.assign(*T)
    it.world.run(lambda: all(state.position >= 0 for state in it.fetcher.subscription.states.values()))
    it.commit()
    assert it.sent()[-1] == {0: 0, 1: 0, 2: 0, 3: 0}
    it.poll()
    it.call()
    it.commit()
    assert it.sent()[-1] == {0: 6}
    requests = len(it.broker.commits)
    it.commit()
    assert len(it.broker.commits) == requests


def test_an_automatic_commit_takes_what_an_earlier_poll_handed_out() -> None:
    it = reading()
    it.poll(2)
    pass_interval(it)
    it.poll(2)
    it.world.run(lambda: it.offsets._commits.is_idle)
    assert it.sent() == [{0: 2}]
    pass_interval(it)
    it.call()
    it.offsets.maybe_auto_commit(it.world.now)
    it.world.run(it.world.now + 0.1)
    assert it.sent() == [{0: 2}, {0: 2}]


def test_an_automatic_commit_does_not_take_back_what_the_caller_has_committed_of_the_last_poll() -> None:
    it = reading()
    it.poll(4)
    it.call()
    it.commit({T[0]: 3})
    it.end(it.start({T[0]: 1}))
    closed: list[float] = []
    it.offsets.on_close(it.world.now, it.world.now + 10, closed.append)
    it.world.run(lambda: closed)
    assert it.sent() == [{0: 3}, {0: 1}, {0: 3}]
    it.poll(1)
    it.call()
    assert {tp: row.offset for tp, row in it.offsets.finished().items()} == {T[0]: 4}


def test_a_commit_of_records_from_an_earlier_assignment_finishes_none_of_the_present_one() -> None:
    it = Committing()
    it.broker.append(0, [b"0", b"1"])
    subscription = it.fetcher.subscription
    subscription.subscribe(["t"], it.world.now)
    for _ in range(2):
        subscription.assign_by_group([], it.world.now)
        subscription.assign_by_group(T[:1], it.world.now)
        subscription.release(T[:1], it.world.now)
        it.fetcher.settle(finished=True)
        it.world.run(it.fetcher.has_something)
        taken = ConsumerRecords(it.fetcher.take(None))
        it.fetcher.hand_out.arrived = True
        if not subscription.ended:
            earlier = taken
    it.call()
    late = it.offsets.commit(committable(earlier), it.world.now, it.world.now + 10, given=earlier)
    it.end(late)
    assert isinstance(late.error, CommitFailedError)
    assert it.offsets.finished() == {T[0]: OffsetAndMetadata(0)}


def test_it_comes_while_a_poll_waits() -> None:
    it = reading(2)
    polling = Polling(it.world.core, it.settings, it.fetcher, None, it.offsets)
    it.poll()
    polling.begin(it.world.now)
    assert it.broker.commits == []
    pass_interval(it)
    polling.check(it.world.now)
    it.world.run(it.world.now + 0.1)
    assert it.sent() == [{0: 2}]


def test_it_comes_no_more_often_than_asked() -> None:
    it = reading(100)
    for _ in range(50):
        it.poll(1)
        it.world.run(it.world.now + 0.1)
    assert 3 <= len(it.broker.commits) <= 5


def test_without_it_nothing_is_committed() -> None:
    it = reading(enable_auto_commit=False)
    for _ in range(3):
        it.poll(1)
        pass_interval(it)
    done: list[float] = []
    it.offsets.on_close(it.world.now, it.world.now + 5, done.append)
    assert done
    assert it.broker.commits == []


def test_a_refused_one_is_warned_of_and_made_up_for() -> None:
    it = reading()
    it.poll(2)
    pass_interval(it)
    it.broker.refuse = lambda partition, message: GROUP_AUTHORIZATION_FAILED
    it.poll(2)
    it.world.run(lambda: bool(it.warnings))
    assert "automatic commit: the commit of t-0" in it.warnings[0]
    it.broker.refuse = lambda partition, message: 0
    pass_interval(it)
    it.poll(2)
    it.world.run(lambda: bool(it.broker.offsets))
    assert it.broker.offsets[0][0] == 4


def test_one_that_a_rebalance_keeps_from_being_stored_is_made_up_for_without_a_warning() -> None:
    it = reading()
    it.poll(2)
    pass_interval(it)
    it.broker.refuse = lambda partition, message: REBALANCE_IN_PROGRESS
    it.poll(2)
    it.world.run(lambda: it.offsets._running is None)
    it.broker.refuse = lambda partition, message: 0
    pass_interval(it)
    it.poll(2)
    it.world.run(lambda: bool(it.broker.offsets))
    assert it.broker.offsets[0][0] == 4
    assert it.warnings == []


def test_before_partitions_go_what_is_finished_is_committed() -> None:
    it = reading()
    it.poll(2)
    it.poll(2)
    done: list[float] = []
    it.member._commit_first(T[:1], it.world.now, done.append)
    assert not done
    it.world.run(lambda: bool(done))
    assert it.sent() == [{0: 2}]


def test_before_partitions_go_earlier_commits_are_waited_for() -> None:
    it = reading(enable_auto_commit=False)
    done: list[float] = []
    call = it.start({T[0]: 5})
    it.member._commit_first(T[:1], it.world.now, done.append)
    it.world.run(lambda: bool(done))
    assert call.done


def test_a_refused_commit_does_not_keep_partitions() -> None:
    it = reading()
    it.poll(2)
    it.fetcher.settle(finished=True)
    it.broker.refuse = lambda partition, message: GROUP_AUTHORIZATION_FAILED
    done: list[float] = []
    it.member._commit_first(T[:1], it.world.now, done.append)
    it.world.run(lambda: bool(done))
    assert "GROUP_AUTHORIZATION_FAILED" in it.warnings[0]


def test_a_coordinator_that_is_gone_does_not_keep_partitions_for_ever() -> None:
    it = reading(default_api_timeout_ms=45_000)
    it.poll(2)
    it.fetcher.settle(finished=True)
    it.broker.answer = lambda frame, now: []  # type: ignore[method-assign]
    done: list[float] = []
    begun = it.world.now
    it.member._commit_first(T[:1], begun, done.append)
    it.world.run(lambda: bool(done))
    assert done[0] - begun == pytest.approx(45, abs=1)


def test_a_loop_that_is_left_commits_what_it_passed() -> None:
    it = reading()
    it.fetcher.pump_if_due(it.world.now)
    it.world.run(it.fetcher.has_something)
    iterator = iter(ConsumerRecords(it.fetcher.take(None)))
    it.fetcher.hand_out.iterator, it.fetcher.hand_out.arrived = iterator, True
    for _ in range(3):
        next(iterator)
    it.call()
    done: list[float] = []
    it.offsets.on_close(it.world.now, it.world.now + 5, done.append)
    it.world.run(lambda: bool(done))
    assert it.sent() == [{0: 2}]


def test_a_committed_position_is_not_committed_again() -> None:
    it = reading(enable_auto_commit=True)
    it.broker.offsets = {0: (3, "", -1)}
    it.poll(1)
    it.world.run(it.world.now + 0.5)
    it.commit({})
    assert it.broker.commits == []


def test_a_position_that_was_reset_or_sought_is_committed() -> None:
    """Else a restart after which auto_offset_reset finds another end would lose what was written in between."""
    it = Committing(auto_offset_reset="latest", auto_commit_interval_ms=1000)
    it.broker.append(0, [b"0"] * 5)
    it.assign(*T[:2])
    it.fetcher.subscription.state(T[1]).seek(0)
    it.world.run(lambda: it.fetcher.subscription.state(T[0]).position == 5)
    done: list[float] = []
    it.offsets.on_close(it.world.now, it.world.now + 5, done.append)
    it.world.run(lambda: bool(done))
    assert it.sent() == [{0: 5, 1: 0}]


def test_a_partition_that_is_not_read_any_more_is_not_committed() -> None:
    it = reading(partitions=2)
    it.poll(100)
    it.call()
    it.assign(T[1])
    it.commit()
    assert it.sent() == [{1: 6}]


def test_epochs_go_with_offsets() -> None:
    it = Committing()
    state = it.assign(T[0]).fetcher.subscription.state(T[0])
    state.seek(4, 9)
    assert it.offsets.finished()[T[0]].leader_epoch == 9


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_committed_by_itself_that_the_caller_has_not_passed(seed: int) -> None:
    """Random polls, loops and other calls: an automatic commit is never after the record the caller is at."""
    rng = random.Random(seed)
    it = reading(60, partitions=3)
    begun: dict[TopicPartition, int] = dict.fromkeys(T[:3], 0)
    seen = 0

    def check() -> None:
        nonlocal seen
        for rows in it.sent()[seen:]:
            for partition, offset in rows.items():
                assert offset <= begun[T[partition]], (seed, it.sent())
        seen = len(it.broker.commits)

    for _ in range(25):
        before = {tp: it.fetcher.subscription.state(tp).delivered[0] for tp in begun}
        it.fetcher.settle(finished=True)
        begun.update({tp: max(it.fetcher.subscription.state(tp).position, 0) for tp in begun})
        assert all(begun[tp] >= before[tp] for tp in begun)
        it.offsets.maybe_auto_commit(it.world.now)
        it.fetcher.pump_if_due(it.world.now)
        it.world.run(it.world.now + 0.05)
        records = ConsumerRecords(it.fetcher.take(rng.randint(1, 9)))
        if rng.random() < 0.5:
            iterator = iter(records)
            it.fetcher.hand_out.iterator, it.fetcher.hand_out.arrived = iterator, True
            for record in iterator:
                begun[TopicPartition(record.topic, record.partition)] = record.offset
                if rng.random() < 0.3:
                    break
        else:
            it.fetcher.hand_out.arrived = rng.random() < 0.9
        if rng.random() < 0.5:
            it.call()
            if rng.random() < 0.5:
                it.member._commit_first((), it.world.now, lambda now: None)
        it.world.run(it.world.now + rng.random())
        check()
