"""A member of a share group against scripted brokers: sessions, locks, acknowledgements, and what goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, records
from kwire.engine.share.membership import FATAL, OUT
from kwire.engine.share.session import ShareSessionHandler
from tests.engine.moves import MadeMoves
from tests.engine.share.share_world import ROW, T0, T1, THERE, Consumer, ShareBroker, acks_in, acquired, offsets
from tests.engine.world import HERE


@pytest.fixture
def broker() -> ShareBroker:
    return ShareBroker()


@pytest.fixture
def consumer(broker: ShareBroker) -> Consumer:
    return Consumer(broker)


def test_joins_and_opens_a_session_with_what_it_is_assigned(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 2)])
    found = consumer.poll()
    assert offsets(found) == [(0, 0), (0, 1), (0, 2)]
    assert found.values() == [b"0", b"1", b"2"]
    first = broker.heartbeats[0]
    assert (first.member_epoch, first.subscribed_topic_names, len(first.member_id)) == (0, ("t",), 22)
    fetch = broker.fetches[0]
    assert (fetch.share_session_epoch, fetch.member_id, fetch.group_id) == (0, first.member_id, "g")
    assert (fetch.max_records, fetch.batch_size, fetch.share_acquire_mode) == (500, 500, 0)
    assert [row.partition_index for topic in fetch.topics for row in topic.partitions] == [0]
    assert consumer.polling.lock_ms == 30_000


def test_the_next_poll_accepts_with_its_fetch(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.extend([[acquired(0, 0, 2)], [acquired(0, 3, 3)]])
    consumer.poll()
    assert offsets(consumer.poll()) == [(0, 3)]
    assert acks_in(broker.fetches[1]) == {0: [(0, 2, [1])]}
    assert broker.fetches[1].share_session_epoch == 1
    assert broker.acks == []


def test_nothing_is_fetched_between_polls(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    consumer.poll()
    fetches = len(broker.fetches)
    consumer.world.run(consumer.world.now + 5.0)
    assert len(broker.fetches) == fetches
    assert len(broker.heartbeats) > 4


def test_each_kind_goes_to_the_broker(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 5)])
    found = list(consumer.poll())
    for record, kind in zip(found, ["accept", "release", "reject", "reject", "accept", "accept"], strict=True):
        consumer.acknowledge([record], kind)
    assert consumer.commit() == {T0: None}
    assert acks_in(broker.acks[0]) == {0: [(0, 0, [1]), (1, 1, [2]), (2, 3, [3]), (4, 5, [1])]}
    assert broker.acks[0].share_session_epoch == 1
    assert not broker.acks[0].is_renew_ack


def test_a_commit_accepts_what_was_not_acknowledged(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 3)])
    found = list(consumer.poll())
    consumer.acknowledge(found[1:2], "release")
    consumer.commit()
    assert acks_in(broker.acks[0]) == {0: [(0, 0, [1]), (1, 1, [2]), (2, 3, [1])]}
    assert consumer.commit() == {}


def test_the_last_word_counts(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    found = consumer.poll()
    consumer.acknowledge(found, "reject")
    consumer.acknowledge(found, "release")
    consumer.commit()
    assert acks_in(broker.acks[0]) == {0: [(0, 0, [2])]}


def test_explicitly_all_must_be_acknowledged(broker: ShareBroker) -> None:
    consumer = Consumer(broker, share_acknowledgement_mode="explicit")
    broker.script.extend([[acquired(0, 0, 2)], [acquired(0, 3, 3)]])
    found = list(consumer.poll())
    consumer.acknowledge(found[:2], "accept")
    with pytest.raises(errors.ConfigError, match="1 record of earlier polls not acknowledged"):
        consumer.poll()
    assert consumer.commit() == {T0: None}
    assert acks_in(broker.acks[0]) == {0: [(0, 1, [1])]}
    with pytest.raises(errors.ConfigError, match="1 record of"):
        consumer.poll()
    consumer.acknowledge(found[2:], "release")
    assert offsets(consumer.poll()) == [(0, 3)]
    assert acks_in(broker.fetches[1]) == {0: [(2, 2, [2])]}


def test_only_what_is_in_hand_can_be_acknowledged(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    found = consumer.poll()
    consumer.commit()
    with pytest.raises(errors.ConfigError, match="t-0, offset 0"):
        consumer.acknowledge(found, "accept")
    with pytest.raises(errors.ConfigError, match="'accept', 'release', 'reject', 'renew'"):
        consumer.acknowledge(found, "done")


def test_records_that_did_not_arrive_come_again_and_are_not_accepted(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 2)])
    consumer.poll(arrives=False)
    assert offsets(consumer.poll()) == [(0, 0), (0, 1), (0, 2)]
    assert len(broker.fetches) == 1
    assert broker.acks == []


def test_more_than_a_poll_may_return_waits_for_the_next(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 4)])
    assert len(consumer.poll(max_records=2)) == 2
    assert offsets(consumer.poll(max_records=2)) == [(0, 2), (0, 3)]
    consumer.world.run(consumer.world.now + 0.1)
    assert acks_in(broker.acks[0]) == {0: [(0, 1, [1])]}
    assert len(broker.fetches) == 1


def test_what_waits_longer_than_its_lock_is_dropped(broker: ShareBroker, consumer: Consumer) -> None:
    broker.lock_ms = 2_000
    broker.script.extend([[acquired(0, 0, 4)], [acquired(0, 2, 2, times=2)]])
    consumer.poll(max_records=2)
    consumer.world.run(consumer.world.now + 3.0)
    found = consumer.poll()
    assert offsets(found) == [(0, 2)]
    assert found.delivery_counts() == [2]


def test_what_is_read_long_after_it_was_asked_for_is_dropped(broker: ShareBroker, consumer: Consumer) -> None:
    """A process that was stopped finds the answer to an old request: the lock of its records began long ago."""
    broker.lock_ms = 2_000
    broker.script.extend([[acquired(0, 0, 4)], [acquired(0, 0, 4, times=2)]])
    broker.takes_s = [2.5, 0.1]
    assert consumer.poll(5.0).delivery_counts() == [2] * 5


@pytest.mark.parametrize("renewed", [False, True])
def test_what_waits_when_its_connection_is_lost_is_dropped(
    broker: ShareBroker, consumer: Consumer, renewed: bool
) -> None:
    """The broker has given its records to others by then, and they may have accepted them."""
    broker.script.extend([[acquired(0, 0, 4)], [acquired(0, 2, 2, times=2)]])
    found = consumer.poll(max_records=5 if renewed else 2)
    if renewed:
        consumer.acknowledge(found, "renew")
        consumer.commit()
    consumer.world.lose_all(next(iter(consumer.world.peers)))
    assert consumer.poll().delivery_counts() == [2]


def test_what_waits_when_its_session_is_lost_is_dropped(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.extend([[acquired(0, 0, 4)], [acquired(0, 2, 2, times=2)]])
    broker.outcomes.append(122)
    consumer.poll(max_records=2)
    consumer.commit()
    assert consumer.poll().delivery_counts() == [2]


def test_delivery_counts_are_those_of_the_ranges(broker: ShareBroker, consumer: Consumer) -> None:
    row = acquired(0, 0, 3)
    row.acquired_records = [
        ROW.AcquiredRecords(first_offset=0, last_offset=1, delivery_count=3),
        ROW.AcquiredRecords(first_offset=3, last_offset=3, delivery_count=1),
    ]
    broker.script.append([row])
    found = consumer.poll()
    assert offsets(found) == [(0, 0), (0, 1), (0, 3)]
    assert found.delivery_counts() == [3, 3, 1]
    assert found.delivery_count(found[2]) == 1


def test_offsets_without_a_record_are_acknowledged_as_gaps(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 6, leave_out=(1, 4, 5))])
    assert offsets(consumer.poll()) == [(0, 0), (0, 2), (0, 3), (0, 6)]
    consumer.commit()
    acks = [batch for message in broker.acks for batch in acks_in(message)[0]]
    assert sorted(acks) == [(0, 0, [1]), (1, 1, [0]), (2, 3, [1]), (4, 5, [0]), (6, 6, [1])]


def test_what_the_answer_does_not_reach_is_released(broker: ShareBroker, consumer: Consumer) -> None:
    row = acquired(0, 0, 2)
    row.acquired_records = [ROW.AcquiredRecords(first_offset=0, last_offset=9, delivery_count=1)]
    broker.script.append([row])
    assert len(consumer.poll()) == 3
    consumer.world.run(consumer.world.now + 0.1)
    assert acks_in(broker.acks[0]) == {0: [(3, 9, [2])]}


def test_a_corrupt_batch_is_rejected_and_told_after_what_precedes_it(broker: ShareBroker, consumer: Consumer) -> None:
    bad = bytearray(records.encode([b"1", b"2"], base_offset=1))
    bad[-1] ^= 1
    data = records.encode([b"0"]) + bytes(bad) + records.encode([b"3"], base_offset=3)
    broker.script.append([acquired(0, 0, 3, data=data)])
    assert offsets(consumer.poll()) == [(0, 0)]
    with pytest.raises(errors.CorruptError, match=r"t-0 at offset 1.*rejected") as caught:
        consumer.poll()
    assert (caught.value.topic, caught.value.partition, caught.value.record_offset) == ("t", 0, 1)
    consumer.world.run(consumer.world.now + 1.0)
    acks = [batch for message in (*broker.acks, *broker.fetches) for batch in acks_in(message).get(0, [])]
    assert sorted(acks) == [(0, 0, [1]), (1, 2, [3]), (3, 3, [2])]


def test_renewed_records_come_with_the_next_poll(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 3)])
    found = list(consumer.poll())
    consumer.acknowledge(found[1:3], "renew")
    assert consumer.commit() == {T0: None}
    assert broker.acks[0].is_renew_ack
    assert acks_in(broker.acks[0]) == {0: [(0, 0, [1]), (1, 2, [4]), (3, 3, [1])]}
    consumer.acknowledge(found[1:2], "release")
    again = consumer.poll()
    assert offsets(again) == [(0, 2)]
    consumer.commit()
    assert acks_in(broker.acks[-1]) == {0: [(2, 2, [1])]}
    assert acks_in(broker.acks[-2]) == {0: [(1, 1, [2])]}


def test_what_is_locked_for_the_shortest_time_comes_first(broker: ShareBroker, consumer: Consumer) -> None:
    """Records that are renewed again and again do not keep others waiting, whose locks run out meanwhile."""
    broker.lock_ms = 3_000
    broker.script.append([acquired(0, 0, 5)])
    found, order = consumer.poll(max_records=2), []
    for _ in range(4):
        order.append(offsets(found))
        consumer.world.run(consumer.world.now + 0.5)
        consumer.acknowledge(found, "renew")
        consumer.commit()
        found = consumer.poll(max_records=2)
    assert order == [[(0, 0), (0, 1)], [(0, 2), (0, 3)], [(0, 4), (0, 5)], [(0, 0), (0, 1)]]


def test_a_renewal_does_not_go_along_with_a_fetch(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    consumer.acknowledge(consumer.poll(), "renew")
    assert offsets(consumer.poll()) == [(0, 0)]
    assert acks_in(broker.acks[0]) == {0: [(0, 0, [4])]}
    assert all(acks_in(fetch) == {} for fetch in broker.fetches)


def test_records_whose_renewal_is_refused_are_not_in_hand(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    broker.outcomes.append({0: 121})
    found = consumer.poll()
    consumer.acknowledge(found, "renew")
    assert isinstance(consumer.commit()[T0], errors.broker.InvalidRecordStateError)
    with pytest.raises(errors.ConfigError):
        consumer.acknowledge(found, "accept")
    assert len(consumer.poll(0.1)) == 0


def test_a_renewal_after_its_time_is_not_believed(broker: ShareBroker, consumer: Consumer) -> None:
    broker.lock_ms = 1_000
    broker.script.append([acquired(0, 0, 0)])
    found = consumer.poll()
    consumer.world.run(consumer.world.now + 1.5)
    consumer.acknowledge(found, "renew")
    assert consumer.commit() == {T0: None}
    assert len(consumer.poll(0.1)) == 0


def test_a_renewed_lock_is_timed_from_the_request_on(broker: ShareBroker, consumer: Consumer) -> None:
    broker.lock_ms = 3_000
    broker.script.extend([[acquired(0, 0, 0)], [acquired(0, 0, 0, times=2)]])
    consumer.acknowledge(consumer.poll(), "renew")
    broker.takes_s = [2.0]
    assert consumer.commit() == {T0: None}
    consumer.world.run(consumer.world.now + 1.5)
    assert consumer.poll().delivery_counts() == [2]


def test_a_broker_without_renewals_says_so(broker: ShareBroker, consumer: Consumer) -> None:
    broker.versions = {**broker.versions, 78: (1, 1), 79: (1, 1)}
    broker.script.extend([[acquired(0, 0, 0)], [acquired(0, 1, 1)]])
    consumer.acknowledge(consumer.poll(), "renew")
    assert isinstance(consumer.commit()[T0], errors.broker.UnsupportedVersionError)
    assert offsets(consumer.poll()) == [(0, 1)]
    assert broker.fetches[-1].share_session_epoch == 1


@pytest.mark.parametrize("code", [122, 123])
def test_a_lost_session_fails_what_is_told_and_begins_anew(broker: ShareBroker, consumer: Consumer, code: int) -> None:
    broker.script.extend([[acquired(0, 0, 0)], code, [acquired(0, 0, 0, times=2)]])
    consumer.polling.on_acknowledged = print
    consumer.poll()
    assert consumer.poll().delivery_counts() == [2]
    assert [fetch.share_session_epoch for fetch in broker.fetches] == [0, 1, 0]
    assert acks_in(broker.fetches[2]) == {}
    assert [row.partition_index for topic in broker.fetches[2].topics for row in topic.partitions] == [0]
    (told, error), *_ = consumer.ran
    assert told == {T0: {0}}
    assert isinstance(error, errors.BrokerError)


def test_a_lost_connection_ends_the_session(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.extend([[acquired(0, 0, 0)], [acquired(0, 1, 1)]])
    consumer.poll()
    broker.outcomes.append("silence")
    call = consumer.polling.commit(consumer.world.now, consumer.world.now + 60)
    consumer.world.run(consumer.world.now + 0.1)
    consumer.world.lose_all(next(iter(consumer.world.peers)))
    consumer.world.run(lambda: call.done)
    assert isinstance(call.value()[T0], errors.ConnectError)
    assert offsets(consumer.poll()) == [(0, 1)]
    assert broker.fetches[-1].share_session_epoch == 0


def test_a_session_that_is_lost_before_it_is_open_begins_anew(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.extend([123, [acquired(0, 0, 0)]])
    assert offsets(consumer.poll()) == [(0, 0)]
    assert [fetch.share_session_epoch for fetch in broker.fetches] == [0, 0]


def test_acknowledgements_of_a_session_that_has_ended_are_not_sent(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    consumer.poll()
    consumer.world.lose_all(next(iter(consumer.world.peers)))
    broker.outcomes.append(122)
    assert isinstance(consumer.commit()[T0], errors.broker.ShareSessionNotFoundError)


def test_an_acknowledgement_that_may_pass_is_told_again(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    broker.outcomes.extend([{0: 14}, 15])
    consumer.poll()
    assert consumer.commit() == {T0: None}
    assert len(broker.acks) == 3
    assert [message.share_session_epoch for message in broker.acks] == [1, 2, 3]


def test_outcomes_are_those_of_each_partition(broker: ShareBroker, consumer: Consumer) -> None:
    broker.assigned = {"t": [0, 1]}
    broker.script.append([acquired(0, 0, 0), acquired(1, 5, 6)])
    broker.outcomes.append({1: 121})
    consumer.poll()
    outcomes = consumer.commit()
    assert outcomes[T0] is None
    assert isinstance(outcomes[T1], errors.broker.InvalidRecordStateError)


def test_a_commit_that_is_not_waited_for_calls_back(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 0)])
    consumer.poll()
    consumer.polling.commit_async(print, consumer.world.now)
    consumer.world.run(consumer.world.now + 0.1)
    assert consumer.ran == [({T0: None},)]


def test_follows_a_leader_that_has_moved(broker: ShareBroker) -> None:
    other = ShareBroker(1, THERE)
    consumer = Consumer(broker, other)
    row = ROW(partition_index=0, error_code=6)
    row.current_leader = ROW.LeaderIdAndEpoch(leader_id=1, leader_epoch=5)
    broker.script.extend([[acquired(0, 0, 0)], [row]])
    other.script.append([acquired(0, 0, 1)])
    consumer.poll()
    assert offsets(consumer.poll()) == [(0, 0), (0, 1)]
    assert other.fetches[0].share_session_epoch == 0
    consumer.commit()
    assert acks_in(other.acks[0]) == {0: [(0, 1, [1])]}


def test_brokers_that_have_left_the_cluster_are_forgotten(broker: ShareBroker, consumer: Consumer) -> None:
    for node in range(5):
        broker.brokers, broker.topics = {node: HERE}, {"t": [node, node]}
        consumer.world.core.cluster.refresh(consumer.world.now)
        consumer.world.run(consumer.world.now + 2)
        broker.script.append([acquired(0, node, node)])
        assert offsets(consumer.poll(5)) == [(0, node)]
        assert node in consumer.polling._fetcher._sessions
        assert len(consumer.polling._fetcher._sessions) <= 2


def test_partitions_taken_away_are_forgotten_and_still_acknowledged(broker: ShareBroker, consumer: Consumer) -> None:
    broker.assigned = {"t": [0, 1]}
    broker.script.append([acquired(0, 0, 0)])
    consumer.poll()
    broker.assigned = {"t": [1]}
    consumer.world.run(consumer.world.now + 1.5)
    consumer.poll(0.1)
    assert acks_in(broker.acks[0]) == {0: [(0, 0, [1])]}
    forgotten = [(topic.partitions) for fetch in broker.fetches for topic in fetch.forgotten_topics_data]
    assert [list(numbers) for numbers in forgotten] == [[0]]


@pytest.mark.parametrize("renewed", [False, True])
def test_a_limit_holds_for_what_is_handed_out_again(broker: ShareBroker, consumer: Consumer, renewed: bool) -> None:
    broker.script.append([acquired(0, 0, 4)])
    found = consumer.poll(arrives=renewed)
    if renewed:
        consumer.acknowledge(found, "renew")
        consumer.commit()
    assert offsets(consumer.poll(max_records=2)) == [(0, 0), (0, 1)]
    assert offsets(consumer.poll(max_records=1)) == [(0, 2)]
    assert offsets(consumer.poll()) == [(0, 3), (0, 4)]
    consumer.close()
    told = [*broker.fetches, *broker.acks]
    assert {offset for message in told for first, last, kinds in acks_in(message).get(0, ()) if kinds == [1]
            for offset in range(first, last + 1)} == {0, 1, 2}  # fmt: skip


@pytest.mark.parametrize("by_unsubscribing", [False, True])
def test_what_waits_of_a_topic_that_is_not_subscribed_to_any_more_is_given_back(
    broker: ShareBroker, consumer: Consumer, by_unsubscribing: bool
) -> None:
    """Records that were renewed, that never arrived, or that no poll has taken yet; others may have them at once."""
    broker.topics["u"] = [0]
    broker.script.append([acquired(0, 0, 4)])
    consumer.acknowledge(consumer.poll(max_records=1), "renew")
    consumer.commit()
    consumer.poll(max_records=2, arrives=False)
    polling, broker.assigned = consumer.polling, {}
    if by_unsubscribing:
        polling.unsubscribe(consumer.world.now, lambda now: None)
    polling.subscribe(("u",), consumer.world.now)
    assert offsets(consumer.poll()) == []
    given = [acks_in(message)[0] for message in broker.acks[1:]]
    assert given == [[(0, 0, [2]), (3, 4, [2])], [(1, 2, [2])]]


def test_what_is_acquired_of_a_topic_after_its_end_is_given_back(broker: ShareBroker, consumer: Consumer) -> None:
    broker.topics["u"] = [0]
    broker.script.append([acquired(0, 0, 4)])
    broker.takes_s = [1.0]
    consumer.poll(0.5)
    consumer.polling.subscribe(("u",), consumer.world.now)
    assert offsets(consumer.poll(2.0)) == []
    assert [acks_in(message) for message in broker.acks] == [{0: [(0, 4, [2])]}]


def test_closing_tells_what_is_acknowledged_and_ends_the_session(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 3)])
    found = list(consumer.poll())
    consumer.acknowledge(found[:2], "accept")
    consumer.close()
    assert [message.share_session_epoch for message in broker.acks] == [-1]
    assert acks_in(broker.acks[0]) == {0: [(0, 1, [1])]}
    assert broker.heartbeats[-1].member_epoch == -1
    assert consumer.polling.membership.state == OUT


@pytest.mark.parametrize("outcome", [{0: 7}, 7])
def test_an_answer_that_comes_while_it_closes_decides_what_would_be_told_again(
    broker: ShareBroker, consumer: Consumer, outcome: Any
) -> None:
    broker.script.append([acquired(0, 0, 1)])
    consumer.poll()
    broker.outcomes.append(outcome)
    broker.takes_s = [0.5]
    call = consumer.polling.commit(consumer.world.now, consumer.world.now + 60)
    consumer.world.run(lambda: bool(broker.acks))
    consumer.close()
    assert call.done
    assert isinstance(call.outcomes[T0], errors.BrokerError)


def test_closing_renews_nothing(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([acquired(0, 0, 1)])
    consumer.acknowledge(consumer.poll(), "renew")
    consumer.close()
    assert acks_in(broker.acks[0]) == {0: [(0, 1, [2])]}
    assert not broker.acks[0].is_renew_ack


@pytest.mark.parametrize("code", [110, 25])
def test_a_fenced_member_joins_again(broker: ShareBroker, consumer: Consumer, code: int) -> None:
    consumer.poll(0.1)
    broker.heartbeat_errors.append(code)
    consumer.world.run(consumer.world.now + 1.5)
    assert [message.member_epoch for message in broker.heartbeats[-2:]] == [1, 0] or broker.heartbeats[-1]
    broker.script.append([acquired(0, 0, 0)])
    assert len(consumer.poll()) == 1


def test_a_broker_without_share_groups_is_named() -> None:
    consumer = Consumer(ShareBroker(release="3.5.2"))
    for _ in range(2):
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"Kafka 3\.5.*share groups"):
            consumer.poll()
    assert consumer.polling.membership.state == FATAL


def test_what_is_not_authorized_is_told(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.append([ROW(partition_index=0, error_code=29)])
    with pytest.raises(errors.broker.TopicAuthorizationFailedError, match="t-0"):
        consumer.poll()
    broker.heartbeat_errors.append(30)
    with pytest.raises(errors.broker.GroupAuthorizationFailedError):
        consumer.poll(3)


def test_another_subscription_is_not_told_of_errors_of_the_one_before(broker: ShareBroker, consumer: Consumer) -> None:
    consumer.poll()
    broker.heartbeat_errors.append(29)
    consumer.world.run(lambda: consumer.polling.membership.fault is not None)
    consumer.polling.subscribe(("u",), consumer.world.now)
    assert consumer.polling.membership.take_fault() is None


def test_does_not_poll_without_topics(consumer: Consumer) -> None:
    consumer.polling.subscribe((), consumer.world.now)
    with pytest.raises(errors.ConfigError, match="subscribe"):
        consumer.poll()


def test_an_interrupted_step_is_made_up_for(broker: ShareBroker, consumer: Consumer) -> None:
    broker.script.extend([[acquired(0, 0, 0)], [acquired(0, 0, 0, times=2)]])
    consumer.poll()
    consumer.world.core.recover(consumer.world.now)
    consumer.world.open.clear()
    consumer.polling.commit(consumer.world.now, consumer.world.now + 1)
    assert consumer.poll().delivery_counts() == [2]


def test_every_code_of_a_fetch_leaves_a_member_that_goes_on(broker: ShareBroker, consumer: Consumer) -> None:
    for code in [-1, *range(1, 140)]:
        for step in (code, [ROW(partition_index=0, error_code=code)], [acquired_with(code)]):
            broker.script.append(step)
            _poll_whatever(consumer)
    broker.script.append([acquired(0, 7, 7)])
    for _ in range(20):
        if found := _poll_whatever(consumer):
            break
    assert offsets(found) == [(0, 7)]


def acquired_with(acknowledge_error: int) -> Any:
    row = acquired(0, 1, 1)
    row.acknowledge_error_code = acknowledge_error
    return row


def _poll_whatever(consumer: Consumer) -> Any:
    try:
        return consumer.poll(3.0)
    except errors.KafkaError:
        return None


def test_every_code_of_an_acknowledgement_decides_it(broker: ShareBroker, consumer: Consumer) -> None:
    for number, code in enumerate([-1, *range(1, 140)]):
        for step in (code, {0: code}):
            broker.script.clear()
            broker.script.extend([[acquired(0, number, number)]] * 2)
            found = None
            while not found:
                found = _poll_whatever(consumer)
            broker.outcomes.append(step)
            outcomes = consumer.commit()
            assert outcomes.keys() == {T0}
            assert outcomes[T0] is None or isinstance(outcomes[T0], errors.BrokerError)


def test_every_code_of_a_heartbeat_leaves_a_member_that_can_go_on(broker: ShareBroker, consumer: Consumer) -> None:
    for code in [-1, *range(1, 140)]:
        broker.heartbeat_errors.append(code)
        _poll_whatever(consumer)
        if consumer.polling.membership.state == FATAL:
            consumer.polling.subscribe(("t",), consumer.world.now)
        broker.script.clear()
        broker.script.append([acquired(0, 0, 0)])
        found = None
        while not found:
            found = _poll_whatever(consumer)
        assert offsets(found) == [(0, 0)]


def test_each_move_of_the_table_was_made_and_no_other(moves: MadeMoves) -> None:
    assert moves.are_all_of(ShareSessionHandler)
