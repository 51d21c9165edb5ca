"""Groups of kwire's and Java's members: balanced as Java alone would, whoever leads; nothing is lost by kills."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kwire.engine.groups.assignors.blobs import decode_assignment
from tests.brokers import Cluster
from tests.brokers.groups.described import computed, describe_classic, describe_new
from tests.brokers.groups.ledger import assert_nothing_lost
from tests.brokers.groups.members import PARTITIONS, Kind, Members, wait_until
from tests.brokers.groups.traffic import Traffic
from tests.oracle.assignors import JavaAssignors
from tests.oracle.assignors import Member as Row
from tests.thorough import SOAK, THOROUGH

pytestmark = pytest.mark.wall_clock

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
OF_OLD_JAVA = ("range", "roundrobin")


def cases() -> list[tuple[str, str, str]]:
    """Release, assignor or "consumer", and who leads or comes first."""
    found = [("4.4.0", "cooperative-sticky", "kwire"), ("4.4.0", "consumer", "java")]
    if THOROUGH or SOAK:
        found += [("0.9.0.1", "range", "java")]
    if SOAK:
        found += [
            (release, assignor, first)
            for release in ("4.4.0", "3.9.2", "2.8.2", "0.10.2.2", "0.9.0.1")
            for assignor in (*(ASSIGNORS if release >= "2" else OF_OLD_JAVA), *(["consumer"] if release >= "4" else []))
            for first in ("kwire", "java")
        ]
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAssignors]:
    with JavaAssignors() as started:
        yield started


@pytest.mark.kafka
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("release", "how", "first"), cases())
def test_a_mixed_group(
    release: str, how: str, first: str, groups_cluster: Callable[[str], Cluster], java: JavaAssignors, tmp_path: Path,
    new_topic: Callable[[], str],
) -> None:  # fmt: skip
    cluster, topic, kind = groups_cluster(release), new_topic(), Kind(how)
    with (
        Traffic(cluster.bootstrap_servers, topic, PARTITIONS) as traffic,
        Members(cluster, tmp_path, f"g-{topic}", topic) as members,
    ):
        start = {"kwire": members.kwire, "java": members.java}
        other = "java" if first == "kwire" else "kwire"
        start[first](kind)
        members.wait_balanced()
        dying = start[other](kind)
        start[first](kind)
        _check_balance(members, kind, java, 3)
        dying.kill()
        _check_balance(members, kind, java, 2)
        members.aio(kind)
        _check_balance(members, kind, java, 3)
        assert_nothing_lost(cluster, topic, traffic, members)
        assert not [event for member in members.all for event in member.named("failed")]


@pytest.mark.kafka
@pytest.mark.skipif(not SOAK, reason="needs three more releases")
@pytest.mark.parametrize("release", ["3.9.2", "2.8.2", "0.9.0.1"])
def test_a_broker_without_the_new_protocol_is_named(
    release: str, groups_cluster: Callable[[str], Cluster], tmp_path: Path, new_topic: Callable[[], str]
) -> None:
    cluster, topic = groups_cluster(release), new_topic()
    with Members(cluster, tmp_path, f"g-{topic}", topic) as members:
        member = members.kwire(Kind("consumer"))
        wait_until(lambda: bool(member.named("failed")), lambda: member.story)
        assert "group_protocol='classic'" in member.named("failed")[0]["error"]


def _check_balance(members: Members, kind: Kind, java: JavaAssignors, count: int) -> None:
    """The members have what the broker says, which is what Java's assignor makes of their metadata."""
    owned = _with_count(members, count)
    if not kind.is_classic:
        assert describe_new(members.cluster, members.group) == owned
        return
    found = describe_classic(members.cluster, members.group)
    assert (found.state, found.assignor, len(found.members)) == ("Stable", kind.assignor, count)
    assert {row.client_id: row.partitions for row in found.members} == owned
    assigned = _lists({row.member_id: row.assignment for row in found.members})
    assert _lists(computed(found, members.topic, PARTITIONS)) == assigned
    rows = [Row(row.member_id, row.instance_id, row.metadata) for row in found.members]
    assert _lists(java.assign(found.assignor, {members.topic: [[None]] * PARTITIONS}, rows)) == assigned


def _lists(assignments: Mapping[str, bytes]) -> dict[str, list[tuple[str, int]]]:
    """Without the version, which older releases of Java write as 0."""
    return {member: list(decode_assignment(data).partitions) for member, data in assignments.items()}


def _with_count(members: Members, count: int) -> dict[str, set[tuple[str, int]]]:
    owned = members.wait_balanced()
    assert sorted(map(len, owned.values())) == [PARTITIONS // count] * count
    return dict(owned)
