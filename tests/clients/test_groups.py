"""Consumers in a classic group, on the embedded broker: who reads what, listeners, leaving, heartbeats."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Admin, Consumer, KafkaError, Producer, TopicPartition, errors
from kwire.testing import Broker
from tests.clients.polling import poll_until
from tests.drivers.waiting import until
from tests.timing import PATIENT, SOON

ALL = {TopicPartition("t", number) for number in range(6)}


class Told:
    """A listener that notes what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, list[int]]] = []

    def on_assigned(self, partitions: list[TopicPartition]) -> None:
        self.events.append(("assigned", [tp.partition for tp in partitions]))

    def on_revoked(self, partitions: list[TopicPartition]) -> None:
        self.events.append(("revoked", [tp.partition for tp in partitions]))

    def on_lost(self, partitions: list[TopicPartition]) -> None:
        self.events.append(("lost", [tp.partition for tp in partitions]))


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(
        group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=100, group_consumer_heartbeat_interval_ms=50
    ) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": 6})
        yield started


def member_of(broker: Broker, **options: Any) -> Consumer:
    given = {"group_id": "g", "auto_offset_reset": "earliest", "heartbeat_interval_ms": 50, **options}
    return Consumer(broker.bootstrap_servers, **{"partition_assignment_strategy": "range", **given})


def test_two_members_share_a_topic_and_the_second_hands_it_back(broker: Broker) -> None:
    told, second = Told(), Told()
    with member_of(broker) as one, member_of(broker) as two:
        one.subscribe(["t"], listener=told)
        poll_until([one], lambda: one.assignment() == ALL)
        assert one.subscription() == {"t"}
        two.subscribe(["t"], listener=second)
        poll_until([one, two], lambda: len(one.assignment()) == 3 == len(two.assignment()))
        assert one.assignment() | two.assignment() == ALL
        two.close()
        assert second.events[-1][0] == "revoked"
        poll_until([one], lambda: one.assignment() == ALL)
    kinds = [kind for kind, _ in told.events]
    assert kinds == ["assigned", "revoked", "assigned", "revoked", "assigned", "revoked"]
    assert told.events[0][1] == [0, 1, 2, 3, 4, 5]


def test_records_of_the_assigned_partitions_are_read(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for number in range(60):
            producer.send("t", b"%d" % number, partition=number % 6)
    with member_of(broker) as one:
        one.subscribe(["t"])
        values: list[bytes | None] = []
        poll_until([], lambda: values.extend(one.poll(0.1).values()) or len(values) == 60)  # type: ignore[func-returns-value]
        assert sorted(map(int, filter(None, values))) == list(range(60))


def test_heartbeats_go_on_while_nobody_polls(broker: Broker) -> None:
    """By the broker's clock half a session passes with each heartbeat, and never a whole one without any."""
    with member_of(broker, session_timeout_ms=60_000) as one:
        told = Told()
        one.subscribe(["t"], listener=told)
        poll_until([one], lambda: one.assignment() == ALL)
        for _ in range(5):
            broker.wait_for_requests("Heartbeat", broker.request_count("Heartbeat") + 1, timeout=PATIENT)
            broker.clock.advance(30)
        for _ in range(5):
            one.poll(0.02)
        assert told.events == [("assigned", [0, 1, 2, 3, 4, 5])]


def test_who_does_not_poll_for_too_long_leaves_and_comes_back(broker: Broker) -> None:
    with member_of(broker, max_poll_interval_ms=300) as one, member_of(broker) as two:
        told = Told()
        one.subscribe(["t"], listener=told)
        poll_until([one], lambda: one.assignment() == ALL)
        two.subscribe(["t"])
        poll_until([two], lambda: two.assignment() == ALL)
        assert told.events == [("assigned", [0, 1, 2, 3, 4, 5])]
        poll_until([one, two], lambda: len(one.assignment()) == 3 == len(two.assignment()))
        assert told.events[1] == ("lost", [0, 1, 2, 3, 4, 5])


def test_a_poll_that_waits_is_a_poll(broker: Broker) -> None:
    class TimedOut(Told):
        def on_assigned(self, partitions: list[TopicPartition]) -> None:
            super().on_assigned(partitions)
            threading.Timer(1.0, one.wakeup).start()

    with member_of(broker, max_poll_interval_ms=300) as one:
        told = TimedOut()
        one.subscribe(["t"], listener=told)
        one.poll(PATIENT)
        assert one.assignment() == ALL
        assert told.events == [("assigned", [0, 1, 2, 3, 4, 5])]


def test_topics_that_appear_later_join_a_pattern(broker: Broker) -> None:
    with member_of(broker, metadata_max_age_ms=200) as one, Admin(broker.bootstrap_servers) as admin:
        one.subscribe(pattern=r"orders\..*")
        one.poll(0.3)
        assert one.assignment() == set()
        admin.create_topics({"orders.eu": 2, "old.orders.eu": 1})
        poll_until([one], lambda: len(one.assignment()) == 2)
        admin.create_topics({"orders.us": 1})
        poll_until([one], lambda: one.subscription() == {"orders.eu", "orders.us"} and len(one.assignment()) == 3)


def test_the_matches_of_a_pattern_that_the_coordinator_matches_are_those_assigned() -> None:
    with Broker(topics={"orders.eu": 2, "orders.us": 1, "old": 1}, group_consumer_heartbeat_interval_ms=100) as broker:
        with Consumer(broker.bootstrap_servers, group_id="g", group_protocol="consumer") as one:
            one.subscribe(pattern=r"orders\..*")
            assert one.subscription() == set()
            poll_until([one], lambda: len(one.assignment()) == 3)
            assert one.subscription() == {"orders.eu", "orders.us"}
            one.unsubscribe()
            one.assign([("old", 0)])
            assert one.subscription() == set()


def test_a_pattern_works_without_a_group(broker: Broker) -> None:
    with Consumer(broker.bootstrap_servers, metadata_max_age_ms=200) as alone, Admin(broker.bootstrap_servers) as admin:
        alone.subscribe(pattern="^t.?$")
        poll_until([alone], lambda: alone.assignment() == ALL)
        admin.create_topics({"t2": 1})
        poll_until([alone], lambda: len(alone.assignment()) == 7)


def test_an_error_of_the_listener_is_raised_by_the_poll_and_the_member_goes_on(broker: Broker) -> None:
    class Failing:
        def on_assigned(self, partitions: list[TopicPartition]) -> None:
            raise ValueError("no")

    with member_of(broker) as one:
        one.subscribe(["t"], listener=Failing())
        with pytest.raises(KafkaError, match="on_assigned raised ValueError: no") as caught:
            poll_until([one], lambda: False)
        assert isinstance(caught.value.__cause__, ValueError)
        one.poll(0.1)
        assert one.assignment() == ALL


def test_a_listener_may_use_its_consumer_but_not_poll(broker: Broker) -> None:
    class Seeking:
        error: Exception | None = None

        def on_assigned(self, partitions: list[TopicPartition]) -> None:
            assert set(partitions) == consumer.assignment() == ALL
            consumer.seek(partitions[0], 0)
            assert consumer.position(partitions[1], timeout=PATIENT) == 0
            try:
                consumer.poll()
            except errors.ConcurrentUseError as error:
                self.error = error

    with member_of(broker) as consumer:
        listener = Seeking()
        consumer.subscribe(["t"], listener=listener)
        poll_until([consumer], lambda: consumer.assignment() == ALL)
        assert "may not poll" in str(listener.error)
        consumer.poll(0.1)


def test_unsubscribing_gives_everything_back_at_once(broker: Broker) -> None:
    told = Told()
    with member_of(broker) as one, member_of(broker) as two:
        one.subscribe(["t"], listener=told)
        poll_until([one], lambda: one.assignment() == ALL)
        one.unsubscribe()
        assert one.assignment() == set()
        assert told.events[-1] == ("revoked", [0, 1, 2, 3, 4, 5])
        with pytest.raises(errors.ConfigError, match="nothing to poll"):
            one.poll()
        two.subscribe(["t"])
        poll_until([two], lambda: two.assignment() == ALL)
        one.subscribe(["t"])
        poll_until([one, two], lambda: len(one.assignment()) == 3)


def test_a_static_member_does_not_leave_and_its_twin_takes_its_place(broker: Broker) -> None:
    static = {"group_instance_id": "i", "session_timeout_ms": 10_000}
    with member_of(broker, **static) as one:
        one.subscribe(["t"])
        poll_until([one], lambda: one.assignment() == ALL)
    assert broker.request_count("LeaveGroup") == 0
    told = Told()
    with member_of(broker, **static) as again, member_of(broker, **static) as twin:
        again.subscribe(["t"], listener=told)
        poll_until([again], lambda: again.assignment() == ALL)
        twin.subscribe(["t"])
        poll_until([twin], lambda: twin.assignment() == ALL)
        for _ in range(2):
            with pytest.raises(errors.broker.FencedInstanceIdError, match="'i' of group 'g'"):
                poll_until([again], lambda: False)
        assert told.events[-1] == ("lost", [0, 1, 2, 3, 4, 5])


def test_a_rebalance_can_be_enforced(broker: Broker) -> None:
    told = Told()
    with member_of(broker) as one:
        with pytest.raises(errors.ConfigError, match="subscribe"):
            one.enforce_rebalance()
        one.subscribe(["t"], listener=told)
        poll_until([one], lambda: one.assignment() == ALL)
        one.enforce_rebalance()
        poll_until([one], lambda: len(told.events) == 3)
        assert [kind for kind, _ in told.events] == ["assigned", "revoked", "assigned"]
    with (
        Consumer(broker.bootstrap_servers) as alone,
        pytest.raises(errors.ConfigError, match=r"enforce_rebalance\(\) needs a consumer group"),
    ):
        alone.enforce_rebalance()


def test_other_topics_replace_those_before(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin, member_of(broker) as one:
        admin.create_topics({"u": 2})
        one.subscribe(["t"])
        poll_until([one], lambda: one.assignment() == ALL)
        one.subscribe(["u"])
        poll_until([one], lambda: {tp.topic for tp in one.assignment()} == {"u"})
        with pytest.raises(errors.ConfigError, match=r"unsubscribe\(\) first"):
            one.assign([("t", 0)])


def test_a_default_session_timeout_suits_brokers_from_before_0_10_1() -> None:
    with Broker(release="0.9.0.1") as old, member_of(old) as one:
        one.subscribe(["t"])
        poll_until([one], lambda: bool(one.assignment()))


def test_wakeup_ends_a_poll_of_a_member(broker: Broker) -> None:
    with member_of(broker) as one:
        one.subscribe(["t"])
        one.wakeup()
        assert len(one.poll(PATIENT)) == 0


def test_a_member_that_is_dropped_unclosed_is_collected_with_a_warning(broker: Broker) -> None:
    members = [member_of(broker)]
    members[0].subscribe(["t"])
    poll_until(members, lambda: members[0].assignment() == ALL)
    thread = members[0]._reactor.snapshot().background
    assert thread is not None
    with pytest.warns(ResourceWarning, match="was not closed"):
        members.clear()
    until(lambda: not thread.is_alive())


def test_an_interrupted_listener_is_called_again_by_the_next_poll(broker: Broker) -> None:
    class Interrupted:
        calls = 0

        def on_assigned(self, partitions: list[TopicPartition]) -> None:
            self.calls += 1
            if self.calls == 1:
                raise KeyboardInterrupt

    listener = Interrupted()
    with member_of(broker) as one:
        one.subscribe(["t"], listener=listener)
        with pytest.raises(KeyboardInterrupt):
            poll_until([one], lambda: False)
        poll_until([one], lambda: listener.calls == 2)
        assert one.assignment() == ALL


def test_close_from_another_thread_ends_a_poll_and_leaves(broker: Broker) -> None:
    one, raised = member_of(broker), list[BaseException]()
    one.subscribe(["t"])
    poll_until([one], lambda: one.assignment() == ALL)

    def wait() -> None:
        try:
            one.poll(PATIENT)
        except errors.ClientClosedError as error:
            raised.append(error)

    poller = threading.Thread(target=wait)
    poller.start()
    time.sleep(0.2)
    one.close()
    poller.join(PATIENT)
    assert not poller.is_alive()
    broker.wait_for_requests("LeaveGroup")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_topic_that_is_deleted_before_it_was_committed_holds_up_nothing(broker: Broker, protocol: str) -> None:
    broker.create_topic("t2", 1)
    broker.append("t2", [b"gone"])
    options: dict[str, Any] = {"group_protocol": protocol, "group_id": "g", "auto_offset_reset": "earliest"}
    with (
        Admin(broker.bootstrap_servers) as admin,
        Consumer(
            broker.bootstrap_servers, allow_auto_create_topics=False, default_api_timeout_ms=600_000, **options
        ) as one,
    ):
        one.subscribe(["t", "t2"])
        poll_until([one], lambda: len(one.assignment()) == 7 and one.position(("t2", 0)) == 1)
        admin.delete_topics(["t2"])
        poll_until([one], lambda: one.assignment() == ALL)
        broker.append("t", [b"kept"], partition=0)
        poll_until([one], lambda: one.position(("t", 0)) == 1)


def test_wakeup_comes_from_any_thread(broker: Broker) -> None:
    with member_of(broker) as one:
        one.subscribe(["t"])
        poll_until([one], lambda: one.assignment() == ALL)
        waker = threading.Timer(0.2, one.wakeup)
        waker.start()
        assert len(one.poll(PATIENT)) == 0
        waker.join()


def test_a_member_polls_on_while_its_coordinator_is_gone_and_closes_in_time(broker: Broker) -> None:
    one = member_of(broker)
    one.subscribe(["t"])
    poll_until([one], lambda: one.assignment() == ALL)
    broker.kill(1)
    for _ in range(3):
        assert len(one.poll(0.1)) == 0
    began = time.monotonic()
    one.close(timeout=0.5)
    assert time.monotonic() - began < SOON


def test_a_topic_that_is_missing_is_warned_of_once_and_read_when_it_is_there(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"default_api_timeout_ms": 300, "metadata_max_age_ms": 200}

    def warnings() -> int:
        return sum("topic 'later' does not exist" in record.message for record in caplog.records)

    with member_of(broker, allow_auto_create_topics=False, **options) as one, Admin(broker.bootstrap_servers) as admin:
        one.subscribe(["t", "later"])
        poll_until([one], lambda: one.assignment() == ALL and warnings() > 0)
        one.poll(1.5)
        assert warnings() == 1
        admin.create_topics({"later": 1})
        poll_until([one], lambda: len(one.assignment()) == 7)


class Stubborn:
    """A listener that will not give anything back."""

    def on_revoked(self, partitions: list[TopicPartition]) -> None:
        raise ValueError("no")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("way", ["close", "unsubscribe"])
def test_a_listener_that_raises_does_not_keep_its_member_in_the_group(broker: Broker, protocol: str, way: str) -> None:
    options = {"group_protocol": "consumer"} if protocol == "consumer" else {"partition_assignment_strategy": "range"}
    given = {"group_id": "g", "auto_offset_reset": "earliest", **options}
    with (
        Consumer(broker.bootstrap_servers, **given) as one,  # type: ignore[arg-type]
        Consumer(broker.bootstrap_servers, **given) as two,  # type: ignore[arg-type]
    ):
        one.subscribe(["t"], listener=Stubborn())
        poll_until([one], lambda: one.assignment() == ALL)
        with pytest.raises(KafkaError, match="on_revoked raised ValueError: no"):
            getattr(one, way)()
        two.subscribe(["t"])
        poll_until([two], lambda: two.assignment() == ALL)
        if way == "unsubscribe":
            one.subscribe(["t"])
            poll_until([one, two], lambda: len(one.assignment()) == 3)


def test_an_interrupted_unsubscribe_leaves_and_the_consumer_may_subscribe_again(broker: Broker) -> None:
    class Interrupted:
        def on_revoked(self, partitions: list[TopicPartition]) -> None:
            raise KeyboardInterrupt

    with member_of(broker) as one:
        one.subscribe(["t"], listener=Interrupted())
        poll_until([one], lambda: one.assignment() == ALL)
        with pytest.raises(KeyboardInterrupt):
            one.unsubscribe()
        one.subscribe(["t"])
        poll_until([one], lambda: one.assignment() == ALL)


def test_a_poll_that_raised_is_over_and_the_next_has_to_come_in_time(broker: Broker) -> None:
    class Failing:
        def on_assigned(self, partitions: list[TopicPartition]) -> None:
            raise ValueError("no")

    with member_of(broker, max_poll_interval_ms=300) as one, member_of(broker) as two:
        one.subscribe(["t"], listener=Failing())
        with pytest.raises(KafkaError, match="on_assigned raised"):
            poll_until([one], lambda: False)
        two.subscribe(["t"])
        poll_until([two], lambda: two.assignment() == ALL)


def test_to_subscribe_to_no_topics_is_to_read_nothing(broker: Broker) -> None:
    with member_of(broker) as one:
        one.subscribe([])
        with pytest.raises(errors.ConfigError, match="nothing to poll"):
            one.poll()
    assert broker.request_count("JoinGroup") == 0
