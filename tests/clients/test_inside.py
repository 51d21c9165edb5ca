"""What the shell and Spark look at inside a client."""

from __future__ import annotations

import uuid

from kwire import Admin, Consumer, Producer, TopicPartition, _inside
from kwire.testing import Broker


def test_the_id_of_a_topic_is_known_once_the_client_has_met_it() -> None:
    with (
        Broker(topics={"t": 1}) as broker,
        Consumer(broker.bootstrap_servers) as consumer,
        Admin(broker.bootstrap_servers) as admin,
    ):
        assert _inside.topic_id(consumer, "t") == uuid.UUID(int=0)
        consumer.assign([("t", 0)])
        assert consumer.position(("t", 0)) == 0
        assert _inside.topic_id(consumer, "t") == admin.describe_topics(["t"])["t"].topic_id != uuid.UUID(int=0)


def test_the_versions_that_a_broker_offers_are_known_once_it_was_connected_to() -> None:
    with Broker(release="2.8.2") as broker, Admin(broker.bootstrap_servers) as admin:
        assert _inside.offered_versions(admin, 1) is None
        [number] = admin.describe_cluster().brokers
        admin.describe_features(broker=number)
        offered = _inside.offered_versions(admin, number)
        assert offered is not None
        assert offered.ranges[18] == (0, 3)


def test_the_progress_of_a_group_is_what_it_has_committed_and_where_the_log_ends() -> None:
    with Broker(topics={"t": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        with Producer(broker.bootstrap_servers) as producer:
            producer.send_many("t", [b"a", b"b", b"c"])
        admin.alter_consumer_group_offsets("g", {("t", 0): 2})
        [(tp, row)] = _inside.progress(admin, "g").items()
        assert (tp, row.committed and row.committed.offset, row.end) == (TopicPartition("t", 0), 2, 3)
