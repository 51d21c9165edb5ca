"""A group changes from "range" to "cooperative-sticky" member by member, as KIP-429 has it, and nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.brokers import Cluster
from tests.brokers.groups.described import describe_classic
from tests.brokers.groups.ledger import assert_nothing_lost
from tests.brokers.groups.members import PARTITIONS, Kind, Members
from tests.brokers.groups.traffic import Traffic
from tests.thorough import SOAK

RANGE, COOPERATIVE = Kind("range"), Kind("cooperative-sticky")
BOTH = {"partition_assignment_strategy": ["range", "cooperative-sticky"]}


@pytest.mark.kafka
@pytest.mark.timeout(240)
@pytest.mark.skipif(not SOAK, reason="takes half a minute")
def test_a_group_becomes_cooperative(
    groups_cluster: Callable[[str], Cluster], tmp_path: Path, new_topic: Callable[[], str]
) -> None:
    """With both strategies a member is eager, whichever the coordinator takes."""
    cluster, topic = groups_cluster("4.4.0"), new_topic()
    with (
        Traffic(cluster.bootstrap_servers, topic, PARTITIONS) as traffic,
        Members(cluster, tmp_path, f"g-{topic}", topic) as members,
    ):
        old = [members.java(RANGE), members.kwire(RANGE)]
        members.wait_balanced()
        between = []
        for member in old:
            between.append(members.kwire(RANGE, **BOTH))
            members.wait_balanced()
            member.end()
            members.wait_balanced()
        assert describe_classic(cluster, members.group).assignor == "range"
        new = []
        for member, start in zip(between, (members.java, members.kwire), strict=True):
            new.append(start(COOPERATIVE))
            members.wait_balanced()
            member.end()
            members.wait_balanced()
        assert describe_classic(cluster, members.group).assignor == "cooperative-sticky"
        before = new[0].owned
        members.kwire(COOPERATIVE)
        after = members.wait_balanced()
        assert after[new[0].name] < before
        assert_nothing_lost(cluster, topic, traffic, members)
