"""Order events as a shop would write them, and the totals that every reader of them must find."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

PARTITIONS = 12
CHUNK = 20_000

_COUNTRIES = ["DE", "FR", "IT", "JP", "KE", "PE", "PT", "SE", "US", "VN"]
_WEIGHTS = [9, 8, 7, 9, 3, 2, 2, 3, 14, 5]
_PRODUCTS = [("tea", 450), ("coffee", 799), ("cocoa", 620), ("sugar", 180), ("honey", 1150), ("pepper", 340)]
_CUSTOMERS = 50_000
_EACH_WITH_HEADERS = 10

Item = tuple[bytes, bytes, int, list[tuple[str, bytes | None]]]


@dataclass
class Totals:
    """What was written, counted while it was made."""

    records: int = 0
    bytes: int = 0
    with_headers: int = 0
    first_timestamp: int = 0
    last_timestamp: int = 0
    orders: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    cents: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def make_orders(count: int, totals: Totals, seed: int = 20) -> Iterator[list[Item]]:
    """Chunks of orders (value, key, timestamp, headers); `totals` has counted a chunk when it is given out."""
    rng = random.Random(seed)
    # One order each millisecond, the last of them now: Kafka deletes what is older than its retention.
    totals.first_timestamp = int(time.time() * 1000) - count
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        countries = rng.choices(_COUNTRIES, _WEIGHTS, k=size)
        products = rng.choices(_PRODUCTS, k=size)
        chunk = [
            _order(start + index, country, product, totals, rng)
            for index, (country, product) in enumerate(zip(countries, products, strict=True))
        ]
        yield chunk


def _order(number: int, country: str, product: tuple[str, int], totals: Totals, rng: random.Random) -> Item:
    name, price = product
    quantity = 1 + int(rng.random() * 4)
    customer = int(rng.random() * _CUSTOMERS)
    cents = price * quantity
    value = b'{"order":%d,"customer":%d,"country":"%s","product":"%s","quantity":%d,"cents":%d,"currency":"EUR"}' % (
        number,
        customer,
        country.encode(),
        name.encode(),
        quantity,
        cents,
    )
    headers: list[tuple[str, bytes | None]] = []
    if number % _EACH_WITH_HEADERS == 0:
        headers = [("campaign", b"spring"), ("trace", b"%016x" % number)]
        totals.with_headers += 1
    timestamp = totals.first_timestamp + number
    totals.records += 1
    totals.bytes += len(value)
    totals.last_timestamp = timestamp
    totals.orders[country] += 1
    totals.cents[country] += cents
    return value, b"customer-%d" % customer, timestamp, headers
