"""What the Spark comparison receives of a topic without a client: all of it, up to the last record."""

from __future__ import annotations

import pytest
from benchmarks.spark.received import rows_received

from kwire import Producer
from kwire.testing import Broker


def test_each_record_of_each_partition_comes() -> None:
    with Broker(topics={"read": 3}) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            for number in range(30):
                producer.send_many("read", [b"v" * 1000] * 100, partition=number % 2)
                producer.flush()
        answers = list(rows_received(broker.bootstrap_servers, "read", range(3)))
        assert sum(answers) == 3000
        assert len([rows for rows in answers if rows]) > 2, "each partition has more than an answer holds"


def test_what_a_broker_refuses_is_an_error() -> None:
    with Broker(topics={"read": 1}) as broker, pytest.raises(OSError, match="read-1, offset 0: error 3"):
        list(rows_received(broker.bootstrap_servers, "read", [1]))
