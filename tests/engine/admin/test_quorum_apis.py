"""Voters and brokers that come and go, in virtual time, since no embedded broker has them; and odd responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kwire import errors, protocol
from kwire.engine.admin import quorum_calls
from kwire.engine.admin.a55_describe_quorum import DescribeQuorum
from kwire.engine.admin.a57_update_features import UpdateFeatures
from kwire.engine.admin.quorum_results import FeatureUpdate
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.common.addresses import Address
from kwire.engine.settings.clients import AdminSettings
from kwire.schema.api_keys import ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UNREGISTER_BROKER
from kwire.schema.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    DUPLICATE_VOTER,
    NOT_CONTROLLER,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
    VOTER_NOT_FOUND,
)
from tests.engine.world import Broker, World

HERE = Address("a", 1)
DIRECTORY = UUID("00112233-4455-6677-8899-aabbccddeeff")
PLACES = [("CONTROLLER", "host", 9093), {"listener": "OTHER", "host": "::1", "port": 9094}]


class Kafka:
    """One broker that answers about voters with these codes, one after the other."""

    def __init__(self, *codes: int, release: str = "4.4.0") -> None:
        self.codes = list(codes)
        self.asked: list[Any] = []
        broker = Broker(release, 0)
        broker.brokers = {0: HERE}
        broker.handlers |= {
            ADD_RAFT_VOTER: self.answers(protocol.AddRaftVoterResponse),
            REMOVE_RAFT_VOTER: self.answers(protocol.RemoveRaftVoterResponse),
            UNREGISTER_BROKER: self.answers(protocol.UnregisterBrokerResponse),
        }
        self.world = World({HERE: broker}, AdminSettings(bootstrap_servers="a:1"))

    def answers(self, kind: Callable[..., Any]) -> Any:
        def answer(message: Any, version: int, now: float) -> Any:
            self.asked.append(message)
            return kind(error_code=self.codes.pop(0), error_message="as the log says")

        return answer

    def run(self, question: Any) -> Any:
        now = self.world.now
        call = FanOutCall(self.world.core, question.api, deadline=now + 30, now=now)
        self.world.run(lambda: call.done)
        return question.finish(call.value())


@pytest.mark.parametrize("directory", [DIRECTORY, str(DIRECTORY), "ABEiM0RVZneImaq7zN3u_w"])
def test_a_voter_is_added_with_its_directory_and_the_places_where_it_listens(directory: UUID | str) -> None:
    kafka = Kafka(0)
    question = quorum_calls.add_raft_voter(3, directory, PLACES, cluster_id="of-mine")
    assert kafka.run(question) is None
    [request] = kafka.asked
    assert (request.voter_id, request.voter_directory_id, request.cluster_id) == (3, DIRECTORY, "of-mine")
    assert [(each.name, each.host, each.port) for each in request.listeners] == [
        ("CONTROLLER", "host", 9093),
        ("OTHER", "::1", 9094),
    ]
    assert request.ack_when_committed


def test_a_voter_is_added_on_the_first_release_that_can() -> None:
    kafka = Kafka(0, release="3.9.2")
    kafka.run(quorum_calls.add_raft_voter(3, DIRECTORY, PLACES, cluster_id=None))
    assert kafka.asked[0].cluster_id is None


def test_a_voter_is_removed() -> None:
    kafka = Kafka(0)
    assert kafka.run(quorum_calls.remove_raft_voter(3, DIRECTORY, cluster_id=None)) is None
    [request] = kafka.asked
    assert (request.voter_id, request.voter_directory_id, request.cluster_id) == (3, DIRECTORY, None)


def test_a_broker_is_forgotten() -> None:
    kafka = Kafka(0)
    assert kafka.run(quorum_calls.unregister_broker(4)) is None
    assert kafka.asked[0].broker_id == 4


@pytest.mark.parametrize(
    ("question", "code", "told"),
    [
        (quorum_calls.add_raft_voter(3, DIRECTORY, PLACES, cluster_id=None), DUPLICATE_VOTER, "AddRaftVoter of 3"),
        (quorum_calls.remove_raft_voter(3, DIRECTORY, cluster_id=None), VOTER_NOT_FOUND, "RemoveRaftVoter of 3"),
        (quorum_calls.unregister_broker(4), BROKER_ID_NOT_REGISTERED, "UnregisterBroker of 4"),
    ],
)
def test_what_fails_is_told_in_the_words_of_the_controller(question: Any, code: int, told: str) -> None:
    with pytest.raises(errors.BrokerError, match=f"{told}: as the log says") as raised:
        Kafka(code).run(question)
    assert raised.value.code == code


def test_a_controller_that_cannot_says_why_by_itself() -> None:
    """With a kraft.version of 0, say: the release is new enough."""
    with pytest.raises(errors.broker.UNSUPPORTED_VERSION) as raised:
        Kafka(UNSUPPORTED_VERSION).run(quorum_calls.remove_raft_voter(3, DIRECTORY, cluster_id=None))
    assert "as the log says" in str(raised.value)
    assert "Kafka 3.9" not in str(raised.value)


def test_only_what_had_no_effect_is_repeated() -> None:
    kafka = Kafka(NOT_CONTROLLER, 0)
    kafka.run(quorum_calls.remove_raft_voter(3, DIRECTORY, cluster_id=None))
    assert len(kafka.asked) == 2
    kafka = Kafka(REQUEST_TIMED_OUT, 0)
    with pytest.raises(errors.broker.REQUEST_TIMED_OUT):
        kafka.run(quorum_calls.remove_raft_voter(3, DIRECTORY, cluster_id=None))
    assert len(kafka.asked) == 1


def test_a_quorum_without_its_partition_is_an_error() -> None:
    with pytest.raises(errors.KafkaError, match="no entry for __cluster_metadata-0"):
        DescribeQuorum().result([None], protocol.DescribeQuorumResponse(), 2)
    made = protocol.DescribeQuorumResponse.TopicData
    row = made.PartitionData(error_code=UNKNOWN_TOPIC_OR_PARTITION, error_message="not here")
    response = protocol.DescribeQuorumResponse(topics=[made(topic_name="__cluster_metadata", partitions=[row])])
    with pytest.raises(errors.broker.UNKNOWN_TOPIC_OR_PARTITION, match="DescribeQuorum: not here"):
        DescribeQuorum().result([None], response, 2)


@pytest.mark.parametrize(
    ("kind", "downgrade", "code"), [("upgrade", False, 1), ("safe-downgrade", True, 2), ("unsafe-downgrade", True, 3)]
)
def test_a_downgrade_is_asked_for_as_the_version_can(kind: str, downgrade: bool, code: int) -> None:
    api = UpdateFeatures({"f": FeatureUpdate(1, kind)}, validate_only=False)
    core = Kafka().world.core
    [old] = api.request(core, ["f"], 0).feature_updates
    [new] = api.request(core, ["f"], 1).feature_updates
    assert (old.allow_downgrade, new.allow_downgrade, new.upgrade_type) == (downgrade, False, code)
