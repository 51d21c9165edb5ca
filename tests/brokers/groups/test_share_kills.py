"""A share group whose members and brokers are killed again and again: no record is lost, none is accepted twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import kwire
from tests.brokers import Cluster
from tests.brokers.groups.members import wait_until
from tests.brokers.groups.share_members import PARTITIONS, QUICK, begin_at_first, write
from tests.brokers.groups.share_team import ShareTeam
from tests.thorough import SOAK

MEMBERS = 3
KILLS = 50 if SOAK else 8
RECORDS = 2_000
"""Between two kills."""
WITHIN_S = 90.0

pytestmark = [pytest.mark.kafka, pytest.mark.wall_clock, *([] if SOAK else [pytest.mark.kafka_all])]


@pytest.mark.timeout(300 + KILLS * 20)
def test_no_record_is_lost_or_accepted_twice_under_kills(new_topic: Callable[[], str], tmp_path: Path) -> None:
    topic, count = new_topic(), 0
    with Cluster("4.4.0", nodes=3, overrides={**QUICK, "min.insync.replicas": "2"}) as cluster:
        with kwire.Admin(cluster.bootstrap_servers) as admin:
            admin.create_topics({topic: {"num_partitions": PARTITIONS, "replication_factor": 3}})
        begin_at_first(cluster, f"g-{topic}")
        with closing(ShareTeam(cluster, topic, tmp_path, MEMBERS)) as team:
            for kill in range(KILLS):
                write(cluster, topic, RECORDS)
                wait_for(team, count + RECORDS // 4)
                count += RECORDS
                if kill % 4 == 3:
                    bounce(cluster, cluster.node_ids[kill // 4 % 3])
                else:
                    team.kill(kill % MEMBERS)
            wait_for(team, count)
            twice = [place for place, times in team.accepted.items() if times > 1]
    print(f"{count} records, {KILLS} kills: {len(team.unknown)} unknown, {len(team.refused)} refused once")
    assert twice == []


def wait_for(team: ShareTeam, count: int) -> None:
    """Until so many records were accepted, or worked on by a member that died before it was told so."""

    def are_done() -> bool:
        team.gather()
        return len(team.accepted) + len(team.unknown) >= count

    wait_until(are_done, lambda: f"{len(team.accepted)} and {len(team.unknown)} of {count}", within=WITHIN_S)


def bounce(cluster: Cluster, node: int) -> None:
    """Kills a broker and starts it again."""
    cluster.kill_node(node)
    time.sleep(2)
    cluster.start_node(node)
