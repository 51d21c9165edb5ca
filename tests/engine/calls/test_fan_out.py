"""Calls of several brokers in virtual time: whom they ask, and whom they ask when that has moved between two tries."""

from __future__ import annotations

import itertools
import operator
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from kwire import errors, protocol
from kwire.engine.admin.a02_list_offsets import ListOffsets
from kwire.engine.admin.a03_metadata import DescribeTopics, DescribeTopicsById
from kwire.engine.admin.a19_create_topics import CreateTopics, NewTopic
from kwire.engine.admin.a20_delete_topics import DeleteTopics
from kwire.engine.admin.a21_delete_records import HIGH_WATERMARK, DeleteRecords
from kwire.engine.admin.a43_elect_leaders import PREFERRED, ElectAllLeaders
from kwire.engine.calls.fan_out import AdminApi, FanOutCall
from kwire.engine.calls.lookup import GROUP, TRANSACTION, CoordinatorLookup, EachBroker, Leader, NamedBroker
from kwire.engine.calls.offsets import LATEST
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.common.retry import SPREAD
from kwire.engine.metadata.refresh import HEDGE_AFTER_S
from kwire.engine.ports import Services
from kwire.engine.settings.clients import AdminSettings
from kwire.schema.api_keys import (
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    DESCRIBE_PRODUCERS,
    ELECT_LEADERS,
    FIND_COORDINATOR,
    LIST_OFFSETS,
    METADATA,
)
from kwire.schema.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    NOT_CONTROLLER,
    NOT_COORDINATOR,
    REQUEST_TIMED_OUT,
    THROTTLING_QUOTA_EXCEEDED,
    TOPIC_ALREADY_EXISTS,
)
from tests.engine.world import HANG_UP, SILENCE, Answer, Broker, World

A, B, C = Address("a", 1), Address("b", 2), Address("c", 3)
NOT_LEADER = 6
NON_EMPTY_GROUP = 68
LIST_GROUPS, DESCRIBE_GROUPS = 16, 15


class Kafka:
    """Three brokers that know who leads, coordinates and controls; any other broker refuses."""

    def __init__(self, release: str = "4.4.0", bootstrap: str = "a:1") -> None:
        self.brokers = [Broker(release, node_id) for node_id in range(3)]
        self.controller = 0
        self.leaders = [0, 1, 2]
        self.coordinators = {"g": 0, "h": 1}
        self.asked: list[tuple[int, Any]] = []
        self.asked_at: list[float] = []
        self.group_codes: dict[str, int] = {}
        self.hidden: set[str] = set()
        self.new_from = float("inf")
        self.answers: Callable[[int, Any], int] = lambda node, message: 0
        for node, broker in enumerate(self.brokers):
            broker.brokers = {0: A, 1: B, 2: C}
            broker.handlers |= {
                METADATA: self.metadata(broker),
                LIST_OFFSETS: self.noted(node, self.list_offsets),
                FIND_COORDINATOR: self.noted(node, self.find_coordinator),
                DESCRIBE_GROUPS: self.noted(node, self.describe_groups),
                LIST_GROUPS: self.noted(node, self.list_groups),
                CREATE_TOPICS: self.noted(node, self.create_topics),
                DELETE_TOPICS: self.noted(node, self.delete_topics),
            }
        places = dict(zip((A, B, C), self.brokers, strict=True))
        self.world = World(places, AdminSettings(bootstrap_servers=bootstrap))

    def run(self, api: AdminApi[Any, Any], seconds: float = 30) -> Any:
        call = FanOutCall(self.world.core, api, deadline=self.world.now + seconds, now=self.world.now)
        self.world.run(lambda: call.done)
        return call.value()

    def connected_to(self) -> int:
        """The one broker that there is a connection to."""
        [connection] = self.world.open
        return [A, B, C].index(connection.address)

    def hang(self, node: int) -> None:
        """The broker says nothing from now on, and keeps its connections."""
        self.brokers[node].answer = lambda frame, now: SILENCE  # type: ignore[method-assign]

    def times(self, kind: type) -> list[float]:
        """When such requests came."""
        return [now for now, (_, message) in zip(self.asked_at, self.asked, strict=True) if isinstance(message, kind)]

    def nodes(self, kind: type) -> list[int]:
        """The brokers that got such a request, in order."""
        return [node for node, message in self.asked if isinstance(message, kind)]

    def metadata(self, broker: Broker) -> Any:
        def answer(message: Any, version: int, now: float) -> Any:
            broker.topics = {"t": self.leaders, **({"new": [0]} if now >= self.new_from else {})}
            response = broker.metadata(message, version, now)
            response.controller_id = self.controller
            return response

        return answer

    def noted(self, node: int, answer: Callable[[int, Any, int], Any]) -> Any:
        def handle(message: Any, version: int, now: float) -> Any:
            self.asked.append((node, message))
            self.asked_at.append(now)
            return answer(node, message, version)

        return handle

    def list_offsets(self, node: int, message: Any, version: int) -> Any:
        made = protocol.ListOffsetsResponse.ListOffsetsTopicResponse

        def row(asked: Any) -> Any:
            code = 0 if self.leaders[asked.partition_index] == node else NOT_LEADER
            offset = 100 + asked.partition_index
            return made.ListOffsetsPartitionResponse(
                partition_index=asked.partition_index, error_code=code, offset=offset
            )

        topics = [made(name=topic.name, partitions=list(map(row, topic.partitions))) for topic in message.topics]
        return protocol.ListOffsetsResponse(topics=topics)

    def find_coordinator(self, node: int, message: Any, version: int) -> Any:
        keys = message.coordinator_keys if version >= 4 else [message.key]
        code = self.answers(node, message)
        refused = dict.fromkeys(self.hidden, GROUP_AUTHORIZATION_FAILED)
        if version < 4:
            return protocol.FindCoordinatorResponse(node_id=self.coordinators[keys[0]], error_code=code)
        row = protocol.FindCoordinatorResponse.Coordinator
        found = [row(key=key, node_id=self.coordinators[key], error_code=refused.get(key, code)) for key in keys]
        return protocol.FindCoordinatorResponse(coordinators=found)

    def describe_groups(self, node: int, message: Any, version: int) -> Any:
        row = protocol.DescribeGroupsResponse.DescribedGroup
        return protocol.DescribeGroupsResponse(
            groups=[
                row(
                    group_id=name,
                    group_state=f"at {node}",
                    error_code=self.group_codes.get(name, 0) if self.coordinators[name] == node else NOT_COORDINATOR,
                )
                for name in message.groups
            ]
        )

    def list_groups(self, node: int, message: Any, version: int) -> Any:
        row = protocol.ListGroupsResponse.ListedGroup
        return protocol.ListGroupsResponse(
            groups=[row(group_id=name) for name, where in self.coordinators.items() if where == node]
        )

    def create_topics(self, node: int, message: Any, version: int) -> Any:
        row = protocol.CreateTopicsResponse.CreatableTopicResult
        code = self.answers(node, message) or (0 if node == self.controller else NOT_CONTROLLER)
        return protocol.CreateTopicsResponse(topics=[row(name=new.name, error_code=code) for new in message.topics])

    def delete_topics(self, node: int, message: Any, version: int) -> Any:
        return protocol.DeleteTopicsResponse()


class DescribeGroups(AdminApi[str, str]):
    api_key = DESCRIBE_GROUPS
    retries_codes = True
    what = "DescribeGroups"

    def __init__(self, *names: str, kind: int = GROUP) -> None:
        self.lookup = CoordinatorLookup(kind)
        self._names = names

    def split(self, core: Services) -> Sequence[str]:
        return self._names

    def request(self, core: Services, keys: Sequence[str], version: int) -> Any:
        return protocol.DescribeGroupsRequest(groups=list(keys))

    def result(self, keys: Sequence[str], response: Any, version: int) -> Mapping[str, str | errors.KafkaError]:
        return {
            row.group_id: errors.broker.error_for(row.error_code) if row.error_code else row.group_state
            for row in response.groups
        }


class ListGroups(AdminApi[int, list[str]]):
    api_key = LIST_GROUPS
    what = "ListGroups"

    def __init__(self) -> None:
        self.lookup = self.brokers = EachBroker()

    def split(self, core: Services) -> Sequence[int] | None:
        return self.brokers.ids(core)

    def request(self, core: Services, keys: Sequence[int], version: int) -> Any:
        return protocol.ListGroupsRequest()

    def result(self, keys: Sequence[int], response: Any, version: int) -> Mapping[int, list[str]]:
        return {keys[0]: [row.group_id for row in response.groups]}

    def merge(self, results: Mapping[int, list[str]]) -> list[str]:
        return sorted(name for names in results.values() for name in names)


PARTITIONS = [TopicPartition("t", number) for number in range(3)]


def test_each_leader_is_asked_once_about_its_partitions() -> None:
    kafka = Kafka()
    kafka.leaders = [1, 2, 1]
    found = kafka.run(ListOffsets(dict.fromkeys(PARTITIONS, LATEST), isolation=0))
    assert [found[tp].offset for tp in PARTITIONS] == [100, 101, 102]
    assert sorted(kafka.nodes(protocol.ListOffsetsRequest)) == [1, 2]


def test_a_leader_that_moves_between_two_tries_is_found() -> None:
    kafka = Kafka()
    kafka.run(ListOffsets(dict.fromkeys(PARTITIONS, LATEST), isolation=0))
    kafka.asked.clear()
    call = FanOutCall(
        kafka.world.core,
        ListOffsets(dict.fromkeys(PARTITIONS, LATEST), isolation=0),
        deadline=kafka.world.now + 30,
        now=kafka.world.now,
    )
    kafka.world.run(lambda: len(kafka.asked) == 3 or kafka.world.core.cluster.leader("t", 0) == 0)
    kafka.leaders = [2, 1, 2]
    kafka.world.run(lambda: call.done)
    assert call.value()[PARTITIONS[0]].offset == 100
    asked = [(node, row.partition_index) for node, message in kafka.asked for row in message.topics[0].partitions]
    assert (0, 0) in asked
    assert asked[-1] == (2, 0)
    assert asked.count((1, 1)) == 1, "what was answered is not asked again"


def test_a_controller_that_moves_between_two_tries_is_found() -> None:
    kafka = Kafka()
    kafka.run(CreateTopics({"one": NewTopic(1, 1)}))
    kafka.controller = 2
    kafka.run(CreateTopics({"two": NewTopic(1, 1)}))
    assert kafka.nodes(protocol.CreateTopicsRequest) == [0, 0, 2]


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        (protocol.CreateTopicsRequest, CreateTopics({"one": NewTopic(1, 1)})),
        (protocol.DescribeGroupsRequest, DescribeGroups("g")),
        (protocol.ListOffsetsRequest, ListOffsets({TopicPartition("t", 0): LATEST}, isolation=0)),
    ],
)
def test_a_broker_that_refuses_what_metadata_sends_to_it_is_asked_less_and_less(
    kind: type, api: AdminApi[Any, Any]
) -> None:
    kafka = Kafka()
    kafka.answers = lambda node, message: NOT_CONTROLLER if isinstance(message, protocol.CreateTopicsRequest) else 0
    kafka.group_codes["g"] = NOT_COORDINATOR
    kafka.brokers[0].handlers[LIST_OFFSETS] = kafka.noted(
        0, lambda node, message, version: kafka.list_offsets(-1, message, version)
    )
    with pytest.raises(errors.KafkaTimeoutError):
        kafka.run(api, 30)
    waits = [after - before for before, after in itertools.pairwise(kafka.times(kind))]
    backoff = kafka.world.core.retry_backoff
    least = [min(backoff.first * 2**number, backoff.longest) * (1 - SPREAD) for number in range(len(waits))]
    assert all(map(operator.ge, waits, least)), waits
    assert sum(waits) > 25


def test_a_controller_that_has_died_is_looked_up_again() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    kafka.run(CreateTopics({"one": NewTopic(1, 1)}))
    kafka.controller = 2
    kafka.brokers[0].refuses = "refused"
    kafka.world.lose_all(A)
    began = kafka.world.now
    kafka.run(CreateTopics({"two": NewTopic(1, 1)}))
    assert kafka.nodes(protocol.CreateTopicsRequest) == [0, 2]
    assert kafka.world.now - began < 5


def test_a_request_without_effect_is_repeated_and_another_is_not() -> None:
    kafka = Kafka()
    codes = [THROTTLING_QUOTA_EXCEEDED, 0]
    kafka.answers = lambda node, message: codes.pop(0)
    kafka.run(CreateTopics({"one": NewTopic(1, 1)}))
    kafka.answers = lambda node, message: REQUEST_TIMED_OUT
    with pytest.raises(errors.broker.REQUEST_TIMED_OUT, match="CreateTopics of 'two'"):
        kafka.run(CreateTopics({"two": NewTopic(1, 1)}))
    assert len(kafka.nodes(protocol.CreateTopicsRequest)) == 3


@pytest.mark.parametrize(("release", "requests"), [("4.4.0", 1), ("3.0.2", 1), ("2.8.2", 2)])
def test_groups_are_asked_about_at_their_coordinators(release: str, requests: int) -> None:
    kafka = Kafka(release)
    assert kafka.run(DescribeGroups("g", "h")) == {"g": "at 0", "h": "at 1"}
    assert sorted(kafka.nodes(protocol.DescribeGroupsRequest)) == [0, 1]
    assert len(kafka.nodes(protocol.FindCoordinatorRequest)) == requests


def test_a_coordinator_that_the_cluster_does_not_have_is_looked_up_until_it_has_one() -> None:
    kafka = Kafka()
    kafka.coordinators["g"] = 7
    call = FanOutCall(kafka.world.core, DescribeGroups("g", "h"), deadline=kafka.world.now + 30, now=kafka.world.now)
    kafka.world.run(lambda: len(kafka.nodes(protocol.FindCoordinatorRequest)) == 3)
    kafka.coordinators["g"] = 2
    kafka.world.run(lambda: call.done)
    assert call.value() == {"g": "at 2", "h": "at 1"}


@pytest.mark.parametrize("kind", ["all", "first"])
def test_a_coordinator_that_the_cluster_never_has_is_named(kind: str) -> None:
    kafka = Kafka()
    kafka.coordinators["g"] = 7
    told = (
        "DescribeGroups: no answer in time; FindCoordinator says that broker 7 coordinates 'g', and .* brokers 0, 1, 2"
    )
    with pytest.raises(errors.KafkaTimeoutError, match=told) as raised:
        kafka.run(DescribeAll("g", "h") if kind == "all" else DescribeGroups("g", "h"), 10)
    assert list(raised.value.failures) == (["g"] if kind == "all" else [])
    assert len(kafka.nodes(protocol.FindCoordinatorRequest)) < 200


def test_a_response_about_another_group_does_not_say_where_this_one_is() -> None:
    kafka = Kafka()
    plain = kafka.find_coordinator
    made = protocol.FindCoordinatorRequest

    def swapped(node: int, message: Any, version: int) -> Any:
        return plain(node, made(key_type=0, coordinator_keys=["h"]), version)

    for node, broker in enumerate(kafka.brokers):
        broker.handlers[FIND_COORDINATOR] = kafka.noted(node, swapped)
    with pytest.raises(errors.KafkaTimeoutError, match="FindCoordinator of 'g' returned no coordinator"):
        kafka.run(DescribeGroups("g"), 5)


class DescribeAll(DescribeGroups):
    tells_all = True


def test_every_key_that_fails_is_named_where_all_are_to_be_told() -> None:
    kafka = Kafka()
    kafka.coordinators.update(i=2, j=0)
    kafka.group_codes = {"g": GROUP_AUTHORIZATION_FAILED, "i": NON_EMPTY_GROUP}
    with pytest.raises(errors.broker.GroupAuthorizationFailedError, match="and 1 more: 'i': NON_EMPTY_GROUP") as raised:
        kafka.run(DescribeAll("g", "h", "i", "j"))
    failures = raised.value.failures
    assert {key: type(error) for key, error in failures.items()} == {
        "g": errors.broker.GroupAuthorizationFailedError,
        "i": errors.broker.NonEmptyGroupError,
    }
    assert all(error is not raised.value for error in failures.values())
    assert pickle.loads(pickle.dumps(raised.value)).failures.keys() == failures.keys()
    assert sorted(kafka.nodes(protocol.DescribeGroupsRequest)) == [0, 1, 2]


def test_a_key_that_failed_is_asked_about_no_more() -> None:
    kafka = Kafka()
    kafka.group_codes = {"g": NON_EMPTY_GROUP, "h": COORDINATOR_LOAD_IN_PROGRESS}
    api = DescribeAll("g", "h")
    call = FanOutCall(kafka.world.core, api, deadline=kafka.world.now + 5, now=kafka.world.now)
    kafka.world.run(lambda: len(kafka.nodes(protocol.DescribeGroupsRequest)) > 4)
    assert kafka.nodes(protocol.DescribeGroupsRequest).count(0) == 1
    kafka.world.run(lambda: call.done)
    assert isinstance(call.error, errors.broker.NonEmptyGroupError)
    assert isinstance(call.error.failures["h"], errors.KafkaTimeoutError)
    assert "COORDINATOR_LOAD_IN_PROGRESS" in str(call.error)


def test_a_group_whose_coordinator_may_not_be_known_is_named_beside_others() -> None:
    kafka = Kafka()
    kafka.hidden = {"h"}
    kafka.group_codes = {"g": NON_EMPTY_GROUP}
    with pytest.raises(errors.broker.NonEmptyGroupError, match="'h': GROUP_AUTHORIZATION_FAILED"):
        kafka.run(DescribeAll("g", "h"))


class ListAllOffsets(ListOffsets):
    tells_all = True


def test_a_partition_that_does_not_exist_is_named_and_the_others_are_asked_about() -> None:
    kafka = Kafka()
    nowhere, missing = TopicPartition("t", 9), TopicPartition("missing", 0)
    with pytest.raises(errors.UnknownTopicError) as raised:
        kafka.run(ListAllOffsets(dict.fromkeys((nowhere, *PARTITIONS, missing), LATEST), isolation=0), 5)
    failures = raised.value.failures
    assert list(failures) == [nowhere, missing]
    assert "no partition 9" in str(failures[nowhere])
    assert sorted(kafka.nodes(protocol.ListOffsetsRequest)) == [0, 1, 2]


def test_a_call_ends_at_once_where_no_key_has_a_broker_to_ask() -> None:
    kafka = Kafka()
    began = kafka.world.now
    with pytest.raises(errors.UnknownTopicError, match="no partition 9"):
        kafka.run(ListAllOffsets({TopicPartition("t", 9): LATEST}, isolation=0), 30)
    assert kafka.world.now - began < 5


class CreateAtLeader(CreateTopics):
    without_effect = frozenset({NOT_LEADER})


def test_which_codes_mean_no_effect_is_for_the_api_to_say() -> None:
    kafka = Kafka()
    codes = [NOT_LEADER, 0]
    kafka.answers = lambda node, message: codes.pop(0)
    kafka.run(CreateAtLeader({"one": NewTopic(1, 1)}))
    assert len(kafka.nodes(protocol.CreateTopicsRequest)) == 2


class AskNamed(ListGroups):
    def __init__(self, *nodes: int) -> None:
        self.lookup = NamedBroker(lambda node: node)  # type: ignore[assignment]
        self._nodes = nodes

    def split(self, core: Services) -> Sequence[int]:
        return self._nodes


def test_a_broker_that_the_key_names_is_asked() -> None:
    kafka = Kafka()
    assert kafka.run(AskNamed(1)) == ["h"]
    assert kafka.nodes(protocol.ListGroupsRequest) == [1]
    with pytest.raises(errors.broker.BROKER_NOT_AVAILABLE, match="broker 7: the cluster has the brokers 0, 1, 2"):
        kafka.run(AskNamed(7), 5)


def test_a_coordinator_that_moves_is_looked_up_again() -> None:
    kafka = Kafka()
    call = FanOutCall(kafka.world.core, DescribeGroups("g", "h"), deadline=kafka.world.now + 30, now=kafka.world.now)
    kafka.world.run(lambda: len(kafka.nodes(protocol.FindCoordinatorRequest)) == 1)
    kafka.coordinators["g"] = 2
    kafka.world.run(lambda: call.done)
    assert call.value() == {"g": "at 2", "h": "at 1"}
    assert len(kafka.nodes(protocol.FindCoordinatorRequest)) == 2


def test_a_coordinator_that_is_lost_is_looked_up_again() -> None:
    kafka = Kafka()
    plain = kafka.brokers[0].answer

    def answer(frame: bytes, now: float) -> Answer:
        if frame[4:6] == DESCRIBE_GROUPS.to_bytes(2, "big"):
            kafka.coordinators["g"] = 1
            return HANG_UP
        return plain(frame, now)

    kafka.brokers[0].answer = answer  # type: ignore[method-assign]
    assert kafka.run(DescribeGroups("g")) == {"g": "at 1"}


def test_a_coordinator_that_is_not_there_yet_is_waited_for() -> None:
    kafka = Kafka()
    codes = [COORDINATOR_NOT_AVAILABLE, COORDINATOR_NOT_AVAILABLE, 0]
    kafka.answers = lambda node, message: codes.pop(0)
    assert kafka.run(DescribeGroups("g", kind=TRANSACTION)) == {"g": "at 0"}
    assert [message.key_type for _, message in kafka.asked[:3]] == [TRANSACTION] * 3


def test_every_broker_is_asked() -> None:
    kafka = Kafka()
    assert kafka.run(ListGroups()) == ["g", "h"]
    assert sorted(kafka.nodes(protocol.ListGroupsRequest)) == [0, 1, 2]


def test_a_response_that_leaves_a_key_out_is_no_success() -> None:
    kafka = Kafka()
    with pytest.raises(errors.KafkaError, match="CreateTopics of one has no entry for one"):
        kafka.run(_Forgetful({"one": NewTopic(1, 1)}))


class _Forgetful(CreateTopics):
    def result(self, keys: Sequence[str], response: Any, version: int) -> Mapping[str, Any]:
        return {}


def test_nothing_asked_about_is_nothing_found() -> None:
    kafka = Kafka()
    assert kafka.run(ListOffsets({}, isolation=0)) == {}
    assert kafka.run(DeleteTopics([])) is None
    assert not kafka.asked


def test_a_call_that_ends_leaves_nothing_behind() -> None:
    kafka = Kafka()
    core = kafka.world.core
    before = (len(core.cluster.listeners), len(core.recovered))
    kafka.leaders = [-1, -1, -1]
    with pytest.raises(errors.KafkaTimeoutError, match="ListOffsets of t-0"):
        kafka.run(ListOffsets({PARTITIONS[0]: LATEST}, isolation=0), seconds=2)
    assert (len(core.cluster.listeners), len(core.recovered)) == before
    assert core.cluster.topic("t") is None


def test_another_broker_is_asked_when_the_one_that_is_connected_hangs() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    kafka.run(DescribeTopics(None))
    kafka.hang(kafka.connected_to())
    begun = kafka.world.now
    assert list(kafka.run(DescribeTopics(None))) == ["t"]
    assert kafka.world.now - begun == pytest.approx(HEDGE_AFTER_S, abs=0.1)
    assert not kafka.world.core._requests, "the first request is cancelled"


def test_the_coordinator_is_looked_up_at_another_broker_when_one_hangs() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    kafka.run(DescribeTopics(None))
    kafka.coordinators["g"] = 2
    kafka.hang(kafka.connected_to())
    begun = kafka.world.now
    assert kafka.run(DescribeGroups("g")) == {"g": "at 2"}
    assert kafka.world.now - begun == pytest.approx(HEDGE_AFTER_S, abs=0.2)


def test_a_broker_that_answers_late_is_still_heard_when_no_other_can_be_reached() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    kafka.run(DescribeTopics(None))
    slow = kafka.brokers[kafka.connected_to()]
    for broker in kafka.brokers:
        broker.refuses = "Connection refused"
    slow.holds = 4.0
    begun = kafka.world.now
    assert list(kafka.run(DescribeTopics(None))) == ["t"]
    assert kafka.world.now - begun == pytest.approx(4.0, abs=0.1)


def test_partitions_are_told_in_order_whatever_the_order_of_the_broker() -> None:
    kafka = Kafka()
    for broker in kafka.brokers:
        broker.handlers[METADATA] = backwards(broker.handlers[METADATA])
    for api in (DescribeTopics(["t"]), DescribeTopicsById([UUID(int=0)])):
        [topic] = kafka.run(api).values()
        assert list(topic.partitions) == [0, 1, 2]


def backwards(answer: Callable[[Any, int, float], Any]) -> Callable[[Any, int, float], Any]:
    def handle(message: Any, version: int, now: float) -> Any:
        for row in message.topics:
            row.name = row.name or "t"
        response = answer(message, version, now)
        for topic in response.topics:
            topic.partitions = topic.partitions[::-1]
        return response

    return handle


def test_a_question_that_all_brokers_fail_is_asked_again() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    for broker in kafka.brokers:
        broker.refuses = "Connection refused"
    kafka.world.at(kafka.world.now + 5, lambda: setattr(kafka.brokers[0], "refuses", ""))
    assert list(kafka.run(DescribeTopics(None))) == ["t"]


class DescribeProducers(AdminApi[TopicPartition, int]):
    api_key = DESCRIBE_PRODUCERS
    what = "DescribeProducers"
    tells_all = True

    def __init__(self, *partitions: TopicPartition) -> None:
        self.lookup = Leader()
        self._partitions = partitions

    def split(self, core: Services) -> Sequence[TopicPartition]:
        return self._partitions

    def request(self, core: Services, keys: Sequence[TopicPartition], version: int) -> Any:
        made = protocol.DescribeProducersRequest.TopicRequest
        return protocol.DescribeProducersRequest(
            topics=[made(name=tp.topic, partition_indexes=[tp.partition]) for tp in keys]
        )

    def result(self, keys: Sequence[TopicPartition], response: Any, version: int) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(keys, 0)


def producers_of(kafka: Kafka, *partitions: TopicPartition) -> Any:
    response = protocol.DescribeProducersResponse()
    for node, broker in enumerate(kafka.brokers):
        broker.handlers[DESCRIBE_PRODUCERS] = kafka.noted(node, lambda *_: response)
    return kafka.run(DescribeProducers(*partitions), seconds=5)


def test_a_key_that_no_broker_will_be_found_for_is_named_beside_others() -> None:
    kafka, beyond = Kafka(), TopicPartition("t", 7)
    with pytest.raises(errors.UnknownTopicError, match="has no partition 7") as raised:
        producers_of(kafka, beyond, *PARTITIONS)
    assert list(raised.value.failures) == [beyond]
    assert sorted(kafka.nodes(protocol.DescribeProducersRequest)) == [0, 1, 2], "the others are asked about"
    with pytest.raises(errors.UnknownTopicError, match="has no partition 7"):
        producers_of(kafka, beyond)


def test_a_key_that_no_broker_was_found_for_in_time_is_named_beside_others() -> None:
    kafka, nowhere = Kafka(), TopicPartition("nowhere", 0)
    with pytest.raises(errors.UnknownTopicError, match="'nowhere'") as raised:
        producers_of(kafka, PARTITIONS[0], nowhere)
    assert list(raised.value.failures) == [nowhere]


def test_a_topic_that_never_was_is_told_long_before_the_deadline() -> None:
    kafka = Kafka()
    began = kafka.world.now
    with pytest.raises(errors.UnknownTopicError) as raised:
        kafka.run(ListOffsets({TopicPartition("nowhere", 0): LATEST}, isolation=0), 60)
    assert re.fullmatch("topic 'nowhere' does not exist; asked: [abc]:[123]", str(raised.value)), "and no advice"
    assert 5 <= kafka.world.now - began < 8


def test_a_topic_that_was_just_made_is_waited_for() -> None:
    kafka, new = Kafka(), TopicPartition("new", 0)
    kafka.new_from = kafka.world.now + 4
    assert kafka.run(ListOffsets({new: LATEST}, isolation=0), 60)[new].offset == 100


@pytest.mark.parametrize("times", [0, 1])
def test_an_error_says_that_an_earlier_try_whose_answer_was_lost_may_be_why(times: int) -> None:
    kafka, lost = Kafka(), [HANG_UP] * times
    plain = kafka.brokers[0].answer

    def answer(frame: bytes, now: float) -> Answer:
        is_creation = frame[4:6] == CREATE_TOPICS.to_bytes(2, "big")
        return lost.pop() if is_creation and lost else plain(frame, now)

    kafka.brokers[0].answer = answer  # type: ignore[method-assign]
    kafka.answers = lambda node, message: TOPIC_ALREADY_EXISTS
    with pytest.raises(errors.broker.TOPIC_ALREADY_EXISTS) as raised:
        kafka.run(CreateTopics({"new": NewTopic(1, 1)}))
    told = "an earlier try of this call, whose answer was lost, may have done it"
    assert [told in str(raised.value), told in str(raised.value.failures["new"])] == [bool(times)] * 2


def leaves_in_a_while(kafka: Kafka, node: int) -> None:
    """The broker hangs; some seconds later the cluster is one without it."""
    kafka.hang(node)

    def leave() -> None:
        for broker in kafka.brokers:
            del broker.brokers[node]

    kafka.world.at(kafka.world.now + 9, leave)


def test_a_controller_that_hangs_is_left_as_soon_as_it_has_left_the_cluster() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    kafka.controller = 1
    kafka.run(CreateTopics({"one": NewTopic(1, 1)}))
    leaves_in_a_while(kafka, 1)
    kafka.world.at(kafka.world.now + 9, lambda: setattr(kafka, "controller", 2))
    begun = kafka.world.now
    kafka.run(CreateTopics({"two": NewTopic(1, 1)}))
    assert kafka.nodes(protocol.CreateTopicsRequest)[-1] == 2
    assert kafka.world.now - begun < 9 + HEDGE_AFTER_S + 1


def test_a_coordinator_that_hangs_is_left_as_soon_as_it_has_left_the_cluster() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    kafka.coordinators["g"] = 1
    assert kafka.run(DescribeGroups("g")) == {"g": "at 1"}
    leaves_in_a_while(kafka, 1)
    call = FanOutCall(kafka.world.core, DescribeGroups("g"), deadline=kafka.world.now + 30, now=kafka.world.now)
    kafka.world.at(kafka.world.now + 9, lambda: kafka.coordinators.update(g=2))
    begun = kafka.world.now
    kafka.world.run(lambda: call.done)
    assert call.value() == {"g": "at 2"}
    assert kafka.world.now - begun < 9 + HEDGE_AFTER_S + 1


def test_a_question_is_put_to_the_next_leader_while_the_last_one_hangs() -> None:
    kafka = Kafka(bootstrap="a:1,b:2,c:3")
    kafka.leaders = [1, 2, 0]
    kafka.run(ListOffsets(dict.fromkeys(PARTITIONS, LATEST), isolation=0))
    kafka.hang(1)
    kafka.world.at(kafka.world.now + 5, lambda: setattr(kafka, "leaders", [2, 2, 0]))
    begun = kafka.world.now
    found = kafka.run(ListOffsets(dict.fromkeys(PARTITIONS, LATEST), isolation=0))
    assert found[PARTITIONS[0]].offset == 100
    assert kafka.world.now - begun < 5 + HEDGE_AFTER_S + 1


@pytest.mark.parametrize("change", ["joins", "leaves"])
def test_the_brokers_that_are_asked_are_those_that_there_are_when_the_call_begins(change: str) -> None:
    kafka = Kafka()
    fewer, all_of_them = {0: A, 1: B}, {0: A, 1: B, 2: C}
    before, after = (fewer, all_of_them) if change == "joins" else (all_of_them, fewer)
    for broker in kafka.brokers:
        broker.brokers = before
    kafka.run(ListGroups())
    kafka.asked.clear()
    kafka.world.run(kafka.world.now + 60)
    for broker in kafka.brokers:
        broker.brokers = after
    if change == "leaves":
        kafka.brokers[2].refuses = "refused"
        kafka.world.lose_all(C)
    assert kafka.run(ListGroups()) == ["g", "h"]
    assert sorted(kafka.nodes(protocol.ListGroupsRequest)) == sorted(after)


def test_a_broker_that_a_key_names_is_found_at_its_next_address() -> None:
    kafka = Kafka()
    assert kafka.run(AskNamed(2)) == []
    kafka.world.run(kafka.world.now + 60)
    kafka.brokers[2].refuses = "refused"
    kafka.world.lose_all(C)
    for broker in kafka.brokers:
        broker.brokers = {0: A, 1: C, 2: B}
    begun = kafka.world.now
    assert kafka.run(AskNamed(2)) == ["h"]
    assert kafka.world.now - begun < 5


def test_a_broker_that_a_key_names_and_that_has_left_is_not_waited_for() -> None:
    kafka = Kafka()
    kafka.run(AskNamed(2))
    kafka.world.run(kafka.world.now + 60)
    kafka.brokers[2].refuses = "refused"
    kafka.world.lose_all(C)
    for broker in kafka.brokers:
        broker.brokers = {0: A, 1: B}
    with pytest.raises(errors.broker.BROKER_NOT_AVAILABLE, match="broker 2: the cluster has the brokers 0, 1"):
        kafka.run(AskNamed(2), 5)


@pytest.mark.parametrize(("seconds", "told"), [(90, 29_000), (20, 19_000), (2, 1800)])
def test_a_broker_is_told_to_give_up_before_the_client_does(seconds: float, told: int) -> None:
    kafka = Kafka()
    kafka.run(ListGroups())
    kafka.run(CreateTopics({"one": NewTopic(1, 1)}), seconds)
    assert kafka.asked[-1][1].timeout_ms == told


def test_a_partition_whose_replicas_are_late_costs_the_others_neither_answer_nor_connection() -> None:
    kafka = Kafka()
    kafka.leaders = [0, 0, 0]

    def delete(message: Any, version: int, now: float) -> Any:
        kafka.brokers[0].holds = message.timeout_ms / 1000
        made = protocol.DeleteRecordsResponse.DeleteRecordsTopicResult
        row = made.DeleteRecordsPartitionResult
        rows = [row(partition_index=n, low_watermark=5, error_code=REQUEST_TIMED_OUT if n == 1 else 0) for n in (0, 1)]
        return protocol.DeleteRecordsResponse(topics=[made(name="t", partitions=rows)])

    kafka.brokers[0].handlers[DELETE_RECORDS] = delete
    with pytest.raises(errors.broker.REQUEST_TIMED_OUT) as raised:
        kafka.run(DeleteRecords(dict.fromkeys(PARTITIONS[:2], HIGH_WATERMARK)), 60)
    assert raised.value.results == {PARTITIONS[0]: 5}
    assert list(raised.value.failures) == [PARTITIONS[1]]
    assert kafka.brokers[0].connections == 1


def test_leaders_that_were_elected_are_told_beside_those_that_were_not() -> None:
    kafka = Kafka()
    made = protocol.ElectLeadersResponse.ReplicaElectionResult
    rows = [made.PartitionResult(partition_id=n, error_code=REQUEST_TIMED_OUT if n == 1 else 0) for n in (0, 1)]
    response = protocol.ElectLeadersResponse(replica_election_results=[made(topic="t", partition_result=rows)])
    kafka.brokers[0].handlers[ELECT_LEADERS] = lambda message, version, now: response
    with pytest.raises(errors.broker.REQUEST_TIMED_OUT) as raised:
        kafka.run(ElectAllLeaders(PREFERRED))
    assert raised.value.results == {PARTITIONS[0]: True}


def test_a_coordinator_is_found_at_its_next_address() -> None:
    kafka = Kafka()
    kafka.coordinators["g"] = 2
    kafka.run(DescribeGroups("g"))
    kafka.world.run(kafka.world.now + 60)
    kafka.brokers[2].refuses = "refused"
    kafka.world.lose_all(C)
    for broker in kafka.brokers:
        broker.brokers = {0: A, 1: C, 2: B}
    kafka.brokers[1].handlers[DESCRIBE_GROUPS] = lambda message, version, now: kafka.describe_groups(
        2, message, version
    )
    begun = kafka.world.now
    assert kafka.run(DescribeGroups("g")) == {"g": "at 2"}
    assert kafka.world.now - begun < 5
