"""Finalized features: what ApiVersions tells, and how they are updated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kwire import protocol
from kwire.errors import ConfigError
from kwire.errors import broker as codes
from kwire.protocol import ApiVersionsRequest, ApiVersionsResponse, UpdateFeaturesRequest
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.testing.in_process import InProcess
from tests.testing.like_kafka.test_like_kafka import asker

ELIGIBLE = "eligible.leader.replicas.version"
INVALID = codes.INVALID_UPDATE_VERSION.code


def told(broker: InProcess, version: int = 4) -> Any:
    return broker.ask(ApiVersionsRequest(client_software_name="x", client_software_version="1"), version)


def finalized(broker: InProcess) -> dict[str, int]:
    return {each.name: each.max_version_level for each in told(broker).finalized_features}


def update(broker: InProcess, version: int, *asked: tuple[Any, ...], **fields: Any) -> Any:
    made = UpdateFeaturesRequest.FeatureUpdateKey
    updates = [made(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in asked]
    return broker.ask(UpdateFeaturesRequest(feature_updates=updates, **fields), version)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("2.8.2", {}),
        ("3.9.2", {"kraft.version": 1, "metadata.version": 21}),
        ("4.0.2", {"kraft.version": 1, "metadata.version": 25, "transaction.version": 2, "group.version": 1}),
        (
            "4.4.0",
            {
                "kraft.version": 1,
                "metadata.version": 33,
                "transaction.version": 2,
                "group.version": 1,
                "share.version": 2,
                "streams.version": 1,
                ELIGIBLE: 1,
            },
        ),
    ],
)
def test_a_release_comes_with_its_features(release: str, expected: dict[str, int]) -> None:
    broker = InProcess(release)
    answer = told(broker, 3)
    assert {each.name: each.max_version_level for each in answer.finalized_features} == expected
    assert (answer.finalized_features_epoch >= 0) == bool(expected)


def test_version_3_leaves_out_what_begins_at_0() -> None:
    broker = InProcess()
    assert [each.name for each in told(broker, 3).supported_features] == ["metadata.version"]
    found = {each.name: (each.min_version, each.max_version) for each in told(broker, 4).supported_features}
    assert found["transaction.version"] == (0, 2)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"nope": 1}, "feature 'nope': release 4.4.0 has"),
        ({"transaction.version": 3}, "feature transaction.version 3: expected 0 to 2 in release 4.4.0"),
    ],
)
def test_features_that_a_release_does_not_have_are_refused(features: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Broker(features=features)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (("nope", 1, 1), INVALID),
        ((ELIGIBLE, 9, 1), INVALID),
        ((ELIGIBLE, -1, 1), INVALID),
        ((ELIGIBLE, 1, 1), 0),
        ((ELIGIBLE, 0, 1), INVALID),
        ((ELIGIBLE, 0, 2), 0),
        ((ELIGIBLE, 0, 3), 0),
        ((ELIGIBLE, 0, 7), INVALID),
        (("share.version", 2, 1), 0),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_levels_that_can_be_set(version: int, asked: tuple[str, int, int], code: int) -> None:
    broker = InProcess()
    answer = update(broker, version, asked)
    assert answer.error_code == code
    named = version == 1 and not code
    assert [each.feature for each in answer.results] == ([asked[0]] if named else [])
    if not code:
        assert finalized(broker).get(asked[0], 0) == asked[1]


def test_all_or_nothing_from_4_0_on_and_each_by_itself_before() -> None:
    newer = InProcess()
    assert update(newer, 1, (ELIGIBLE, 0, 2), ("nope", 1, 1)).error_code == INVALID
    assert finalized(newer)[ELIGIBLE] == 1
    older = InProcess("3.9.2")
    answer = update(older, 1, ("metadata.version", 20, 2), ("nope", 1, 1))
    assert (answer.error_code, [each.error_code for each in answer.results]) == (0, [0, INVALID])
    assert finalized(older)["metadata.version"] == 20


def test_a_validated_update_changes_nothing_and_a_real_one_the_epoch() -> None:
    broker = InProcess()
    before = told(broker).finalized_features_epoch
    assert update(broker, 1, (ELIGIBLE, 0, 2), validate_only=True).error_code == 0
    assert told(broker).finalized_features_epoch == before
    assert update(broker, 1, (ELIGIBLE, 0, 2)).error_code == 0
    assert told(broker).finalized_features_epoch == before + 1
    broker.cluster.authorizer.deny("alter", "cluster", None, None)
    assert update(broker, 1, (ELIGIBLE, 1, 1)).error_code == codes.CLUSTER_AUTHORIZATION_FAILED.code


def test_features_are_those_of_kafka(kafka: Cluster) -> None:
    """What is told, and what is answered to updates that change nothing."""
    release = kafka.release
    if release.mode == "zookeeper" or release.number < (3, 5):
        pytest.skip("the embedded broker has the features of a KRaft cluster")
    with Broker(release=release.version) as broker:
        theirs, ours = (
            [comparable(asker(servers)(request, version)) for version, request in questions(release.version)]
            for servers in (kafka.bootstrap_servers, broker.bootstrap_servers)
        )
    assert ours == theirs


def questions(release: str) -> Iterator[tuple[int, Any]]:
    spans = protocol.versions_of(release)
    for version in range(3, spans[18][1] + 1):
        yield version, ApiVersionsRequest(client_software_name="x", client_software_version="1")
    made = UpdateFeaturesRequest.FeatureUpdateKey
    for version in range(1, spans[57][1] + 1):
        for names in (["nope"], [], ["metadata.version"], ["metadata.version", "nope"]):
            for level, kind in ((99, 1), (-1, 1), (1, 1), (99, 2), (1, 7)):
                updates = [made(feature=name, max_version_level=level, upgrade_type=kind) for name in names]
                yield version, UpdateFeaturesRequest(feature_updates=updates, validate_only=True, timeout_ms=1000)


def comparable(answer: Any) -> Any:
    if isinstance(answer, ApiVersionsResponse):
        supported = sorted((each.name, each.min_version, each.max_version) for each in answer.supported_features)
        return supported, sorted((each.name, each.max_version_level) for each in answer.finalized_features)
    return answer.error_code, sorted((each.feature, each.error_code) for each in answer.results)
