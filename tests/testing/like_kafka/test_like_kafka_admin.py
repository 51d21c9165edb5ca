"""The same questions about topics, configs and the cluster to real Kafka and the embedded broker of the same release.

What the embedded broker does not copy stands in `KNOWN`: with ZooKeeper (here to 3.2) configs are checked in another
order and with other codes, and up to 1.1 an epoch in which nothing was written has no end. Log directories have paths.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from kwire import protocol
from kwire.protocol import DescribeConfigsRequest
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.testing.like_kafka import admin_questions
from tests.testing.like_kafka.test_like_kafka import answer, asked, asker, wait_for_topic

SHIPPED = 5
NOT_LEADER = "'error_code': 6"
KNOWN: dict[str, Callable[[tuple[int, ...]], bool]] = {
    "configs of 2": lambda number: number < (3, 3),
    "a value": lambda number: number < (3, 3),
    "quotas of [('user', 7": lambda number: number < (3, 3),
    "the log directories": lambda number: True,
    "the end of epoch 0": lambda number: number < (2,),
    "the quorum": lambda number: number < (3, 3),
}


def is_known(question: str, number: tuple[int, ...]) -> bool:
    return any(question.startswith(name) and holds(number) for name, holds in KNOWN.items())


def in_order(value: Any) -> Any:
    """Lists in an order of their own: of some answers it is that of a hash table."""
    if isinstance(value, dict):
        return {key: in_order(item) for key, item in value.items()}
    return sorted(map(in_order, value), key=str) if isinstance(value, list) else value


def test_the_answers_are_those_of_kafka(kafka: Cluster, new_topic: Callable[[], str]) -> None:
    if kafka.release.name in ("2.8.2-kraft", "3.9.2-zookeeper"):
        pytest.skip("the embedded broker is of the other kind")
    release = kafka.release.version
    spans = {key: span for key, span in protocol.versions_of(release).items() if key in protocol.APIS}
    topic, different, count = new_topic(), [], 0
    with Broker(release=release) as broker:
        broker.create_topic(topic)
        servers = kafka.bootstrap_servers, broker.bootstrap_servers
        for each in servers:
            wait_for_topic(asker(each), topic, min(spans[3][1], 10))
        for name, request, version in admin_questions.questions(topic, spans):
            if is_known(name, kafka.release.number):
                continue
            count += 1
            expected, found = (in_order(answer(each, asked(name, request, version))) for each in servers)
            if expected != found and NOT_LEADER in str(expected):
                time.sleep(0.5)
                expected = in_order(answer(servers[0], asked(name, request, version)))
            if expected != found:
                different.append(f"{name}, version {version}:\n  Kafka {expected}\n  kwire {found}")
    assert not different, f"{len(different)} of {count} answers differ\n" + "\n".join(different)


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
@pytest.mark.kafka
def test_a_broker_has_the_same_configs(release: str, kafka_cluster: Callable[[str], Cluster]) -> None:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=admin_questions.BROKER, resource_name="1", configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    told = []
    with Broker(release=release) as broker:
        for servers in (kafka_cluster(release).bootstrap_servers, broker.bootstrap_servers):
            configs = asker(servers)(request, 4).results[0].configs
            told.append({each.name: (each.config_type, each.read_only, each.is_sensitive) for each in configs})
            told.append({(each.name, row.value) for each in configs for row in each.synonyms if row.source == SHIPPED})
    assert told[0] == told[2]
    assert told[1] == told[3]
