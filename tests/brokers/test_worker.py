"""Workers on real Kafka: two share a topic, one stops, and what fails goes by a retry topic to the dead letters."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, Worker
from tests.brokers import Cluster

pytestmark = pytest.mark.wall_clock


@pytest.mark.kafka
def test_workers_share_a_topic_and_move_what_fails() -> None:
    with Cluster("4.4.0", overrides={"group.initial.rebalance.delay.ms": "0"}) as cluster:
        work(cluster.bootstrap_servers)


def work(servers: str) -> None:
    with Admin(servers) as admin:
        admin.create_topics({"orders": 4, "orders.retry": 1, "orders.dead": 1})
    with Producer(servers) as producer:
        producer.send_many("orders", [(b"%d" % number, b"key-%d" % number) for number in range(400)])
    handled: set[bytes] = set()

    def handle(record: Any) -> None:
        time.sleep(0.005)
        if record.value == b"13":
            raise ValueError("unlucky")
        handled.add(record.value)

    def worker() -> tuple[Worker, threading.Thread]:
        made = Worker(
            servers, "orders", group_id="g", handler=handle, order="key", retries=1, backoff=0.01,
            retry_topics={"orders.retry": 0.5}, dead_letter_topic="orders.dead", heartbeat_interval_ms=500,
        )  # fmt: skip
        thread = threading.Thread(target=made.run)
        thread.start()
        return made, thread

    one, other = worker(), worker()
    try:
        with Consumer(servers, auto_offset_reset="earliest") as dead:
            dead.assign([("orders.dead", 0)])
            give_up = time.monotonic() + 60
            found = list(dead.poll(1.0))
            while not found or len(handled) < 399:
                assert time.monotonic() < give_up
                found += dead.poll(1.0)
                one[0].stop()
    finally:
        for made, thread in (one, other):
            made.stop()
            thread.join(60)
    headers = dict(found[0].headers)
    assert [record.value for record in found] == [b"13"]
    assert (headers["kwire.attempt"], headers["kwire.error.message"]) == (b"4", b"unlucky")
    with Consumer(servers, group_id="g") as consumer:
        ends = consumer.end_offsets([("orders", number) for number in range(4)])
        committed = {tp: at.offset for tp, at in consumer.committed(ends).items() if at is not None}
    assert committed == {tp: end for tp, end in ends.items() if end}
