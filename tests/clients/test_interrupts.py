"""An interrupt at every moment within the calls of the clients: nothing lost, nothing doubled, the next call works."""

from __future__ import annotations

import os

from kwire import Consumer, TopicPartition
from kwire.testing import Broker
from tests.clients.test_consumer import Writer
from tests.interrupts import Cut, Interruptions

THOROUGH = os.environ.get("KWIRE_THOROUGH") == "1"
T0 = TopicPartition("t", 0)


def test_a_poll_cut_anywhere_gives_each_record_once() -> None:
    stride = 1 if THOROUGH else 11
    expected = [b"%d" % number for number in range(300 if THOROUGH else 75)]
    got: list[bytes | None] = []
    places: set[str] = set()
    at, rounds = 1, 0
    with Broker(topics={"t": 1}) as broker:
        writer = Writer(broker.bootstrap_servers)
        for number in range(len(expected) // 25):
            writer.append("t", 0, expected[number * 25 : number * 25 + 25])
        writer.reactor.close()
        with Consumer(
            broker.bootstrap_servers, auto_offset_reset="earliest", max_partition_fetch_bytes=1,
            reconnect_backoff_ms=0, reconnect_backoff_max_ms=0, retry_backoff_ms=1,
        ) as consumer:  # fmt: skip
            consumer.assign([T0])
            while len(got) < len(expected):
                handed = None
                interruption = Interruptions(at)
                try:
                    with interruption:
                        handed = consumer.poll(timeout=30, max_records=20)
                except Cut:
                    places.add(interruption.place)
                if handed is not None:
                    got += handed.values()
                if interruption.happened:
                    at += stride
                else:
                    rounds += 1
                    at = 1 + rounds % stride
                assert got == expected[: len(got)], interruption.place
    assert len(places) > 100
