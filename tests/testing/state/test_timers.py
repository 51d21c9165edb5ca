"""Calls to come, and which node coordinates."""

from kwire.testing.state.coordinators import GROUP, TRANSACTION, Coordinators, java_hash
from kwire.testing.state.timers import Timers


def test_calls_are_made_in_order_of_time() -> None:
    timers, made = Timers(), list[str]()
    timers.call_at(2.0, lambda: made.append("second"))
    timers.call_at(1.0, lambda: made.append("first"))
    cancelled = timers.call_at(0.5, lambda: made.append("cancelled"))
    cancelled.cancel()
    assert timers.next_due == 1.0
    timers.run_due(1.5)
    assert made == ["first"]
    timers.run_due(2.0)
    assert made == ["first", "second"]
    assert timers.next_due is None
    cancelled.cancel()


def test_a_call_may_ask_for_another_that_is_due() -> None:
    timers, made = Timers(), list[str]()
    timers.call_at(1.0, lambda: timers.call_at(1.0, lambda: made.append("later")) and None)
    timers.run_due(1.0)
    assert made == ["later"]


def test_the_hash_is_that_of_java() -> None:
    assert [java_hash(text) for text in ("", "a", "hello", "\U0001f600")] == [0, 97, 99162322, 1772899]


def test_a_coordinator_moves_when_its_node_dies_and_stays_there() -> None:
    woken = list[object]()
    coordinators = Coordinators({GROUP: 50, TRANSACTION: 50}, woken.extend)
    coordinators.nodes_changed([1, 2, 3])
    first = coordinators.leader(GROUP, "g")
    coordinators.nodes_changed({1, 2, 3} - {first})
    second = coordinators.leader(GROUP, "g")
    assert second not in (None, first)
    assert woken == [coordinators.slot(GROUP, "g")]
    coordinators.nodes_changed([1, 2, 3])
    assert coordinators.leader(GROUP, "g") == second
    coordinators.nodes_changed([])
    assert coordinators.leader(GROUP, "g") is None


def test_a_coordinator_is_moved_by_hand() -> None:
    woken = list[object]()
    coordinators = Coordinators({GROUP: 50}, woken.extend)
    coordinators.nodes_changed([1, 2, 3])
    coordinators.move(GROUP, "g", 3)
    assert coordinators.leader(GROUP, "g") == 3
    assert woken == [coordinators.slot(GROUP, "g")]
