"""Clients on the embedded broker, whose thread is spared: `python -m tests.allocations.client_works [NAME...]`.

A record whose `send` returned is in the log once, whatever failed; one whose `send` raised is there at most once. Each
record is polled once, in order.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from kwire import Consumer, Delivery, Producer
from kwire.errors import DeliveryError, LimitError
from kwire.testing import Broker
from tests.allocations.refusals import is_out_of_memory, refused, spare_foreign_libraries

TOPIC = "t"
WAIT = 8.0


def read_all(broker: Broker) -> list[bytes]:
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(TOPIC, 0)])
        end = consumer.end_offsets([(TOPIC, 0)])[TOPIC, 0]
        values: list[bytes] = []
        while consumer.position((TOPIC, 0)) < end:
            values += [record.value or b"" for record in consumer.poll(WAIT)]
        return values


def flush(producer: Producer) -> None:
    """A batch that there was no memory to compress or to send is told of here."""
    failures: Sequence[Exception] = ()
    try:
        producer.flush(WAIT)
    except DeliveryError as error:
        failures = error.exceptions
    assert all(map(is_out_of_memory, failures)), failures


class Log:
    """What was handed over, and what became of it."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.unsure: list[bytes] = []
        self.number = 0

    def fresh(self) -> bytes:
        self.number += 1
        return b"%06d" % self.number

    def note(self, values: list[bytes], deliveries: list[Delivery]) -> None:
        """These were handed over; without deliveries the call has raised. The result of each is known."""
        for value, delivery in zip_longest(values, deliveries):
            failure = delivery.exception(0) if delivery is not None else MemoryError()
            assert failure is None or is_out_of_memory(failure), failure
            (self.taken if failure is None else self.unsure).append(value)

    def check(self, found: list[bytes]) -> None:
        counts = Counter(found)
        assert not {value for value, count in counts.items() if count > 1}, "written twice"
        lost = [value for value in self.taken if value not in counts]
        assert not lost, f"lost: {lost[:10]} of {len(self.taken)}"
        assert set(counts) <= {*self.taken, *self.unsure}


def sending(step: int, **options: Any) -> int:
    log = Log()
    with Broker(topics={TOPIC: 1}) as broker, Producer(broker.bootstrap_servers, **options) as producer:
        producer.send(TOPIC, log.fresh())
        producer.flush(WAIT)
        log.taken.append(b"000001")
        n, came = 1, True
        while came:
            value = log.fresh()
            deliveries: list[Delivery] = []
            came, _ = refused(n, lambda v=value, to=deliveries: to.append(producer.send(TOPIC, v)))
            after = log.fresh()
            producer.send(TOPIC, after)
            log.taken.append(after)
            flush(producer)
            log.note([value], deliveries)
            n += step
        producer.flush(WAIT)
        log.check(read_all(broker))
    return n


def flushing(step: int, **options: Any) -> int:
    log = Log()
    with Broker(topics={TOPIC: 1}) as broker, Producer(broker.bootstrap_servers, **options) as producer:
        n, came = 1, True
        while came:
            values = [log.fresh() for _ in range(3)]
            deliveries = producer.send_many(TOPIC, values)
            came, error = refused(n, lambda: producer.flush(WAIT))
            if error is not None:
                flush(producer)
            log.note(values, deliveries)
            n += step
        log.check(read_all(broker))
    return n


def sending_many(step: int, columns: bool) -> int:
    log = Log()
    with Broker(topics={TOPIC: 1}) as broker, Producer(broker.bootstrap_servers, batch_size=200) as producer:
        producer.send_many(TOPIC, [log.fresh()])
        log.taken.append(b"000001")
        producer.flush(WAIT)
        pa.record_batch({"value": [b""]}).__arrow_c_array__()
        spare_foreign_libraries()
        n, came = 1, True
        while came:
            values = [log.fresh() for _ in range(20)]
            items = pa.record_batch({"value": values}) if columns else values
            deliveries: list[Delivery] = []
            came, _ = refused(n, lambda i=items, to=deliveries: to.extend(producer.send_many(TOPIC, i)))
            flush(producer)
            log.note(values, deliveries)
            n += step
        log.check(read_all(broker))
    return n


def polling(step: int) -> int:
    with Broker(topics={TOPIC: 1}) as broker, Producer(broker.bootstrap_servers) as producer:
        consumer = Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", max_poll_records=2)
        consumer.assign([(TOPIC, 0)])
        producer.send(TOPIC, b"0").result(WAIT)
        assert [record.offset for record in consumer.poll(WAIT)] == [0]
        expected, sent = 1, 1
        n, came = 1, True
        while came:
            sent += len(producer.send_many(TOPIC, [b"%d" % (sent + i) for i in range(3)]))
            producer.flush(WAIT)
            came, error, found = refused_poll(consumer, n)
            told = error is not None
            while expected < sent:
                for record in found:
                    assert (record.offset, record.value) == (expected, b"%d" % expected)
                    expected += 1
                if expected < sent:
                    told, found = poll_after(consumer, told)
            n += step
        consumer.close()
    return n


def refused_poll(consumer: Consumer, n: int) -> tuple[bool, str | None, Any]:
    found: list[Any] = [()]

    def poll() -> None:
        found[0] = consumer.poll(WAIT)  # no `append`, whose own allocation could be the one that fails

    came, error = refused(n, poll)
    return came, error, found[0]


def poll_after(consumer: Consumer, told: bool) -> tuple[bool, Any]:
    """A poll; what the driver had no memory for is told by it, unless the refused poll has told of it."""
    try:
        return told, consumer.poll(WAIT)
    except (MemoryError, LimitError) as error:
        if told or not is_out_of_memory(error):
            raise
        return True, ()


WORKS: dict[str, Callable[[int], int]] = {
    "send": lambda step: sending(step, linger_ms=0),
    "send-lingering": lambda step: sending(step, linger_ms=5),
    "send-full-batches": lambda step: sending(step, linger_ms=1000, batch_size=150),
    "flush": lambda step: flushing(step, linger_ms=1000),
    "send-many": lambda step: sending_many(step, False),
    "send-columns": lambda step: sending_many(step, True),
    "poll": polling,
}

if __name__ == "__main__":
    for name in sys.argv[2:] or WORKS:
        print(name, end=" ", flush=True)
        print(WORKS[name](int(sys.argv[1])), flush=True)
