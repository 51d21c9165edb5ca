"""What Admin asks of brokers about groups, version by version, and what it makes of answers that are odd."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kwire import errors, protocol
from kwire.engine.admin import group_calls
from kwire.engine.admin.a13_leave_group import MemberToRemove, RemoveMembers
from kwire.engine.admin.a16_list_groups import ListGroups
from kwire.engine.admin.authorized_operations import names_in
from kwire.engine.admin.group_results import GroupDescription
from kwire.engine.calls.refusals import all_of
from kwire.errors.broker import GroupAuthorizationFailedError, GroupIdNotFoundError

NO_CORE = cast("Any", None)


@pytest.mark.parametrize(("version", "types"), [(4, []), (5, ["Classic"])])
def test_a_broker_is_told_the_filters_that_it_knows(version: int, types: list[str]) -> None:
    api = ListGroups(states=["Stable"], types=["Classic"], protocol_types=["consumer"])
    asked = api.request(NO_CORE, [1], version)
    assert (list(asked.states_filter), list(asked.types_filter)) == (["Stable"], types)
    assert api.versions == range(4, 6)


def test_what_a_broker_has_not_filtered_is_filtered_here() -> None:
    rows = [("a", "consumer", "Classic"), ("b", "consumer", "Consumer"), ("c", "connect", "Classic"), ("d", "", "")]
    made = protocol.ListGroupsResponse.ListedGroup
    response = protocol.ListGroupsResponse(
        groups=[made(group_id=name, protocol_type=kind, group_type=group_type) for name, kind, group_type in rows]
    )
    api = ListGroups(types=["Classic"], protocol_types=["consumer", ""])
    assert [row.group_id for row in api.merge(cast("Any", api.result([1], response, 5)))] == ["a", "d"]


def test_members_are_named_as_each_version_can() -> None:
    one = RemoveMembers("g", [MemberToRemove(member_id="m")], "why")
    assert one.versions is None
    assert one.request(NO_CORE, ["g"], 2) == protocol.LeaveGroupRequest(group_id="g", member_id="m")
    both = RemoveMembers("g", [MemberToRemove("i"), MemberToRemove(member_id="m")], "why")
    assert both.versions == range(3, 6)
    identity = protocol.LeaveGroupRequest.MemberIdentity
    assert both.request(NO_CORE, ["g"], 5) == protocol.LeaveGroupRequest(
        group_id="g",
        members=[identity(group_instance_id="i", reason="why"), identity(member_id="m", reason="why")],
    )
    with pytest.raises(errors.broker.UnknownMemberIdError) as e:
        one.result(["g"], protocol.LeaveGroupResponse(error_code=25), 2)
    assert list(e.value.failures) == ["m"]


def test_a_bit_field_of_operations_is_told_by_names() -> None:
    assert names_in(-(2**31)) is None
    assert names_in(0) == frozenset()
    assert names_in(1 << 3 | 1 << 8 | 1 << 15 | 1 << 30) == {"read", "describe", "two_phase_commit"}
    assert names_in(-1) == names_in(0xFFF8)


class Answers:
    """An inquiry to which these are the answers, in turn."""

    def __init__(self, *answers: object) -> None:
        self._answers = iter(answers)

    def ask(self, question: Any) -> Any:
        answer = next(self._answers)
        if isinstance(answer, errors.KafkaError):
            raise answer
        yield from ()
        return question.finish(answer)


def described_by(*answers: object) -> Any:
    wait = group_calls.describe_groups(cast("Any", Answers(*answers)), ["a", "b", "c"])
    try:
        next(wait)
    except StopIteration as end:
        return end.value


def a_group(name: str) -> GroupDescription:
    return GroupDescription(name, "Classic", "Stable", "consumer", "range", ())


def test_groups_of_the_new_protocol_are_described_when_a_classic_one_has_failed() -> None:
    refused = all_of({"a": GroupAuthorizationFailedError("a")}, {"b": None, "c": a_group("c")})
    with pytest.raises(GroupAuthorizationFailedError) as raised:
        described_by(refused, {"b": a_group("b")})
    assert list(raised.value.failures) == ["a"]
    assert raised.value.results == {"b": a_group("b"), "c": a_group("c")}


def test_groups_of_both_protocols_that_have_failed_are_told_together() -> None:
    refused = all_of({"c": GroupAuthorizationFailedError("c")}, {"a": None, "b": a_group("b")})
    with pytest.raises(GroupIdNotFoundError, match="1 more: 'c': GROUP_AUTHORIZATION_FAILED") as raised:
        described_by(refused, all_of({"a": GroupIdNotFoundError("a")}))
    assert list(raised.value.failures) == ["a", "c"]
    assert raised.value.results == {"b": a_group("b")}
