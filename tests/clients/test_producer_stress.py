"""Threads that send to topics which appear, expire and vanish, and one that drives: none sees what another half did."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from kwire import Producer, testing
from kwire.errors import KafkaError
from tests.clients.crew import Crew, short_switch_interval
from tests.timing import PATIENT


@pytest.fixture(autouse=True)
def turns_are_short() -> Iterator[None]:
    with short_switch_interval():
        yield


def test_topics_appear_and_vanish_while_others_are_sent_to(caplog: pytest.LogCaptureFixture) -> None:
    values: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    with testing.Broker(topics={"fixed": 3}) as broker:
        with Producer(
            broker.bootstrap_servers, enable_idempotence=False, linger_ms=0, max_block_ms=200, retries=0
        ) as producer:

            def steady(number: int, turn: int) -> None:
                value = b"%d" % turn
                producer.send("fixed", value, partition=number).result(PATIENT)  # may fail: max_block_ms is short
                values[number].append(value)

            def restless(number: int, turn: int) -> None:
                producer.send(f"t-{number}-{turn % 50}", b"v", partition=turn % 3)
                time.sleep(0.001)

            def delete(number: int, turn: int) -> None:
                broker.delete_topic(f"t-{turn % 3}-{turn % 50}")
                time.sleep(0.002)

            crew = Crew(2.5)
            crew.add(steady, 3)
            crew.add(restless, 3)
            crew.add(delete, 1)
            with caplog.at_level(logging.ERROR, "kwire"):
                crew.run()
                try:
                    producer.flush(PATIENT)
                except KafkaError:
                    pass
        assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text
        for number, sent in values.items():
            assert broker.values("fixed", partition=number) == sent


def test_batches_of_many_partitions_expire_while_threads_send(caplog: pytest.LogCaptureFixture) -> None:
    with testing.Broker(topics={"wide": 300}) as broker:
        producer = Producer(
            broker.bootstrap_servers, linger_ms=0, request_timeout_ms=100, delivery_timeout_ms=150, max_block_ms=150
        )
        while producer.send("wide", b"v").exception(PATIENT) is not None:
            pass  # within 150 ms it may not get through at once
        broker.stop()

        def send(number: int, turn: int) -> None:
            producer.send("wide", b"v", partition=turn % 300)

        crew = Crew(1.5)
        crew.add(send, 3)
        with caplog.at_level(logging.ERROR, "kwire"):
            crew.run()
            with pytest.raises(KafkaError):
                producer.close(5)
        assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text
