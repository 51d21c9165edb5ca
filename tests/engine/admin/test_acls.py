"""Calls about ACLs, in virtual time: what versions carry, odd answers, and what is asked again."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.admin import access_calls
from kwire.engine.admin.access_results import AclBinding, AclFilter
from kwire.schema.api_keys import CREATE_ACLS, DELETE_ACLS, DESCRIBE_ACLS
from kwire.schema.error_codes import CLUSTER_AUTHORIZATION_FAILED, NOT_CONTROLLER, REQUEST_TIMED_OUT
from tests.engine.admin.access_world import AccessWorld

READ = AclBinding("topic", "orders", "literal", "User:bob", "*", "read", "allow")
WRITE = READ._replace(operation="write")


def created(*codes: int) -> Any:
    row = protocol.CreateAclsResponse.AclCreationResult
    return lambda message, version: protocol.CreateAclsResponse(results=[row(error_code=code) for code in codes])


def test_a_filter_without_words_finds_any_entry() -> None:
    for release, pattern in (("4.4.0", 1), ("1.1.1", 3)):
        world = AccessWorld(release, {DESCRIBE_ACLS: lambda message, version: protocol.DescribeAclsResponse()})
        assert world.ask(access_calls.describe_acls(None)) == []
        (asked,) = world.asked
        assert (asked.resource_type_filter, asked.operation, asked.permission_type) == (1, 1, 1)
        assert (asked.resource_name_filter, asked.principal_filter, asked.host_filter) == (None, None, None)
        assert asked.pattern_type_filter == pattern


def test_what_kwire_does_not_know_yet_is_named_by_its_number() -> None:
    made = protocol.DescribeAclsResponse.DescribeAclsResource
    entry = made.AclDescription(principal="User:bob", host="*", operation=99, permission_type=3)
    row = made(resource_type=50, resource_name="n", pattern_type=9, acls=[entry])
    world = AccessWorld(
        "4.4.0", {DESCRIBE_ACLS: lambda message, version: protocol.DescribeAclsResponse(resources=[row])}
    )
    (found,) = world.ask(access_calls.describe_acls(None))
    assert found[::2] == ("unknown (50)", "unknown (9)", "*", "allow")
    assert found.operation == "unknown (99)"
    with pytest.raises(errors.ConfigError, match=r"resource_type='unknown \(50\)'"):
        access_calls.create_acls([found])


def test_an_answer_with_too_few_results_is_an_error_of_those_that_are_missing() -> None:
    world = AccessWorld("4.4.0", {CREATE_ACLS: created(0)})
    with pytest.raises(errors.KafkaError, match="has no entry for allow User:bob write on literal topic 'orders'") as e:
        world.ask(access_calls.create_acls([READ, WRITE]))
    assert list(e.value.failures) == [WRITE]


def test_only_what_had_no_effect_is_asked_again() -> None:
    answers = [created(0, NOT_CONTROLLER), created(0), created(REQUEST_TIMED_OUT)]

    def answer(message: Any, version: int) -> Any:
        return answers.pop(0)(message, version)

    world = AccessWorld("4.4.0", {CREATE_ACLS: answer})
    world.ask(access_calls.create_acls([READ, WRITE]))
    assert [len(each.creations) for each in world.asked] == [2, 1]
    with pytest.raises(errors.broker.RequestTimedOutError):
        world.ask(access_calls.create_acls([READ]))
    assert answers == []


def test_a_filter_fails_with_the_entry_that_could_not_be_deleted() -> None:
    made = protocol.DeleteAclsResponse.DeleteAclsFilterResult
    about = {"resource_type": 2, "resource_name": "orders", "pattern_type": 3, "principal": "User:bob", "host": "*"}
    rows = [made.DeleteAclsMatchingAcl(**about, operation=3, permission_type=3, error_code=code) for code in (0, 31)]
    response = protocol.DeleteAclsResponse(filter_results=[made(matching_acls=rows), made(matching_acls=rows[:1])])
    world = AccessWorld("4.4.0", {DELETE_ACLS: lambda message, version: response})
    mine, all_of_them = AclFilter(principal="User:bob"), AclFilter()
    with pytest.raises(errors.BrokerError, match="not deleted: allow User:bob read on literal topic 'orders'") as e:
        world.ask(access_calls.delete_acls([mine, all_of_them]))
    assert e.value.code == CLUSTER_AUTHORIZATION_FAILED
    assert list(e.value.failures) == [mine]


def test_bindings_and_filters_read_as_a_sentence_in_errors() -> None:
    assert str(READ) == "allow User:bob read on literal topic 'orders' from *"
    assert str(AclFilter("topic", operation="read")) == "resource_type='topic', operation='read'"
    assert str(AclFilter()) == "any ACL"
