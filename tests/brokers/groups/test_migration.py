"""A group that moves from the classic protocol to KIP-848 and back while it reads, with members of kwire and Java."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.brokers import Cluster
from tests.brokers.groups.described import group_type
from tests.brokers.groups.ledger import assert_nothing_lost
from tests.brokers.groups.members import PARTITIONS, Kind, Members
from tests.brokers.groups.traffic import Traffic
from tests.thorough import SOAK, THOROUGH

pytestmark = pytest.mark.wall_clock

CLASSIC, NEW = Kind("cooperative-sticky"), Kind("consumer")


@pytest.mark.kafka
@pytest.mark.timeout(240)
@pytest.mark.skipif(not (THOROUGH or SOAK), reason="takes half a minute")
def test_a_group_changes_its_protocol_and_back(
    groups_cluster: Callable[[str], Cluster], tmp_path: Path, new_topic: Callable[[], str]
) -> None:
    cluster, topic = groups_cluster("4.4.0"), new_topic()
    with (
        Traffic(cluster.bootstrap_servers, topic, PARTITIONS) as traffic,
        Members(cluster, tmp_path, f"g-{topic}", topic) as members,
    ):
        old = [members.kwire(CLASSIC), members.java(CLASSIC)]
        members.wait_balanced()
        assert group_type(cluster, members.group) == "classic"
        new = [members.kwire(NEW)]
        members.wait_balanced()
        assert group_type(cluster, members.group) == "consumer"
        old[1].end()
        new.append(members.java(NEW))
        members.wait_balanced()
        old[0].end()
        members.wait_balanced()
        members.kwire(CLASSIC)
        members.wait_balanced()
        for member in new:
            member.end()
        members.wait_balanced()
        assert group_type(cluster, members.group) == "classic"
        assert_nothing_lost(cluster, topic, traffic, members)
