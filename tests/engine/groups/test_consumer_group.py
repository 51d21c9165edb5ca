"""A member by KIP-848 against a scripted coordinator: what it says, reads, and does about each error."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.groups.consumer_group_states import (
    COMMITTING,
    DUE,
    FATAL,
    FENCED,
    JOINING,
    NAMELESS,
    OUT,
    STABLE,
    STALE,
)
from kwire.engine.groups.epoch_heartbeats import MAX_INTERVAL_S
from kwire.schema.api_keys import FIND_COORDINATOR
from kwire.schema.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    NOT_COORDINATOR,
    TOPIC_AUTHORIZATION_FAILED,
)
from tests.engine.groups import new_protocol
from tests.engine.groups.new_protocol import IDS, Consumer, CoordinatingBroker


@pytest.fixture
def broker() -> CoordinatingBroker:
    return CoordinatingBroker()


@pytest.fixture
def consumer(broker: CoordinatingBroker) -> Consumer:
    made = Consumer(broker)
    made.subscribe("t", "u")
    return made


def owned(message: object) -> dict[str, list[int]] | None:
    rows = message.topic_partitions  # type: ignore[attr-defined]
    names = {topic_id: name for name, topic_id in IDS.items()}
    return None if rows is None else {names[row.topic_id]: list(row.partitions) for row in rows}


def test_joins_with_everything_and_reads_what_it_is_given(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0, 1]}])
    consumer.poll()
    first = broker.heartbeats[0]
    assert (first.group_id, first.member_epoch, first.instance_id) == ("g", 0, None)
    assert len(first.member_id) == 22
    assert first.subscribed_topic_names == ("t", "u")
    assert first.subscribed_topic_regex is None
    assert first.rebalance_timeout_ms == 300_000
    assert owned(first) == {}
    assert consumer.calls == [("assigned", ["t-0", "t-1"])]
    assert consumer.read == ["t-0", "t-1"]
    assert consumer.is_handed_out("t", 1)
    assert consumer.membership.state == STABLE
    assert consumer.membership.metadata == ("g", 1, first.member_id, None)


def test_tells_at_once_what_it_reads_then_only_what_changes(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}])
    consumer.poll(3.5)
    said = broker.heartbeats[1:]
    assert owned(said[0]) == {"t": [0]}
    for later in said[1:]:
        assert (owned(later), later.subscribed_topic_names, later.rebalance_timeout_ms) == (None, None, -1)
    assert len(said) == 4
    assert {heartbeat.member_epoch for heartbeat in said} == {1}


def test_a_heartbeat_interval_that_cannot_be_meant_is_not_believed(
    broker: CoordinatingBroker, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_protocol, "INTERVAL_S", 10 * MAX_INTERVAL_S)
    broker.script.extend([{}])
    consumer.poll()
    said = len(broker.heartbeats)
    consumer.poll(MAX_INTERVAL_S - 1)
    assert len(broker.heartbeats) == said
    consumer.poll(2.0)
    assert len(broker.heartbeats) == said + 1


def test_gives_up_what_goes_before_it_says_so_then_takes_what_comes(
    broker: CoordinatingBroker, consumer: Consumer
) -> None:
    broker.script.extend([{"t": [0, 1]}, None, {"t": [1]}, None, {"t": [1], "u": [0]}])
    consumer.poll(5)
    assert consumer.committed == [["t-0"]]
    assert consumer.calls == [
        ("assigned", ["t-0", "t-1"]),
        ("revoked", ["t-0"]),
        ("assigned", []),
        ("assigned", ["u-0"]),
    ]
    assert [owned(each) for each in broker.heartbeats if each.topic_partitions is not None] == [
        {},
        {"t": [0, 1]},
        {"t": [1]},
        {"t": [1], "u": [0]},
    ]
    assert consumer.read == ["t-1", "u-0"]


def test_reads_no_more_of_what_goes_while_its_positions_are_committed(
    broker: CoordinatingBroker, consumer: Consumer
) -> None:
    broker.script.extend([{"t": [0, 1]}, None, {"t": [1]}])
    consumer.held_commits = []
    consumer.poll(1.5)
    assert consumer.committed == [["t-0"]]
    assert not consumer.is_handed_out("t", 0)
    assert consumer.is_handed_out("t", 1)
    assert consumer.calls == [("assigned", ["t-0", "t-1"])]
    consumer.held_commits[0](consumer.world.now)
    consumer.poll()
    assert consumer.calls[1:] == [("revoked", ["t-0"]), ("assigned", [])]


def test_revokes_nothing_outside_a_poll(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0, 1]}, None, {"t": [1]}])
    consumer.poll(0.5)
    consumer.world.run(consumer.world.now + 10.0)
    assert consumer.membership.state == DUE
    assert consumer.membership.has_event
    assert consumer.is_handed_out("t", 0)
    assert len(broker.heartbeats) > 10
    consumer.poll()
    assert consumer.calls[-2:] == [("revoked", ["t-0"]), ("assigned", [])]


def test_new_partitions_wait_for_the_listener(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}])
    consumer.listening = False
    consumer.poll(0.5)
    event = consumer.membership.next_event(consumer.world.now)
    assert event is not None
    assert consumer.membership.next_event(consumer.world.now) is event
    assert consumer.read == ["t-0"]
    assert not consumer.is_handed_out("t", 0)
    assert len(broker.heartbeats) == 1
    consumer.run_event(event)
    assert consumer.is_handed_out("t", 0)


def test_holds_back_a_topic_until_its_name_is_known(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.hidden = {"v"}
    broker.script.extend([{"t": [0], "v": [0]}])
    consumer.poll(2)
    assert consumer.read == ["t-0"]
    assert consumer.membership.state == NAMELESS
    assert [owned(each) for each in broker.heartbeats if each.topic_partitions is not None] == [{}, {"t": [0]}]
    broker.hidden = set()
    consumer.poll(2)
    assert consumer.read == ["t-0", "v-0"]
    assert consumer.calls == [("assigned", ["t-0"]), ("assigned", ["v-0"])]
    assert consumer.membership.is_stable


def test_a_topic_without_a_name_that_is_taken_away_again_is_no_event(
    broker: CoordinatingBroker, consumer: Consumer
) -> None:
    broker.hidden = {"v"}
    broker.script.extend([{"t": [0], "v": [0]}, None, {"t": [0]}])
    consumer.poll(4)
    assert consumer.calls == [("assigned", ["t-0"])]
    assert consumer.membership.is_stable


def test_a_topic_made_anew_is_revoked_and_assigned(
    broker: CoordinatingBroker, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.script.extend([{"t": [0]}])
    consumer.poll(0.5)
    monkeypatch.setitem(IDS, "t", type(IDS["t"])(int=9))
    broker.script.extend([{"t": [0]}])
    consumer.poll(2)
    assert consumer.calls == [("assigned", ["t-0"]), ("revoked", ["t-0"]), ("assigned", ["t-0"])]


@pytest.mark.parametrize("code", [110, 25])
def test_a_fenced_member_gives_all_up_and_joins_again(
    broker: CoordinatingBroker, consumer: Consumer, code: int
) -> None:
    broker.script.extend([{"t": [0]}, None, code, {"t": [1]}])
    consumer.poll(0.5)
    consumer.listening = False
    consumer.poll(1)
    assert consumer.membership.state == FENCED
    assert not consumer.is_handed_out("t", 0)
    assert consumer.membership.metadata.generation_id == -1
    beats = len(broker.heartbeats)
    consumer.world.run(consumer.world.now + 5.0)
    assert len(broker.heartbeats) == beats
    consumer.listening = True
    consumer.poll(0.5)
    assert consumer.calls == [("assigned", ["t-0"]), ("lost", ["t-0"]), ("assigned", ["t-1"])]
    again = broker.heartbeats[beats]
    assert (again.member_epoch, owned(again), again.subscribed_topic_names) == (0, {}, ("t", "u"))
    assert again.member_id == broker.heartbeats[0].member_id
    assert consumer.committed == []


def test_fenced_while_it_revokes_loses_the_rest(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0, 1]}, None, {"t": [1]}, 110])
    consumer.poll(0.5)
    consumer.listening = False
    consumer.poll(1)
    event = consumer.membership.next_event(consumer.world.now)
    assert event is not None
    assert event.kind == "revoked"
    consumer.world.run(consumer.world.now + 2.0)
    assert consumer.membership.state == FENCED
    consumer.run_event(event)
    consumer.listening = True
    consumer.poll()
    assert consumer.calls[1:] == [("revoked", ["t-0"]), ("lost", ["t-1"])]
    assert consumer.membership.state in (JOINING, STABLE)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (111, "has not left"),
        (82, "taken this group_instance_id"),
        (112, "group_remote_assignor"),
        (128, "RE2"),
        (69, "another type"),
        (35, r"broker 0 \(a:1\).*Kafka 4.4.*group_protocol='classic'"),
        (42, "told so"),
        (30, "GROUP_AUTHORIZATION_FAILED"),
        (81, "GROUP_MAX_SIZE_REACHED"),
        (9999, "9999"),
    ],
)
def test_an_error_that_waiting_does_not_mend_is_raised_by_each_poll(
    broker: CoordinatingBroker, consumer: Consumer, code: int, words: str
) -> None:
    broker.script.extend([{"t": [0]}, None, code])
    consumer.poll(3)
    assert consumer.membership.state == FATAL
    assert consumer.calls == [("assigned", ["t-0"]), ("lost", ["t-0"])]
    assert consumer.read == []
    for _ in range(2):
        fault = consumer.membership.take_fault()
        assert isinstance(fault, errors.BrokerError)
        with pytest.raises(type(fault), match=words):
            raise fault
    beats = len(broker.heartbeats)
    consumer.poll(5)
    assert len(broker.heartbeats) == beats


def test_subscribing_anew_begins_anew_after_an_error(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([128])
    consumer.poll(0.5)
    assert consumer.membership.state == FATAL
    broker.script.extend([{"t": [0]}])
    consumer.subscribe("t")
    consumer.poll(0.5)
    assert consumer.membership.take_fault() is None
    assert consumer.read == ["t-0"]


def test_one_that_has_left_after_an_error_is_told_of_it_no_more(broker: CoordinatingBroker, consumer: Consumer) -> None:
    """Polls of partitions that the program assigns to itself go on without the group."""
    broker.script.extend([GROUP_AUTHORIZATION_FAILED])
    consumer.poll(0.5)
    assert consumer.membership.state == FATAL
    consumer.leave()
    assert consumer.membership.take_fault() is None
    assert consumer.membership.state == OUT


def test_another_subscription_is_not_told_of_errors_of_the_one_before(
    broker: CoordinatingBroker, consumer: Consumer
) -> None:
    broker.script.extend([{"t": [0]}, None])
    consumer.poll(1.5)
    broker.script.append(TOPIC_AUTHORIZATION_FAILED)
    consumer.world.run(lambda: consumer.membership.fault is not None)
    consumer.subscribe("v")
    assert consumer.membership.take_fault() is None


def test_a_broker_without_the_protocol_is_named(consumer: Consumer) -> None:
    old = Consumer(CoordinatingBroker("3.5.2"))
    old.subscribe("t")
    old.poll(1)
    fault = old.membership.take_fault()
    assert isinstance(fault, errors.broker.UnsupportedVersionError)
    assert "Kafka 3.5" in str(fault)
    assert "group_protocol='classic'" in str(fault)


def test_a_topic_that_may_not_be_read_is_told_and_asked_for_again(
    broker: CoordinatingBroker, consumer: Consumer
) -> None:
    broker.script.extend([29, {"t": [0]}])
    consumer.poll(0.05)
    fault = consumer.membership.take_fault()
    assert isinstance(fault, errors.broker.TopicAuthorizationFailedError)
    assert consumer.membership.take_fault() is None
    consumer.poll(2)
    assert consumer.read == ["t-0"]


@pytest.mark.parametrize("code", [14, 15, 16, -1 + 8])
def test_trouble_with_the_coordinator_costs_nothing(broker: CoordinatingBroker, consumer: Consumer, code: int) -> None:
    broker.script.extend([{"t": [0]}, None, code, code, None])
    consumer.poll(4)
    assert consumer.calls == [("assigned", ["t-0"])]
    assert consumer.membership.is_stable
    full = broker.heartbeats[4]
    assert (full.subscribed_topic_names, owned(full)) == (("t", "u"), {"t": [0]})
    assert full.member_epoch == 1


def test_a_lost_connection_costs_nothing(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}, None, "silence"])
    consumer.poll(1.5)
    consumer.world.lose_all(next(iter(consumer.world.peers)))
    consumer.poll(3)
    assert consumer.calls == [("assigned", ["t-0"])]
    assert consumer.membership.is_stable
    assert len(broker.heartbeats) >= 5


def test_a_member_that_does_not_poll_leaves_and_joins_with_the_next_poll(broker: CoordinatingBroker) -> None:
    consumer = Consumer(broker, max_poll_interval_ms=3_000)
    consumer.subscribe("t")
    broker.script.extend([{"t": [0]}])
    consumer.poll(0.5)
    consumer.world.run(consumer.world.now + 4.0)
    assert consumer.membership.state == STALE
    assert broker.heartbeats[-1].member_epoch == -1
    assert not consumer.is_handed_out("t", 0)
    broker.script.extend([{"t": [1]}])
    consumer.poll(0.5)
    assert consumer.calls == [("assigned", ["t-0"]), ("lost", ["t-0"]), ("assigned", ["t-1"])]


def test_a_stale_member_that_unsubscribes_does_not_join_again(broker: CoordinatingBroker) -> None:
    consumer = Consumer(broker, max_poll_interval_ms=3_000)
    consumer.subscribe("t")
    broker.script.extend([{"t": [0]}])
    consumer.poll(0.5)
    consumer.world.run(consumer.world.now + 4.0)
    beats = len(broker.heartbeats)
    consumer.leave()
    consumer.world.run(consumer.world.now + 4.0)
    assert consumer.calls == [("assigned", ["t-0"]), ("lost", ["t-0"])]
    assert len(broker.heartbeats) == beats
    assert consumer.membership.state == OUT


def test_fenced_while_it_leaves_tells_of_a_loss(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}, None, 110])
    consumer.poll(0.5)
    consumer.held_commits = []
    consumer.membership.unsubscribe(consumer.world.now)
    consumer.world.run(consumer.world.now + 2.0)
    consumer.held_commits[0](consumer.world.now)
    consumer.run_events()
    assert consumer.calls == [("assigned", ["t-0"]), ("lost", ["t-0"])]
    assert consumer.membership.can_leave


def test_a_poll_that_waits_is_a_poll(broker: CoordinatingBroker) -> None:
    consumer = Consumer(broker, max_poll_interval_ms=500)
    consumer.subscribe("t")
    consumer.begin_poll()
    consumer.world.run(consumer.world.now + 3.0)
    consumer.run_events()
    assert consumer.membership.state not in (STALE, OUT)


def test_leaves_when_all_is_committed_and_given_back(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}])
    consumer.poll(0.5)
    consumer.held_commits = []
    consumer.membership.unsubscribe(consumer.world.now)
    consumer.run_events()
    assert not consumer.membership.can_leave
    consumer.held_commits[0](consumer.world.now)
    assert not consumer.membership.can_leave
    consumer.run_events()
    left: list[float] = []
    consumer.membership.leave(consumer.world.now, left.append)
    consumer.world.run(lambda: bool(left))
    assert consumer.calls == [("assigned", ["t-0"]), ("revoked", ["t-0"])]
    assert broker.heartbeats[-1].member_epoch == -1
    assert consumer.read == []
    assert consumer.membership.state == OUT
    consumer.world.run(consumer.world.now + 5.0)
    assert broker.heartbeats[-1].member_epoch == -1


def test_a_static_member_leaves_for_a_while(broker: CoordinatingBroker) -> None:
    consumer = Consumer(broker, group_instance_id="i")
    consumer.subscribe("t")
    broker.script.extend([{"t": [0]}])
    consumer.poll(0.5)
    assert consumer.membership.metadata.group_instance_id == "i"
    consumer.leave()
    assert [each.instance_id for each in broker.heartbeats] == ["i"] * len(broker.heartbeats)
    assert broker.heartbeats[-1].member_epoch == -2


def test_leaves_again_where_the_coordinator_has_moved(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}, None, 16])
    consumer.poll(0.5)
    consumer.leave()
    assert [each.member_epoch for each in broker.heartbeats[-2:]] == [-1, -1]


def test_one_that_left_while_its_coordinator_was_unknown_does_not_join_once_it_is_found(
    broker: CoordinatingBroker, consumer: Consumer
) -> None:
    broker.script.extend([{"t": [0]}])
    consumer.poll(2)
    broker.script.append(NOT_COORDINATOR)
    find, broker.handlers[FIND_COORDINATOR] = broker.handlers[FIND_COORDINATOR], no_coordinator
    consumer.poll(2)
    consumer.leave()
    said = len(broker.heartbeats)
    broker.handlers[FIND_COORDINATOR] = find
    consumer.world.run(consumer.world.now + 10)
    assert len(broker.heartbeats) == said


def no_coordinator(message: Any, version: int, now: float) -> Any:
    row = protocol.FindCoordinatorResponse.Coordinator
    rows = [row(key=key, error_code=COORDINATOR_NOT_AVAILABLE, node_id=-1) for key in message.coordinator_keys]
    return protocol.FindCoordinatorResponse(coordinators=rows)


def test_a_commit_of_an_earlier_farewell_does_not_end_the_wait_of_a_later_one(
    broker: CoordinatingBroker, consumer: Consumer
) -> None:
    consumer.held_commits = []
    for _ in range(2):
        broker.script.extend([{"t": [0]}])
        consumer.subscribe("t")
        consumer.poll(2)
        consumer.membership.unsubscribe(consumer.world.now)
        if len(consumer.held_commits) == 1:
            consumer.membership.leave(consumer.world.now, lambda now: None)
            consumer.world.run(consumer.world.now + 1.0)
    earlier, later = consumer.held_commits
    earlier(consumer.world.now)
    assert consumer.membership.state == COMMITTING
    later(consumer.world.now)
    consumer.run_events()
    assert consumer.membership.can_leave


def test_what_was_set_goes_to_the_broker(broker: CoordinatingBroker) -> None:
    consumer = Consumer(broker, group_remote_assignor="range", client_rack="r", max_poll_interval_ms=7_000)
    consumer.subscribe(pattern="^t.*")
    broker.script.extend([{"t": [0]}])
    consumer.poll(2)
    first, *later = broker.heartbeats
    assert (first.server_assignor, first.rack_id, first.rebalance_timeout_ms) == ("range", "r", 7_000)
    assert (first.subscribed_topic_regex, first.subscribed_topic_names) == ("^t.*", ())
    assert {each.subscribed_topic_regex for each in later} == {None}
    assert consumer.read == ["t-0"]


def test_another_subscription_is_told_at_once(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}])
    consumer.poll(0.5)
    beats = len(broker.heartbeats)
    consumer.subscribe(pattern="v")
    consumer.poll(0.1)
    assert (broker.heartbeats[beats].subscribed_topic_regex, broker.heartbeats[beats].subscribed_topic_names) == (
        "v",
        (),
    )
    consumer.subscribe("v")
    consumer.poll(0.1)
    assert (
        broker.heartbeats[beats + 1].subscribed_topic_regex,
        broker.heartbeats[beats + 1].subscribed_topic_names,
    ) == ("", ("v",))


def test_a_commit_with_a_stale_epoch_asks_for_the_new_one(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend([{"t": [0]}])
    consumer.poll(0.5)
    beats = len(broker.heartbeats)
    broker.epoch = 7
    assert consumer.membership.refused(113, consumer.world.now)
    consumer.poll(0.1)
    assert len(broker.heartbeats) == beats + 1
    assert consumer.membership.metadata.generation_id == 7
    assert not consumer.membership.refused(25, consumer.world.now)


def test_an_interrupted_step_is_made_up_for(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.script.extend(["silence", {"t": [0]}])
    consumer.poll(0.1)
    consumer.world.core.recover(consumer.world.now)
    consumer.world.open.clear()
    consumer.poll(3)
    assert consumer.read == ["t-0"]
    assert [each.member_epoch for each in broker.heartbeats[:2]] == [0, 0]


def test_the_broker_makes_the_id_in_version_0(broker: CoordinatingBroker, consumer: Consumer) -> None:
    broker.versions = {**broker.versions, 68: (0, 0)}
    broker.script.extend([{"t": [0]}])
    consumer.poll(2)
    assert broker.heartbeats[0].member_id == ""
    assert broker.heartbeats[1].member_id == "made by the broker"
    assert consumer.membership.metadata.member_id == "made by the broker"


CODES = [-1, *range(1, 140)]


@pytest.mark.parametrize("state", ["joining", "stable", "acknowledging", "reconciling", "leaving"])
def test_every_code_in_every_state_leaves_a_member_that_can_go_on(state: str) -> None:
    for code in CODES:
        broker = CoordinatingBroker()
        consumer = Consumer(broker)
        consumer.subscribe("t")
        bring_to(state, broker, consumer, code)
        held, consumer.held_commits = consumer.held_commits or [], None
        for go_on in held:
            go_on(consumer.world.now)
        if consumer.membership.state == FATAL:
            assert isinstance(consumer.membership.take_fault(), errors.BrokerError)
            assert consumer.read == []
        if not consumer.membership.active or consumer.membership.state == FATAL:
            consumer.subscribe("t")
        broker.script.clear()
        broker.script.extend([{"t": [1]}] * 3)
        consumer.poll(40.0)
        assert (code, consumer.membership.state, consumer.read) == (code, STABLE, ["t-1"])


def bring_to(state: str, broker: CoordinatingBroker, consumer: Consumer, code: int) -> None:
    """The code is the answer to a heartbeat in that state."""
    if state == "joining":
        broker.script.extend([code])
    elif state == "acknowledging":
        broker.script.extend([{"t": [0]}, code])
    elif state == "reconciling":
        consumer.held_commits = []
        broker.script.extend([{"t": [0]}, None, {"u": [0]}, code])
    else:
        broker.script.extend([{"t": [0]}, None, code])
    consumer.poll(0.5 if state == "leaving" else 3.5)
    if state == "leaving":
        consumer.leave()
