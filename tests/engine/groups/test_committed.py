"""What a group committed, in virtual time: asked for by a call, and as the positions of new partitions."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kwire import errors
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.errors import ConfigError, KafkaTimeoutError, NoOffsetForPartitionError
from kwire.errors.broker import by_code
from kwire.schema.api_keys import LIST_OFFSETS, OFFSET_FETCH
from kwire.schema.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    NOT_COORDINATOR,
    STALE_MEMBER_EPOCH,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_MEMBER_ID,
    UNSTABLE_OFFSET_COMMIT,
)
from tests.each import each
from tests.engine.groups.offsets_world import Committing, T
from tests.engine.groups.test_commits import CODES, RELEASES

PASSING = {code for code in range(1, 134) if by_code(code).retriable}


@pytest.mark.parametrize("release", RELEASES)
def test_every_version_tells_what_was_committed(release: str) -> None:
    it = Committing(release)
    it.assign(T[0])
    it.world.run(lambda: it.world.core.cluster.generation > 0)
    it.broker.offsets = {0: (7, "note", 4), 1: (0, "", -1)}
    version = min(it.broker.versions[OFFSET_FETCH][1], 10)
    found = it.committed(*T[:3])
    assert found == {
        T[0]: OffsetAndMetadata(7, "note", 4 if version >= 5 else None),
        T[1]: OffsetAndMetadata(0),
        T[2]: None,
    }
    assert it.broker.fetched[-1][0] == version


def test_only_stable_offsets_are_asked_for() -> None:
    it = Committing()
    it.committed(T[0])
    assert it.broker.fetched[-1][1].require_stable


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_of_the_new_protocol_names_itself(protocol: str) -> None:
    it = Committing(group_protocol=protocol)
    it.committed(T[0])
    [group] = it.broker.fetched[-1][1].groups
    assert (group.member_id, group.member_epoch) == (("m", 3) if protocol == "consumer" else (None, -1))


@each("code", CODES)
def test_every_code_of_a_partition(code: int) -> None:
    it = Committing()
    it.broker.offsets = {0: (7, "", -1), 1: (8, "", -1)}
    codes = [code]
    it.broker.hide = lambda partition, message: codes.pop() if partition == 1 and codes else 0
    if code in PASSING:
        assert it.committed(*T[:2]) == {T[0]: OffsetAndMetadata(7), T[1]: OffsetAndMetadata(8)}
        again = it.broker.fetched[-1][1].groups[0].topics[0].partition_indexes
        assert list(again) == [1]
    else:
        with pytest.raises(by_code(code), match=r"OffsetFetch of t-1 by group 'g'"):
            it.committed(*T[:2])


@each("code", CODES)
def test_every_code_of_the_group(code: int) -> None:
    it = Committing()
    answer, codes = it.broker.fetch_offsets, [code]

    def once(message: object, version: int, now: float) -> object:
        it.broker.group_code = codes.pop() if codes else 0
        return answer(message, version, now)

    it.broker.handlers[OFFSET_FETCH] = once
    if code in PASSING | {STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID}:
        assert it.committed(T[0]) == {T[0]: None}
        assert it.member.told == ([code] if code == UNKNOWN_MEMBER_ID else [])
        looked_up = sum(key == 10 for key, _, _ in it.broker.requests)
        assert looked_up == (2 if code in (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE) else 1)
    else:
        with pytest.raises(by_code(code), match="'g'"):
            it.committed(T[0])


def test_offsets_that_stay_unstable_are_a_time_out() -> None:
    it = Committing()
    it.broker.hide = lambda partition, message: UNSTABLE_OFFSET_COMMIT
    with pytest.raises(KafkaTimeoutError, match=r"committed offsets of group 'g'.*UNSTABLE_OFFSET_COMMIT"):
        it.committed(T[0], seconds=1)


def test_no_partitions_need_no_broker() -> None:
    it = Committing()
    assert it.committed() == {}
    assert it.broker.requests == []


# -- positions --------------------------------------------------------------------------------------------------------


def test_new_partitions_are_read_from_what_was_committed_else_by_the_rule() -> None:
    it = Committing()
    for number in range(3):
        it.broker.append(number, [b"%d" % value for value in range(5)])
    it.broker.offsets = {0: (3, "", -1), 1: (5, "", -1)}
    it.assign(*T[:3])
    read = it.take()
    read |= it.take() if len(read) == 1 else {}
    assert read == {T[0]: [b"3", b"4"], T[2]: [b"0", b"1", b"2", b"3", b"4"]}
    looked_up = [message for key, _, message in it.broker.requests if key == LIST_OFFSETS]
    assert [row.partition_index for row in looked_up[0].topics[0].partitions] == [2]


def test_a_seek_needs_no_committed_offset() -> None:
    it = Committing()
    it.broker.append(0, [b"0", b"1"])
    it.broker.offsets = {0: (2, "", -1)}
    it.broker.group_code = COORDINATOR_LOAD_IN_PROGRESS
    it.assign(T[0])
    it.fetcher.subscription.state(T[0]).seek(1)
    it.fetcher.pump(it.world.now)
    assert it.take() == {T[0]: [b"1"]}


def test_partitions_without_rule_and_without_offset_say_so() -> None:
    it = Committing(auto_offset_reset="none")
    it.broker.append(0, [b"0", b"1"])
    it.broker.offsets = {0: (1, "", -1)}
    it.assign(T[0], T[1])
    with pytest.raises(
        NoOffsetForPartitionError, match=r"t-1 has no position \(group 'g' has committed none"
    ) as caught:
        it.take()
    assert isinstance(caught.value, ConfigError)
    assert isinstance(caught.value, ValueError)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.topic, error.partition, error.group_id) == ("t", 1, "g")
    it.fetcher.subscription.state(T[1]).seek(0)
    assert it.take() == {T[0]: [b"1"]}


def test_an_unstable_offset_holds_up_its_own_partition_only() -> None:
    it = Committing()
    for number in range(2):
        it.broker.append(number, [b"0", b"1"])
    it.broker.offsets = {0: (1, "", -1), 1: (1, "", -1)}
    it.broker.hide = lambda partition, message: UNSTABLE_OFFSET_COMMIT if partition == 1 else 0
    it.assign(T[0], T[1])
    assert it.take() == {T[0]: [b"1"]}
    it.broker.hide = lambda partition, message: 0
    assert it.take() == {T[1]: [b"1"]}


@pytest.mark.parametrize("code", [GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED])
def test_an_offset_that_is_refused_is_told_once_by_each_poll(code: int) -> None:
    it = Committing()
    it.broker.append(0, [b"0"])
    if code == GROUP_AUTHORIZATION_FAILED:
        it.broker.group_code = code
    else:
        it.broker.hide = lambda partition, message: code
    it.assign(T[0])
    for _ in range(2):
        with pytest.raises(by_code(code)):
            it.take()
    it.broker.group_code = 0
    it.broker.hide = lambda partition, message: 0
    it.fetcher.pump(it.world.now)
    assert it.take() == {T[0]: [b"0"]}


def test_positions_that_take_too_long_name_the_reason() -> None:
    it = Committing(default_api_timeout_ms=45_000)
    it.broker.group_code = COORDINATOR_LOAD_IN_PROGRESS
    it.assign(T[0])
    with pytest.raises(KafkaTimeoutError, match=r"no position of t-0 within 45 s: OffsetFetch.*COORDINATOR_LOAD_IN"):
        it.take()


def test_a_cut_step_asks_again() -> None:
    it = Committing()
    it.broker.append(0, [b"0"])
    it.assign(T[0])
    it.world.run(lambda: bool(it.broker.fetched))
    it.world.core.recover(it.world.now)
    it.world.open.clear()
    assert it.take() == {T[0]: [b"0"]}


def test_a_committed_epoch_is_checked_against_the_log() -> None:
    it = Committing()
    it.broker.offsets = {0: (7, "", 4)}
    it.assign(T[0])
    state = it.fetcher.subscription.state(T[0])
    it.world.run(lambda: state.position == 7)
    assert state.offset_epoch == 4


def test_errors_are_those_of_kwire() -> None:
    assert issubclass(errors.CommitFailedError, errors.KafkaError)


def test_what_another_group_has_committed_is_no_answer() -> None:
    it = Committing()
    it.broker.offsets = {0: (7, "", -1)}
    answer, others = it.broker.handlers[OFFSET_FETCH], ["another"]

    def of_another(message: Any, version: int, now: float) -> Any:
        response = answer(message, version, now)
        response.groups[0].group_id = others.pop() if others else "g"
        response.groups[0].error_code = GROUP_AUTHORIZATION_FAILED if others else 0
        return response

    it.broker.handlers[OFFSET_FETCH] = of_another
    others.append("another")
    assert it.committed(T[0]) == {T[0]: OffsetAndMetadata(7)}
    assert len(it.broker.fetched) == 3
