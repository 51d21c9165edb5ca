"""Every other release of the matrix lets kwire in by TLS and by each of its mechanisms."""

from collections.abc import Callable

import pytest

from tests.brokers import RELEASES
from tests.brokers.kdc import Kdc
from tests.brokers.keys import Keys
from tests.brokers.secure_cluster import SecureCluster
from tests.brokers.security.logins import settings_for
from tests.brokers.security.work import exchange

_ELSEWHERE = {"4.4.0", "3.9.2", "1.1.1", "0.10.2.2", "0.9.0.1"}
_FIRST_WITH_TLS = (0, 9)

# 2.8.2's preview of KRaft and 3.0 to 3.4's KRaft have no SCRAM; the matrix has these releases with ZooKeeper.
_OTHERS = [
    release.name
    for release in RELEASES
    if release.name not in _ELSEWHERE and release.number >= _FIRST_WITH_TLS and release.name != "2.8.2-kraft"
]


@pytest.mark.kafka
@pytest.mark.kafka_all
@pytest.mark.parametrize("release", _OTHERS)
def test_records_go_out_and_come_in(keys: Keys, realm: Kdc | None, new_topic: Callable[[], str], release: str) -> None:
    with SecureCluster(release, keys, realm) as cluster:
        listeners = cluster.listeners
        exchange(listeners["SSL"].address, settings_for(listeners["SSL"], None, keys), new_topic())
        for mechanism in listeners.mechanisms:
            for name in ("SASL_PLAINTEXT", "SASL_SSL"):
                exchange(listeners[name].address, settings_for(listeners[name], mechanism, keys), new_topic())
