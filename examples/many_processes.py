"""Writes and decodes a topic by several processes of `multiprocessing`, whichever way it starts them.

    python -m examples.many_processes
    python -m examples.many_processes --method spawn --processes 4

A client belongs to the process that made it. The writers make a producer each when their process begins, and every task
of that process uses it; a reader makes a consumer for the one partition that it is given. What goes between processes
is arguments and results: numbers, names, totals. (A client can be an argument, too: it pickles as its settings.)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.context import BaseContext

from kwire import Admin, Consumer, Producer, errors

KAFKA = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092")
CUSTOMERS = 10
_PER_TASK = 10_000

producer: Producer


def open_producer(servers: str) -> None:
    """Runs once in each writer, at its start."""
    global producer
    producer = Producer(servers, compression="lz4", linger_ms=20)


def write(topic: str, numbers: range) -> int:
    """Returns how many orders Kafka has stored, and raises if any was not."""
    for number in numbers:
        order = {"customer": f"customer-{number % CUSTOMERS}", "cents": number % 1000}
        producer.send(topic, json.dumps(order).encode())
    producer.flush()
    return len(numbers)


def total(servers: str, topic: str, partition: int) -> Counter[str]:
    """What each customer owes, of all that is in one partition now."""
    totals: Counter[str] = Counter()
    with Consumer(servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, partition)], until=consumer.end_offsets([(topic, partition)]))
        while not consumer.done():
            for value in consumer.poll().values():
                order = json.loads(value or b"")
                totals[order["customer"]] += order["cents"]
    return totals


def write_all(servers: str, topic: str, orders: int, processes: int, method: BaseContext) -> int:
    chunks = [range(first, min(first + _PER_TASK, orders)) for first in range(0, orders, _PER_TASK)]
    with ProcessPoolExecutor(processes, method, open_producer, (servers,)) as writers:
        return sum(writers.map(partial(write, topic), chunks))


def total_all(servers: str, topic: str, partitions: int, processes: int, method: BaseContext) -> Counter[str]:
    with ProcessPoolExecutor(processes, method) as readers:
        return sum(readers.map(partial(total, servers, topic), range(partitions)), Counter())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=multiprocessing.get_all_start_methods(), help="how processes start")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--orders", type=int, default=100_000, metavar="N")
    parser.add_argument("--topic", default="orders-of-many")
    parser.add_argument("--partitions", type=int, default=6, metavar="N")
    options = parser.parse_args()
    method = multiprocessing.get_context(options.method)
    with Admin(KAFKA) as admin, contextlib.suppress(errors.broker.TopicAlreadyExistsError):
        admin.create_topics({options.topic: options.partitions})
    written = write_all(KAFKA, options.topic, options.orders, options.processes, method)
    totals = total_all(KAFKA, options.topic, options.partitions, options.processes, method)
    print(f"{written:,} orders written; of all in {options.topic!r} owe")
    for customer, cents in sorted(totals.items()):
        print(f"{customer}: {cents / 100:,.2f}")


if __name__ == "__main__":
    main()
