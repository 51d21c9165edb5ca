"""Admin on features and the quorum of the metadata, on the embedded broker."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

import kwire
from kwire import Admin, errors
from kwire.admin import FeatureUpdate, FinalizedVersionRange, RaftVoterEndpoint, SupportedVersionRange
from kwire.errors import ConfigError
from kwire.testing import Broker

LEADERS = "eligible.leader.replicas.version"
SHARE = "share.version"
DIRECTORY = UUID(int=7)
PLACES = [("CONTROLLER", "localhost", 9093)]


def test_features_are_described_as_they_are_switched_on_and_as_they_could_be() -> None:
    with Broker(features={LEADERS: 0, "transaction.version": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        found = admin.describe_features()
        assert found.finalized_features["transaction.version"] == FinalizedVersionRange(1, 1)
        assert found.supported_features["transaction.version"] == SupportedVersionRange(0, 2)
        assert LEADERS not in found.finalized_features
        assert found.supported_features[LEADERS] == SupportedVersionRange(0, 1)
        assert found.finalized_features_epoch is not None
        assert admin.describe_features(broker=1) == found


def test_an_old_release_has_no_features() -> None:
    with Broker(release="0.10.2") as broker, Admin(broker.bootstrap_servers) as admin:
        assert admin.describe_features() == ({}, None, {})
    with (
        Broker(release="0.9.0.1") as broker,
        Admin(broker.bootstrap_servers) as admin,
        pytest.raises(errors.broker.UNSUPPORTED_VERSION, match=r"ApiVersions.*there are no features before Kafka 2.7"),
    ):
        admin.describe_features()


def test_features_are_set_and_switched_off() -> None:
    with Broker() as broker, Admin(broker.bootstrap_servers) as admin:

        def level(name: str) -> int | None:
            found = admin.describe_features().finalized_features.get(name)
            return None if found is None else found.max_version_level

        admin.update_features({LEADERS: 0}, validate_only=True)
        assert level(LEADERS) == 1
        admin.update_features({LEADERS: 0, SHARE: (1, "safe-downgrade")})
        assert (level(LEADERS), level(SHARE)) == (None, 1)
        admin.update_features({LEADERS: 1, SHARE: FeatureUpdate(2)})
        assert (level(LEADERS), level(SHARE)) == (1, 2)
        admin.update_features({SHARE: {"max_version_level": 1, "upgrade_type": "UNSAFE_DOWNGRADE"}})
        assert level(SHARE) == 1
        admin.update_features({})


def test_a_level_that_cannot_be_changes_nothing() -> None:
    with Broker(nodes=3) as broker, Admin(broker.bootstrap_servers) as admin:
        before = admin.describe_features()
        with pytest.raises(errors.broker.INVALID_UPDATE_VERSION, match=r"feature share\.version 9") as raised:
            admin.update_features({LEADERS: 0, SHARE: 9})
        assert list(raised.value.failures) == [LEADERS, SHARE]
        with pytest.raises(errors.broker.INVALID_UPDATE_VERSION, match="needs a downgrade"):
            admin.update_features({SHARE: 1}, validate_only=True)
        assert admin.describe_features() == before


def test_up_to_3_9_each_feature_is_answered_by_itself() -> None:
    with Broker(release="3.9.2") as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.INVALID_UPDATE_VERSION, match=r"of 'kraft\.version'") as raised:
            admin.update_features({"metadata.version": (20, "safe-downgrade"), "kraft.version": 7})
        assert list(raised.value.failures) == ["kraft.version"]
        assert admin.describe_features().finalized_features["metadata.version"].max_version_level == 20


@pytest.mark.parametrize("nodes", [1, 3])
def test_the_quorum_is_described(nodes: int) -> None:
    with Broker(nodes=nodes) as broker, Admin(broker.bootstrap_servers) as admin:
        found = admin.describe_metadata_quorum()
        assert found.leader_id == broker.controller
        assert [each.replica_id for each in found.voters] == broker.nodes
        assert found.observers == ()
        assert {each.log_end_offset for each in found.voters} == {found.high_watermark}
        assert all(each.replica_directory_id and each.last_fetch_timestamp for each in found.voters)
        [place] = found.nodes[1]
        assert isinstance(place, RaftVoterEndpoint)
        assert f"{place.host}:{place.port}" == broker.address_of(1)


def test_the_first_quorum_says_less() -> None:
    with Broker(release="3.3.0") as broker, Admin(broker.bootstrap_servers) as admin:
        found = admin.describe_metadata_quorum()
        assert (found.nodes, found.voters[0].replica_directory_id) == ({}, None)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda admin: admin.describe_features(broker="1"), "broker='1'"),
        (lambda admin: admin.update_features([SHARE]), "updates="),
        (lambda admin: admin.update_features({"": 1}), "'' is not the name of a feature"),
        (lambda admin: admin.update_features({SHARE: -1}), "level -1; expected a whole number"),
        (lambda admin: admin.update_features({SHARE: True}), "level True"),
        (
            lambda admin: admin.update_features({SHARE: (1, "downgrade")}),
            "upgrade_type='downgrade'; expected",
        ),
        (lambda admin: admin.update_features({SHARE: (0, "upgrade")}), "level 0 switches it off"),
        (lambda admin: admin.update_features({SHARE: "1"}), "'1' is neither a level nor"),
        (lambda admin: admin.update_features({SHARE: {"level": 1}}), "expected max_version_level, upgrade_type"),
        (lambda admin: admin.add_raft_voter(-1, DIRECTORY, PLACES), "voter_id=-1"),
        (lambda admin: admin.add_raft_voter(1, "x", PLACES), "voter_directory_id='x'"),
        (lambda admin: admin.add_raft_voter(1, DIRECTORY, []), "endpoints are empty"),
        (lambda admin: admin.add_raft_voter(1, DIRECTORY, PLACES[0]), "'CONTROLLER' is not an endpoint"),
        (lambda admin: admin.add_raft_voter(1, DIRECTORY, [("C", "h", 0)]), "port 0 is not from 1"),
        (lambda admin: admin.add_raft_voter(1, DIRECTORY, PLACES, cluster_id=""), "cluster_id=''"),
        (lambda admin: admin.remove_raft_voter(1, None), "voter_directory_id=None"),
        (lambda admin: admin.unregister_broker("4"), "broker='4'"),
    ],
)
def test_an_argument_that_cannot_be_is_refused_before_anything_is_sent(call: Any, problem: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(ConfigError, match=problem):
        call(admin)


@pytest.mark.parametrize(
    ("release", "call", "advice"),
    [
        ("2.6.0", lambda admin: admin.update_features({SHARE: 1}), "UpdateFeatures.*no features before Kafka 2.7"),
        (
            "2.8.2",
            lambda admin: admin.update_features({SHARE: 1}, validate_only=True),
            "validate_only=True needs",
        ),
        ("2.7.0", lambda admin: admin.describe_metadata_quorum(), "DescribeQuorum.*with ZooKeeper has no quorum"),
        ("3.5.2", lambda admin: admin.add_raft_voter(1, DIRECTORY, PLACES), "AddRaftVoter.*since Kafka 3.9"),
        ("3.5.2", lambda admin: admin.remove_raft_voter(1, DIRECTORY), "RemoveRaftVoter.*since Kafka 3.9"),
        ("2.7.0", lambda admin: admin.unregister_broker(1), "UnregisterBroker.*with ZooKeeper"),
    ],
)
def test_a_broker_that_is_too_old_says_what_to_do_instead(release: str, call: Any, advice: str) -> None:
    with (
        Broker(release=release) as broker,
        Admin(broker.bootstrap_servers) as admin,
        pytest.raises(errors.broker.UNSUPPORTED_VERSION, match=advice),
    ):
        call(admin)


def test_who_may_not_is_told_so() -> None:
    users = {"bob": "secret", "root": "r"}
    with (
        Broker(users=users, authorizer=True, super_users=["User:root"]) as broker,
        Admin(broker.bootstrap_servers, **broker.client_settings) as admin,
    ):
        assert admin.describe_features().supported_features
        with pytest.raises(errors.broker.CLUSTER_AUTHORIZATION_FAILED) as raised:
            admin.update_features({SHARE: 1, LEADERS: 1})
        assert list(raised.value.failures) == [SHARE, LEADERS]
        with pytest.raises(errors.broker.CLUSTER_AUTHORIZATION_FAILED):
            admin.describe_metadata_quorum()


def test_coroutines_do_the_same() -> None:
    async def work(servers: str) -> None:
        async with kwire.aio.Admin(servers) as admin:
            await admin.update_features({LEADERS: 0})
            assert LEADERS not in (await admin.describe_features()).finalized_features
            assert len((await admin.describe_metadata_quorum()).voters) == 3
            with pytest.raises(errors.broker.INVALID_UPDATE_VERSION):
                await admin.update_features({LEADERS: 5})

    with Broker(nodes=3) as broker:
        asyncio.run(work(broker.bootstrap_servers))
