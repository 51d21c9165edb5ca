"""What a poll, unsubscribe() and close() do for a group, in virtual time: the listener's calls and errors, and cuts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kwire import records
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.waits import Wait
from kwire.engine.consumer import waits
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.groups.rebalances import Rebalances
from kwire.errors import KafkaError
from kwire.testing.records.record_sets import entries_of
from tests.engine.embedded_world import EmbeddedWorld
from tests.engine.groups.group_world import GroupMember
from tests.engine.waiting import Cut, WorldDoor, cut_at_each_step

PROTOCOLS = ("classic", "consumer")
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Listener:
    """Notes its calls; one whose kind is in `fails` raises."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[TopicPartition]]] = []
        self.fails: set[str] = set()

    def on_assigned(self, partitions: list[TopicPartition]) -> None:
        self._note("assigned", partitions)

    def on_revoked(self, partitions: list[TopicPartition]) -> None:
        self._note("revoked", partitions)

    def _note(self, kind: str, partitions: list[TopicPartition]) -> None:
        self.calls.append((kind, partitions))
        if kind in self.fails:
            raise ValueError(f"{kind} went wrong")


class Member(GroupMember):
    """A consumer as its front puts it together."""

    def __init__(self, protocol: str, topics: Sequence[str] = ("t",)) -> None:
        world = EmbeddedWorld(topics={"t": 2}, seed=5, group_initial_rebalance_delay_ms=0)
        super().__init__(world, group_protocol=protocol, auto_commit_interval_ms=3_600_000)
        self.door = WorldDoor(self)
        self.rebalances = Rebalances(self.door, self.fetcher, self.membership, self.offsets)
        self.rebalances.listener = self.listener = Listener()
        self.subscribe(*topics)

    def polling_once(self, timeout: float = 1.0) -> Wait[ConsumerRecords]:
        return waits.poll(self.door, self.polling, self.rebalances, timeout, None)

    def poll(self, timeout: float = 1.0, *, cut_at: int = 0) -> ConsumerRecords:
        taken: ConsumerRecords = self.door.run(self.polling_once(timeout), cut_at=cut_at)
        self.fetcher.hand_out.arrived = True
        return taken

    def join(self) -> None:
        while not self.subscription.states:
            self.poll()

    def read_all(self, count: int) -> None:
        """Reads so many records, and is done with them."""
        while count > 0:
            count -= len(self.poll())
        self.poll(0.0)

    @property
    def committed(self) -> dict[tuple[str, int], int]:
        return {tp: row.offset for tp, row in self.shared.cluster.groups.offsets.of("g").items()}

    @property
    def members(self) -> int:
        group = self.shared.cluster.groups.by_id.get("g")
        return len(getattr(group, "members", ()))


@pytest.fixture(params=PROTOCOLS)
def member(request: pytest.FixtureRequest) -> Member:
    return Member(request.param)


def append(member: Member, *values: bytes) -> None:
    for value in values:
        partition = member.shared.cluster.topics["t"].partitions[0]
        partition.log.append(entries_of(records.encode([value])), now_ms=member.shared.wall_clock())
        member.shared.cluster.appended(partition)


def test_a_poll_joins_tells_the_listener_and_goes_on_waiting(member: Member) -> None:
    member.join()
    assert member.listener.calls == [("assigned", [T0, T1])]


def test_what_the_listener_raises_is_raised_by_the_poll_once(member: Member) -> None:
    member.listener.fails = {"assigned"}
    with pytest.raises(KafkaError, match="the listener's on_assigned raised ValueError: assigned went wrong") as raised:
        member.join()
    assert isinstance(raised.value.__cause__, ValueError)
    member.poll()
    assert set(member.subscription.states) == {T0, T1}
    assert len(member.listener.calls) == 1


def test_polls_cut_at_each_step_tell_each_event_until_it_is_done(member: Member) -> None:
    """A call of the listener that was cut comes again; the partitions are read after the one that was not."""
    for _ in range(30):
        cut_at_each_step(member.door, lambda: member.polling_once(0.2))
        if member.subscription.states:
            break
    assert set(member.subscription.states) == {T0, T1}
    assert {kind for kind, _ in member.listener.calls} == {"assigned"}
    assert member.listener.calls[-1] == ("assigned", [T0, T1])


def test_a_poll_that_was_cut_is_over_and_max_poll_interval_ms_counts(member: Member) -> None:
    member.join()
    with pytest.raises(Cut):
        member.poll(60.0, cut_at=2)
    assert member.members == 1
    member.run(lambda: not member.members)
    assert member.warnings


def test_unsubscribing_gives_all_back_and_leaves_though_the_listener_fails(member: Member) -> None:
    member.join()
    member.listener.fails = {"revoked"}
    with pytest.raises(KafkaError, match="on_revoked raised ValueError"):
        member.door.run(member.rebalances.leave_in_order(member.now + 30))
    assert not member.membership.active
    assert not member.subscription.states
    member.run(lambda: not member.members)


def test_unsubscribing_that_is_cut_at_each_step_has_left_each_time(member: Member) -> None:
    cuts = 0
    for number in range(1, 10):
        member.membership.subscribe(("t",), None, member.now)
        member.join()
        try:
            member.door.run(member.rebalances.leave_in_order(member.now + 30), cut_at=number)
        except Cut:
            cuts += 1
        assert not member.membership.active
        member.run(lambda: not member.members)
    assert cuts >= 1


def test_closing_commits_what_is_finished_tells_the_listener_and_leaves(member: Member) -> None:
    member.join()
    append(member, b"a", b"b")
    member.read_all(2)
    member.door.run(member.rebalances.close(member.now + 30))
    assert member.committed[T0] == 2
    assert member.listener.calls[-1] == ("revoked", [T0, T1])
    assert not member.members


def test_closing_commits_what_the_program_has_assigned_to_itself() -> None:
    member = Member("classic")
    member.membership.leave(member.now, lambda now: None)
    member.membership.stay_outside()
    member.subscription.assign([T0], member.now)
    append(member, b"a")
    member.read_all(1)
    member.door.run(member.rebalances.close(member.now + 30))
    assert member.committed == {T0: 1}
    assert member.listener.calls == []


def test_closing_with_no_time_leaves_all_the_same(member: Member) -> None:
    member.join()
    member.door.run(member.rebalances.close(member.now))
    assert not member.membership.active
    member.run(lambda: not member.members)
