"""Commits in virtual time: their order, what is repeated, and what each answer means."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest

from kwire import errors, protocol
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import Address
from kwire.engine.groups.membership import GroupMetadata
from kwire.engine.groups.offset_messages import CommitRequest
from kwire.errors import CommitFailedError, KafkaTimeoutError
from kwire.errors.broker import by_code
from kwire.schema.api_keys import OFFSET_COMMIT
from kwire.schema.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_AUTHORIZATION_FAILED,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    REQUEST_TIMED_OUT,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.each import each
from tests.engine.consumer.test_fetcher import TOPIC_ID
from tests.engine.groups.offsets_world import Committing, OffsetsBroker, T
from tests.engine.world import HANG_UP, SILENCE

COORDINATOR_LOAD_IN_PROGRESS = 14
OFFSET_METADATA_TOO_LARGE = 12
OF_THE_MEMBER = {
    ILLEGAL_GENERATION,
    UNKNOWN_MEMBER_ID,
    FENCED_MEMBER_EPOCH,
    FENCED_INSTANCE_ID,
    REBALANCE_IN_PROGRESS,
    GROUP_ID_NOT_FOUND,
}
GONE_ON = OF_THE_MEMBER - {FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS}
PASSING = {code for code in range(1, 134) if by_code(code).retriable} | {STALE_MEMBER_EPOCH}
CODES = [code for code in range(-1, 134) if code]
RELEASES = ("0.10.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.0.1", "2.1.1", "2.3.1", "2.8.2", "3.9.2", "4.4.0")


@pytest.mark.parametrize("release", RELEASES)
def test_offsets_with_their_metadata_are_stored_by_every_version(release: str) -> None:
    it = Committing(release)
    it.assign(T[0])
    it.world.run(lambda: it.world.core.cluster.generation > 0)
    it.member.now_as = GroupMetadata("g", 3, "m", "i" if release >= "2.3" else None)
    it.commit({T[0]: OffsetAndMetadata(7, "note", 5), T[1]: 0})
    [(version, member, _)] = it.broker.commits
    assert version == min(it.broker.versions[OFFSET_COMMIT][1], 10)
    assert member == (it.member.now_as if version >= 7 else it.member.now_as._replace(group_instance_id=None))
    assert it.broker.offsets == {0: (7, "note", 5 if version >= 6 else -1), 1: (0, "", -1)}


def test_a_commit_of_the_same_partitions_as_the_last_has_nothing_of_it() -> None:
    it = Committing()
    it.assign(T[0])
    it.world.run(lambda: it.world.core.cluster.generation > 0)
    it.commit({T[0]: OffsetAndMetadata(7, "note", 5), T[1]: 3})
    it.commit({T[1]: OffsetAndMetadata(4, "other", 6), T[0]: 8})
    assert it.broker.offsets == {0: (8, "", -1), 1: (4, "other", 6)}
    it.member.now_as = it.member.now_as._replace(generation_id=4, member_id="n")
    it.commit({T[0]: 9, T[1]: 5})
    it.commit({T[1]: 6})
    third, fourth = it.broker.commits[2:]
    assert third[1:] == (it.member.now_as, {0: 9, 1: 5})
    assert fourth[1:] == (it.member.now_as, {1: 6})


def test_a_message_that_is_kept_is_that_of_its_version() -> None:
    """The coordinator may be another broker, of another release, by the next try."""
    rows = {T[0]: OffsetAndMetadata(7), T[1]: OffsetAndMetadata(8, "note", 2)}
    member, ids = GroupMetadata("g", 3, "m", "i"), {"t": TOPIC_ID}
    kept = CommitRequest(rows, member, ids)
    for version in (10, 10, 9, 6, 7, 10):
        assert kept.message(rows, version) == CommitRequest(rows, member, ids).message(rows, version)
    assert kept.message(rows, 9).topics[0].name == "t"
    assert kept.message(rows, 10).topics[0].topic_id == TOPIC_ID
    assert [kept.message(rows, version).group_instance_id for version in (6, 7)] == [None, "i"]


def test_version_10_names_topics_by_id_and_9_those_without_one() -> None:
    it = Committing()
    it.assign(T[0])
    it.commit({T[0]: 1})
    assert it.broker.commits[0][0] == 9
    it.world.run(lambda: it.world.core.cluster.generation > 0)
    it.commit({T[0]: 2})
    assert it.broker.commits[1][0] == 10


def test_outside_a_group_there_is_no_generation() -> None:
    it = Committing()
    it.member.active = False
    it.commit({T[0]: 1})
    assert it.broker.commits[0][1] == GroupMetadata("g")


def test_commits_are_sent_in_order_one_at_a_time_and_the_last_one_wins() -> None:
    it = Committing()
    done: list[int] = []
    calls = [it.start({T[0]: number}, on_done=lambda call, now, n=number: done.append(n)) for number in range(50)]
    it.end(*calls)
    assert done == list(range(50))
    assert it.sent() == [{0: 0}, {0: 49}]


def test_other_partitions_leave_together() -> None:
    it = Committing()
    calls = [it.start({T[number]: number}) for number in range(4)]
    it.end(*calls)
    assert it.sent() == [{0: 0}, {1: 1, 2: 2, 3: 3}]


def noting(ended: list[tuple[int, bool]], number: int) -> Any:
    return lambda call, now: ended.append((number, call.error is None))


def test_calls_end_in_order_whatever_becomes_of_their_partitions() -> None:
    """The first partition has to be asked for again, the second fails for good, the third is stored at once."""
    it = Committing()
    codes = {0: [0, COORDINATOR_LOAD_IN_PROGRESS], 1: [GROUP_AUTHORIZATION_FAILED], 2: []}
    it.broker.refuse = lambda partition, message: codes[partition].pop() if codes[partition] else 0
    ended: list[tuple[int, bool]] = []
    calls = [it.start({T[number % 3]: number}, on_done=noting(ended, number)) for number in range(1, 10)]
    calls.append(it.start({}, on_done=noting(ended, 10)))
    it.end(*calls)
    assert [number for number, _ in ended] == list(range(1, 11))
    assert [number for number, stored in ended if not stored] in ([1], [1, 4, 7])


def test_a_call_whose_time_is_over_does_not_wait_for_its_turn() -> None:
    """What it is decided to be holds all the same."""
    it = Committing()
    it.broker.refuse = lambda partition, message: COORDINATOR_LOAD_IN_PROGRESS if partition == 0 else 0
    ended: list[tuple[int, bool]] = []
    first = it.start({T[0]: 1}, seconds=20, on_done=noting(ended, 0))
    calls = [
        it.start({T[number]: 1}, seconds=seconds, on_done=noting(ended, number))
        for number, seconds in ((1, 5), (2, 30), (3, 30))
    ]
    it.end(*calls)
    assert ended == [(1, True), (0, False), (2, True), (3, True)]
    assert first.done


def test_many_calls_that_end_at_once_are_no_recursion() -> None:
    it = Committing()
    ended: list[tuple[int, bool]] = []
    calls = [it.start({T[number % 2]: number}, on_done=noting(ended, number)) for number in range(3000)]
    it.end(*calls)
    assert ended == [(number, True) for number in range(3000)]


def test_a_repeated_commit_does_not_undo_a_later_one() -> None:
    it = Committing()
    codes = [COORDINATOR_LOAD_IN_PROGRESS, 0]
    it.broker.refuse = lambda partition, message: codes.pop(0) if codes else 0
    first = it.start({T[0]: 1, T[1]: 1})
    second = it.start({T[0]: 2})
    it.end(first, second)
    assert (first.error, second.error) == (None, None)
    assert it.sent() == [{0: 1, 1: 1}, {0: 2}]
    assert it.broker.offsets[0][0] == 2


def test_a_commit_of_nothing_is_done_when_all_before_it_is() -> None:
    it = Committing()
    first, nothing = it.start({T[0]: 1}), it.start({})
    assert not nothing.done
    it.end(nothing)
    assert first.done
    assert it.start({}).done


@each("code", CODES)
def test_every_code(code: int) -> None:
    """A code that may pass is asked again; any other ends the commits of that partition, and of no other."""
    it = Committing()
    codes = [code]
    it.broker.refuse = lambda partition, message: codes.pop() if partition == 1 and codes else 0
    both, other = it.start({T[0]: 5, T[1]: 5}), it.start({T[2]: 5})
    it.end(both, other)
    assert other.error is None
    if code in PASSING:
        assert both.error is None
        assert it.broker.offsets[1][0] == 5
    elif code in GONE_ON:
        assert isinstance(both.error, CommitFailedError)
        assert by_code(code).name in str(both.error)
        assert ("poll()" in str(both.error)) == (by_code(code).name != "GROUP_ID_NOT_FOUND")
    else:
        assert type(both.error) is by_code(code) or code == -1
        assert "t-1" in str(both.error)
        assert "'g'" in str(both.error)
    assert it.member.told == ([code] if code in OF_THE_MEMBER | {STALE_MEMBER_EPOCH} else [])


@pytest.mark.parametrize("code", [NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, REQUEST_TIMED_OUT])
def test_a_coordinator_that_is_none_is_looked_up_anew(code: int) -> None:
    it = Committing()
    codes = [code]
    it.broker.refuse = lambda partition, message: codes.pop() if codes else 0
    it.commit({T[0]: 5})
    assert sum(key == 10 for key, _, _ in it.broker.requests) == 2


def test_a_coordinator_that_moved_stores_it() -> None:
    here, there = OffsetsBroker(), OffsetsBroker(node_id=1, address=Address("b", 2))
    here.brokers = there.brokers = {0: Address("a", 1), 1: Address("b", 2)}
    it = Committing(broker=here)
    it.world.peers[Address("b", 2)] = there
    it.commit({T[0]: 5})
    here.coordinator = there.coordinator = 1
    it.commit({T[0]: 6})
    assert there.offsets[0][0] == 6


def test_lost_connections_and_lost_answers_are_survived() -> None:
    it = Committing(request_timeout_ms=500)
    answer, fates = it.broker.answer, [HANG_UP, SILENCE, HANG_UP]

    def trouble(frame: bytes, now: float) -> Any:
        if frame[4:6] == b"\0\x08" and fates:
            answer(frame, now)
            return fates.pop()
        return answer(frame, now)

    it.broker.answer = trouble  # type: ignore[method-assign]
    it.commit({T[0]: 5})
    assert it.sent() == [{0: 5}] * 4


def test_a_commit_ends_when_its_time_is_over_and_the_next_goes_on() -> None:
    it = Committing()
    codes = [COORDINATOR_LOAD_IN_PROGRESS] * 4
    it.broker.refuse = lambda partition, message: codes.pop() if codes else 0
    with pytest.raises(KafkaTimeoutError, match=r"commit of t-0 by group 'g'.*COORDINATOR_LOAD_IN_PROGRESS"):
        it.commit({T[0]: 5}, seconds=0.3)
    it.commit({T[1]: 6})
    assert it.broker.offsets == {1: (6, "", -1)}


def test_a_partition_that_the_answer_leaves_out_is_committed_again() -> None:
    it = Committing()
    commit = it.broker.handlers[OFFSET_COMMIT]

    def forgetful(message: Any, version: int, now: float) -> Any:
        response = commit(message, version, now)
        if len(it.broker.commits) == 1:
            response.topics[0].partitions = response.topics[0].partitions[:1]
        return response

    it.broker.handlers[OFFSET_COMMIT] = forgetful
    it.commit({T[0]: 5, T[1]: 5})
    assert it.sent() == [{0: 5, 1: 5}, {1: 5}]


@pytest.mark.parametrize("by_itself", [False, True])
def test_of_a_topic_made_anew_nothing_is_committed_again(by_itself: bool) -> None:
    """What it was to commit is of the old one. An automatic commit goes on with the rest."""
    it = Committing()
    it.assign(T[0], T[1])
    subscription = it.fetcher.subscription
    states = subscription.states

    def refuse(partition: int, message: Any) -> int:
        if subscription.states is states:
            subscription.states = {**states, T[0]: subscription._renewed(states[T[0]])}
        return COORDINATOR_LOAD_IN_PROGRESS if len(it.broker.commits) < 2 else 0

    it.broker.refuse = refuse
    rows = {T[0]: OffsetAndMetadata(5), T[1]: OffsetAndMetadata(6)}
    call = it.offsets._commits.commit(rows, it.world.now, it.world.now + 10, leaves_out_deleted=by_itself)
    it.end(call)
    assert 0 not in it.broker.offsets
    if by_itself:
        assert call.error is None
        assert it.broker.offsets == {1: (6, "", -1)}
    else:
        assert isinstance(call.error, CommitFailedError)
        assert "'t' was recreated meanwhile" in str(call.error)


@pytest.mark.parametrize("is_known_again", [True, False])
def test_what_waits_to_be_sent_is_not_committed_to_a_topic_made_anew_meanwhile(is_known_again: bool) -> None:
    """Its id is that of the records, though the metadata has another one by the time of writing, or none."""
    it = Committing()
    it.assign(T[0])
    subscription, cluster = it.fetcher.subscription, it.world.core.cluster
    subscription._by_group = True
    subscription._ids["t"] = TOPIC_ID
    it.broker.latency = 0.5
    call = it.start({T[0]: 5})
    row = it.broker.topic
    it.broker.topic = lambda name: made_anew(row(name)) if is_known_again else NO_TOPIC  # type: ignore[method-assign]
    cluster.refresh(it.world.now)
    sent: list[Any] = []

    def commit(message: Any, version: int, now: float) -> Any:
        sent.append(message.topics[0].topic_id)
        made = protocol.OffsetCommitResponse.OffsetCommitResponseTopic
        part = made.OffsetCommitResponsePartition(partition_index=0, error_code=UNKNOWN_TOPIC_ID)
        return protocol.OffsetCommitResponse(topics=[made(topic_id=TOPIC_ID, partitions=[part])])

    it.broker.handlers[OFFSET_COMMIT] = commit
    it.world.run(lambda: bool(sent))
    it.broker.topic = lambda name: made_anew(row(name))  # type: ignore[method-assign]
    it.end(call)
    assert set(sent) == {TOPIC_ID}
    assert "'t' was recreated meanwhile" in str(call.error)


def made_anew(row: Any) -> Any:
    row.topic_id = UUID(int=8)
    return row


NO_TOPIC = protocol.MetadataResponse.MetadataResponseTopic(name="t", error_code=3)


def test_after_a_rebalance_kept_partitions_are_committed_and_others_are_not() -> None:
    it = Committing()
    it.assign(T[0], T[1])

    def refuse(partition: int, message: Any) -> int:
        if message.member_id == "m":
            it.member.now_as = it.member.now_as._replace(generation_id=4, member_id="n")
            it.assign(T[0])
            return ILLEGAL_GENERATION
        return 0

    it.broker.refuse = refuse
    both, kept, foreign = it.start({T[0]: 5, T[1]: 5}), it.start({T[0]: 6}), it.start({T[3]: 7})
    it.end(both, kept, foreign)
    assert kept.error is None
    assert it.broker.offsets == {0: (6, "", -1)}
    assert isinstance(both.error, CommitFailedError)
    assert "t-1" in str(both.error)
    assert isinstance(foreign.error, CommitFailedError)
    assert "t-3" in str(foreign.error)
    assert it.member.told == []


def test_a_partition_that_went_and_came_back_is_not_committed_to() -> None:
    it = Committing()
    it.assign(T[0])
    it.broker.refuse = lambda partition, message: COORDINATOR_LOAD_IN_PROGRESS
    call = it.start({T[0]: 5})
    it.world.run(lambda: len(it.broker.commits) == 1)
    it.assign()
    it.assign(T[0])
    it.member.now_as = it.member.now_as._replace(generation_id=4)
    it.broker.refuse = lambda partition, message: 0
    it.end(call)
    assert isinstance(call.error, CommitFailedError)
    assert it.broker.offsets == {}


def test_a_commit_that_waits_for_its_coordinator_is_not_made_in_the_name_of_a_later_generation() -> None:
    """The next owner of the partition has read on by then; a commit of the generation that it is in would be taken."""
    it = Committing()
    it.assign(T[0], T[1])
    lost, kept = it.start({T[0]: 5}, seconds=0.0005), it.start({T[0]: 5, T[1]: 6})
    it.world.run(it.world.now + 0.001)
    assert lost.done
    assert not it.broker.commits
    it.assign(T[1])
    it.member.now_as = it.member.now_as._replace(generation_id=4)
    it.broker.refuse = lambda partition, message: (
        0 if message.generation_id_or_member_epoch == 4 else ILLEGAL_GENERATION
    )
    it.end(kept)
    assert isinstance(kept.error, CommitFailedError)
    assert it.broker.offsets == {}
    it.commit({T[1]: 7})
    assert it.broker.offsets == {1: (7, "", -1)}
    assert it.member.told == []


def test_a_stale_epoch_waits_for_the_new_one() -> None:
    it = Committing()
    it.assign(T[0])
    it.broker.refuse = lambda partition, message: (
        0 if message.generation_id_or_member_epoch == 9 else STALE_MEMBER_EPOCH
    )
    call = it.start({T[0]: 5})
    it.world.run(lambda: len(it.broker.commits) == 2)
    it.member.now_as = it.member.now_as._replace(generation_id=9)
    it.end(call)
    assert call.error is None


def test_one_who_is_not_a_member_yet_does_not_commit() -> None:
    it = Committing()
    it.member.now_as = GroupMetadata("g")
    with pytest.raises(CommitFailedError, match=r"not a member of its group at present; poll\(\) joins it"):
        it.commit({T[0]: 5})
    assert it.broker.commits == []


def test_one_who_is_not_a_member_yet_has_nothing_to_commit() -> None:
    it = Committing()
    it.member.now_as = GroupMetadata("g")
    it.commit()
    assert it.broker.commits == []


def test_a_consumer_with_assign_is_told_that_the_group_has_members() -> None:
    it = Committing()
    it.member.active = False
    it.broker.refuse = lambda partition, message: UNKNOWN_MEMBER_ID
    with pytest.raises(CommitFailedError, match="the group has members"):
        it.commit({T[0]: 5})


def test_an_error_of_the_whole_look_up_ends_the_commit() -> None:
    it = Committing()
    find = it.broker.find_coordinator

    def refuse(message: Any, version: int, now: float) -> Any:
        response = find(message, version, now)
        response.coordinators[0].error_code = GROUP_AUTHORIZATION_FAILED
        return response

    it.broker.handlers[10] = refuse
    with pytest.raises(errors.broker.GroupAuthorizationFailedError, match="'g'"):
        it.commit({T[0]: 5})


def test_a_cut_step_sends_what_is_not_decided_again() -> None:
    it = Committing()
    call = it.start({T[0]: 5})
    it.world.run(lambda: len(it.broker.commits) == 1)
    it.world.core.recover(it.world.now)
    it.world.open.clear()
    it.end(call)
    assert call.error is None


def test_a_throttled_coordinator_is_left_alone() -> None:
    it = Committing()
    commit = it.broker.handlers[OFFSET_COMMIT]

    def throttled(message: Any, version: int, now: float) -> Any:
        response = commit(message, version, now)
        response.throttle_time_ms = 700
        return response

    it.broker.handlers[OFFSET_COMMIT] = throttled
    begun = it.world.now
    calls = [it.start({T[0]: 5}), it.start({T[0]: 6})]
    it.end(calls[0])
    assert it.world.now - begun < 0.1
    it.end(calls[1])
    assert it.world.now - begun > 0.7


def test_an_answer_is_read_however_like_the_last_it_is() -> None:
    it = Committing()
    it.assign(*T[:2])
    it.world.run(lambda: it.world.core.cluster.generation > 0)
    refused: set[int] = set()
    it.broker.refuse = lambda partition, message: OFFSET_METADATA_TOO_LARGE if partition in refused else 0
    which: set[int]
    for number, which in enumerate((set(), set(), {0}, {1}, {0}, {0}, set(), {0, 1}, set())):
        refused.clear()
        refused |= which
        call = it.start({T[0]: number, T[1]: number})
        it.end(call)
        assert (call.error is None) == (not which)
        assert [f"the commit of t-{partition} " in str(call.error) for partition in (0, 1)] == [
            0 in which,
            which == {1},
        ]


def test_partitions_that_were_not_committed_change_nothing() -> None:
    it = Committing()
    commit = it.broker.handlers[OFFSET_COMMIT]

    def of_all(message: Any, version: int, now: float) -> Any:
        response = commit(message, version, now)
        made = type(response.topics[0]).OffsetCommitResponsePartition
        response.topics[0].partitions += [made(partition_index=3, error_code=ILLEGAL_GENERATION)]
        return response

    it.broker.handlers[OFFSET_COMMIT] = of_all
    for number in range(3):
        it.commit({T[0]: number})
    assert it.broker.offsets == {0: (2, "", -1)}
    assert not it.member.told


@pytest.mark.parametrize("seed", range(30))
def test_each_commit_is_decided_once_whatever_happens(seed: int) -> None:
    """Random commits, codes, lost connections and rebalances: one outcome each, and the log of commits never goes
    back within a partition of a generation."""
    rng = random.Random(seed)
    it = Committing(request_timeout_ms=500)
    it.assign(*T)
    codes = [0, 0, 0, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, UNKNOWN_TOPIC_OR_PARTITION, 29, 25]
    it.broker.refuse = lambda partition, message: rng.choice(codes)
    answer = it.broker.answer
    fates = [HANG_UP, SILENCE, None, None, None, None]
    it.broker.answer = (
        lambda frame, now: (  # type: ignore[method-assign]
            fate if frame[4:6] == b"\0\x08" and (fate := rng.choice(fates)) is not None else answer(frame, now)
        )
    )
    counts: dict[int, int] = {}
    calls = []
    for number in range(60):
        rows = dict.fromkeys(rng.sample(T, rng.randint(0, 3)), number)
        call = it.start(rows, rng.choice([0.05, 1, 10]), on_done=lambda call, now, n=number: count(counts, n))
        calls.append(call)
        if rng.random() < 0.1:
            it.member.now_as = it.member.now_as._replace(generation_id=it.member.now_as.generation_id + 1)
        it.world.run(it.world.now + rng.random() * 0.1)
    it.end(*calls)
    assert counts == dict.fromkeys(range(60), 1)
    for tp in T:
        sent = [rows[tp.partition] for rows in it.sent() if tp.partition in rows]
        assert sent == sorted(sent)


def count(counts: dict[int, int], number: int) -> None:
    counts[number] = counts.get(number, 0) + 1
