"""The lag that Admin tells while offsets are in an open transaction, on Apache Kafka."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition
from tests.brokers import Cluster

ROUNDS = 8


@pytest.mark.kafka
@pytest.mark.timeout(180)
@pytest.mark.parametrize("has_member", [True, False])
def test_offsets_of_open_transactions_are_waited_for(
    has_member: bool, groups_cluster: Callable[[str], Cluster]
) -> None:
    """Right after the commit, whose markers may be under way; and, once, begun before the commit."""
    servers = groups_cluster("4.4.0").bootstrap_servers
    with Admin(servers) as admin, ThreadPoolExecutor(1) as pool:
        for turn in range(ROUNDS):
            topic = f"lag-{uuid4().hex}"
            admin.create_topics({topic: 2})
            with (
                Producer(servers, transactional_id=topic) as producer,
                Consumer(servers, group_id=topic, auto_offset_reset="earliest", enable_auto_commit=False) as member,
            ):
                producer.init_transactions()
                with producer.transaction():
                    for number in range(10):
                        producer.send(topic, b"%d" % number, partition=0)
                member.subscribe([topic])
                while not member.poll(1.0):
                    pass
                producer.begin_transaction()
                producer.send_offsets_to_transaction({(topic, 0): 4}, member.group_metadata())
                if not has_member:
                    member.close()
                if turn == 0:
                    asked = pool.submit(admin.lag, topic, timeout=60)
                    with pytest.raises(TimeoutError):
                        asked.result(2.0)
                    producer.commit_transaction()
                    lags = asked.result(60)
                else:
                    producer.commit_transaction()
                    lags = admin.lag(topic)
                end = admin.list_offsets({(topic, 0): "latest"})[TopicPartition(topic, 0)]
                assert end is not None
                assert lags[TopicPartition(topic, 0)] == end.offset - 4
