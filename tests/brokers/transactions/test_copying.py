"""Consume, transform, produce: copiers and brokers are killed, and each record is copied once and in order."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.brokers import Cluster
from tests.brokers.transactions.copying import PARTITIONS, QUICK, copy_under_kills
from tests.thorough import SOAK

pytestmark = pytest.mark.wall_clock

LONG = ("4.4.0", "3.9.2", "2.8.2") if SOAK else ()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("release", "count", "kills"),
    [
        pytest.param("4.4.0", 6_000, 4, id="4.4.0", marks=pytest.mark.kafka),
        pytest.param("3.9.2", 6_000, 4, id="3.9.2", marks=[pytest.mark.kafka, pytest.mark.kafka_all]),
        pytest.param("2.8.2", 6_000, 4, id="2.8.2", marks=[pytest.mark.kafka, pytest.mark.kafka_all]),
        *(pytest.param(release, 100_000, 100, id=f"{release}-long", marks=pytest.mark.kafka) for release in LONG),
    ],
)
def test_each_record_is_copied_once(
    release: str, count: int, kills: int, new_topic: Callable[[], str], tmp_path: Path
) -> None:
    log = tmp_path / "copiers.log"
    with Cluster(release, nodes=3, overrides=QUICK) as cluster:
        seen, copiers = copy_under_kills(cluster, new_topic(), count, kills, log, brokers_too=True)
    assert seen == [list(range(partition, count, PARTITIONS)) for partition in range(PARTITIONS)], log.read_text()[
        -3000:
    ]
    assert copiers.starts > 3
    assert copiers.kills >= kills * 3 // 4
