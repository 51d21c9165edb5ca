"""A shop that writes its orders to Kafka as JSON.

    python -m examples.spark.shop --servers localhost:9092 --orders 100000 --rate 20000

An order's time is made up: twenty orders for each second of the shop's day, however fast they are written. The last
record is no order. It says that the shop is closed, two hours after the last one, so that every window of the day ends;
its own never does.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from kwire import Admin, Producer, errors

TOPIC, PARTITIONS = "shop-orders", 4
OPENS = datetime(2026, 3, 2, 9, tzinfo=UTC)
ORDERS_PER_S = 20
WINDOW = timedelta(minutes=1)
CLOSED = "closed"
_COUNTRIES = ("DE", "FR", "JP", "KE", "PT", "US")
_CLOSED_FOR = timedelta(hours=2)
_CHUNK = 500
_WITHIN_S = 60.0


class Order(NamedTuple):
    """One order: its number, its time, and what it is worth."""

    number: int
    at: datetime
    country: str
    cents: int

    def as_json(self) -> bytes:
        """`{"order":7,"at":"2026-03-02T09:00:00.350000+00:00","country":"JP","cents":799}`"""
        return b'{"order":%d,"at":"%s","country":"%s","cents":%d}' % (
            self.number,
            self.at.isoformat(timespec="microseconds").encode(),
            self.country.encode(),
            self.cents,
        )


def orders(count: int, seed: int = 7) -> Iterator[Order]:
    """The orders of a day; the same ones each time."""
    rng = random.Random(seed)
    for number in range(count):
        at = OPENS + timedelta(seconds=number / ORDERS_PER_S)
        yield Order(number, at, rng.choice(_COUNTRIES), rng.randrange(100, 5000))


def revenue(count: int) -> dict[tuple[str, str], tuple[int, int]]:
    """What every reader must find: (start of the window, country) -> (orders, cents)."""
    number: Counter[tuple[str, str]] = Counter()
    cents: Counter[tuple[str, str]] = Counter()
    for order in orders(count):
        start = OPENS + (order.at - OPENS) // WINDOW * WINDOW
        place = start.strftime("%H:%M"), order.country
        number[place] += 1
        cents[place] += order.cents
    return {place: (number[place], cents[place]) for place in number}


def write(servers: str, count: int, rate: int) -> None:
    """Writes so many orders, about `rate` in a second, then the record that closes the shop."""
    with Admin(servers) as admin:
        try:
            admin.create_topics({TOPIC: PARTITIONS})
        except errors.broker.TopicAlreadyExistsError:
            pass
    began = time.monotonic()
    with Producer(servers, compression="lz4") as producer:
        for chunk in _chunks(orders(count)):
            # By turns, so that the times of the partitions go on side by side and no order is late.
            for partition in range(PARTITIONS):
                values = [order.as_json() for order in chunk[partition::PARTITIONS]]
                producer.send_many(TOPIC, values, partition=partition)
            time.sleep(max(began + chunk[-1].number / rate - time.monotonic(), 0))
        producer.flush(timeout=_WITHIN_S)
        closed = Order(count, OPENS + timedelta(seconds=count / ORDERS_PER_S) + _CLOSED_FOR, CLOSED, 0)
        producer.send(TOPIC, closed.as_json())
        producer.flush(timeout=_WITHIN_S)


def _chunks(items: Iterator[Order]) -> Iterator[list[Order]]:
    while chunk := list(islice(items, _CHUNK)):
        yield chunk


def main() -> None:
    parser = argparse.ArgumentParser(description=f"Writes orders to the topic '{TOPIC}', as JSON.")
    parser.add_argument("--servers", default="localhost:9092", help="bootstrap servers (default: %(default)s)")
    parser.add_argument("--orders", type=int, default=100_000, help="how many (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=20_000, help="how many a second (default: %(default)s)")
    arguments = parser.parse_args()
    write(arguments.servers, arguments.orders, arguments.rate)
    print(f"{arguments.orders:,} orders written to '{TOPIC}'")


if __name__ == "__main__":
    main()
