"""A real broker is stopped (SIGSTOP) and killed (SIGKILL) for longer than deliveries may take: nothing hangs.

One producer lives through all of it. Every delivery resolves by its deadline; what was acknowledged is in the log once,
in order, and what failed at most once.
"""

import time
from collections import Counter
from collections.abc import Callable

import pytest

import kwire
from kwire import errors
from kwire.producer import Delivery
from tests.brokers import Cluster

pytestmark = pytest.mark.wall_clock

_DELIVERY_TIMEOUT_S = 2.0
_MAX_BLOCK_S = 0.5
_RESOLVED_WITHIN_S = _DELIVERY_TIMEOUT_S + 10.0
"""A busy machine included."""
_BACK_WITHIN_S = 90.0
_BUFFER = 200_000


class Sender:
    """Sends numbered records, and keeps what became of each."""

    def __init__(self, producer: kwire.Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self.deliveries: list[Delivery] = []

    def send(self) -> Delivery:
        """The next record."""
        value = b"%d" % len(self.deliveries) + b" " * 200
        self.deliveries.append(self._producer.send(self._topic, value))
        return self.deliveries[-1]

    def send_until_full(self) -> tuple[errors.KafkaTimeoutError, float]:
        """Sends until a record finds no room: the error, and how long that took."""
        while True:
            begun = time.monotonic()
            try:
                self.send()
            except errors.KafkaTimeoutError as error:
                return error, time.monotonic() - begun

    def send_until_acknowledged(self, count: int) -> None:
        """Sends until the broker is back and has taken so many; a few at a time, as each may be too late."""
        give_up = time.monotonic() + _BACK_WITHIN_S
        while count > 0:
            sent = [self.send() for _ in range(min(count, 50))]
            failures = [delivery.exception(_RESOLVED_WITHIN_S) for delivery in sent]
            count -= failures.count(None)
            assert time.monotonic() < give_up, failures


def _live_through(sender: Sender, where: str) -> None:
    """With the broker out of order: all fails in time, and says which broker it is."""
    begun = time.monotonic()
    first = len(sender.deliveries)
    error, waited = sender.send_until_full()
    assert waited <= _MAX_BLOCK_S + 10.0
    assert f"buffer_memory={_BUFFER}" in str(error)
    assert where in str(error)
    for delivery in sender.deliveries[first:]:
        failure = delivery.exception(_RESOLVED_WITHIN_S)
        assert isinstance(failure, errors.KafkaTimeoutError)
        assert where in str(failure)
    assert time.monotonic() - begun <= _RESOLVED_WITHIN_S + waited


@pytest.mark.kafka
@pytest.mark.timeout(300)
def test_a_producer_lives_through_a_broker_that_is_stopped_and_killed(new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    with Cluster("4.4.0") as cluster:
        where = cluster.bootstrap_servers
        with kwire.Producer(
            where,
            delivery_timeout_ms=round(_DELIVERY_TIMEOUT_S * 1000),
            max_block_ms=round(_MAX_BLOCK_S * 1000),
            request_timeout_ms=1000,
            buffer_memory=_BUFFER,
        ) as producer:
            sender = Sender(producer, topic)
            sender.send_until_acknowledged(100)
            cluster.broker().pause()
            try:
                _live_through(sender, where)
            finally:
                cluster.broker().resume()
            sender.send_until_acknowledged(100)
            cluster.kill_node(1)
            _live_through(sender, where)
            cluster.start_node(1)
            sender.send_until_acknowledged(100)
            producer.flush()
        _check_the_log(cluster, topic, sender.deliveries)


def _check_the_log(cluster: Cluster, topic: str, deliveries: list[Delivery]) -> None:
    with kwire.Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        place = kwire.TopicPartition(topic, 0)
        consumer.assign([place], until=consumer.end_offsets([place]))
        log = []
        while not consumer.done():
            log += [int(value) for value in consumer.poll(timeout=_BACK_WITHIN_S).values()]
    assert max(Counter(log).values()) == 1
    acknowledged = [number for number, delivery in enumerate(deliveries) if delivery.exception(0) is None]
    assert len(acknowledged) >= 300
    assert [log[deliveries[number].result(0).offset] for number in acknowledged] == acknowledged
    assert [number for number in log if number in set(acknowledged)] == acknowledged
