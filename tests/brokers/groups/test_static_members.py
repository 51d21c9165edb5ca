"""Static members (KIP-345) of kwire among Java's: a restart moves nothing, and an instance id has one owner."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.brokers import Cluster
from tests.brokers.groups.described import describe_classic
from tests.brokers.groups.members import PARTITIONS, Kind, Members, wait_until
from tests.brokers.groups.traffic import Traffic
from tests.thorough import SOAK, THOROUGH

SESSION_MS = 20_000
HOWS = ("range", "consumer") if THOROUGH or SOAK else ("range",)


@pytest.mark.kafka
@pytest.mark.timeout(180)
@pytest.mark.parametrize("how", HOWS)
def test_a_member_that_comes_back_has_what_it_had(
    how: str, groups_cluster: Callable[[str], Cluster], tmp_path: Path, new_topic: Callable[[], str]
) -> None:
    """The classic one is killed. It leads: it is told to skip the assignment (KIP-814), or hands in the same one.

    By KIP-848 a member that was killed would be refused until its session is over, as Java's is: this one is ended.
    """
    cluster, topic = groups_cluster("4.4.0"), new_topic()
    longer = {"session_timeout_ms": SESSION_MS} if how != "consumer" else {}
    with (
        Traffic(cluster.bootstrap_servers, topic, PARTITIONS),
        Members(cluster, tmp_path, f"g-{topic}", topic) as members,
    ):
        first = members.kwire(Kind(how, "static-1"), **longer)
        members.wait_balanced()
        others = [members.java(Kind(how, "static-2")), members.kwire(Kind(how, "static-3"), **longer)]
        before = members.wait_balanced()
        said = [len(member.named("partitions_revoked")) for member in others]
        first.kill() if how != "consumer" else first.end()
        again = members.kwire(Kind(how, "static-1"), **longer)
        after = members.wait_balanced()
        assert after[again.name] == before[first.name]
        assert [len(member.named("partitions_revoked")) for member in others] == said


@pytest.mark.kafka
@pytest.mark.timeout(180)
def test_a_second_member_with_the_instance_id_fences_the_first(
    groups_cluster: Callable[[str], Cluster], tmp_path: Path, new_topic: Callable[[], str]
) -> None:
    cluster, topic = groups_cluster("4.4.0"), new_topic()
    with (
        Traffic(cluster.bootstrap_servers, topic, PARTITIONS),
        Members(cluster, tmp_path, f"g-{topic}", topic) as members,
    ):
        kind = Kind("cooperative-sticky", "static-1")
        first = members.kwire(kind)
        members.wait_balanced()
        second = members.java(kind)
        wait_until(lambda: bool(first.named("failed")), lambda: first.story)
        assert "FencedInstanceIdError" in first.named("failed")[0]["error"]
        wait_until(lambda: first.child.exit_code == 0, lambda: first.story)
        wait_until(lambda: len(second.owned) == PARTITIONS, lambda: second.story)
        [row] = describe_classic(cluster, members.group).members
        assert (row.instance_id, len(row.partitions)) == ("static-1", PARTITIONS)


@pytest.mark.kafka
@pytest.mark.timeout(180)
def test_a_brokers_group_keeps_the_first_owner_of_an_instance_id(
    groups_cluster: Callable[[str], Cluster], tmp_path: Path, new_topic: Callable[[], str]
) -> None:
    """By KIP-848 a second one is refused while the first one lives, and has its place when its session is over."""
    cluster, topic = groups_cluster("4.4.0"), new_topic()
    with (
        Traffic(cluster.bootstrap_servers, topic, PARTITIONS),
        Members(cluster, tmp_path, f"g-{topic}", topic) as members,
    ):
        kind = Kind("consumer", "static-1")
        first = members.kwire(kind)
        members.wait_balanced()
        second = members.kwire(kind, default_api_timeout_ms=5_000)
        wait_until(lambda: bool(second.named("failed")), lambda: second.story)
        assert "UnreleasedInstanceIdError" in second.named("failed")[0]["error"]
        assert len(first.owned) == PARTITIONS
        third = members.kwire(kind)
        first.kill()
        wait_until(lambda: len(third.owned) == PARTITIONS, lambda: third.story)
