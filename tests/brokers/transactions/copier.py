"""Copies one topic to another, partition by partition, in transactions with the offsets of its group.

    python -m tests.brokers.transactions.copier '{"servers": "...", "source": "a", "target": "b", "name": "copier-0"}'

Runs until it is killed, or fenced. Writes a line for each transaction: committed, or why it was aborted.
"""

import json
import sys
from typing import Any

import kwire
from kwire.errors import ProducerFencedError, TransactionError

SIZE = 50
"""Records of a transaction."""


def copy(consumer: kwire.Consumer, producer: kwire.Producer, target: str) -> None:
    """One transaction of what one poll returns."""
    records = consumer.poll(timeout=0.5, max_records=SIZE)
    if not records:
        return
    try:
        with producer.transaction():
            for record in records:
                producer.send(target, record.value, partition=record.partition)
            producer.send_offsets_to_transaction(records, consumer.group_metadata())
    except ProducerFencedError:
        raise
    except TransactionError as error:
        if not error.abortable:
            raise
        print(f"aborted: {error}", flush=True)
        rewind(consumer, list(records.by_partition()))
    else:
        print(f"committed {len(records)}", flush=True)


def rewind(consumer: kwire.Consumer, partitions: list[kwire.TopicPartition]) -> None:
    """Reads again from where the group is."""
    mine = [tp for tp in partitions if tp in consumer.assignment()]
    for tp, where in consumer.committed(mine).items():
        consumer.seek(tp, "earliest" if where is None else where.offset)


def main(given: dict[str, Any]) -> int:
    """The copier that the argument describes."""
    consumer = kwire.Consumer(
        given["servers"],
        group_id="copiers",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        session_timeout_ms=3000,
        heartbeat_interval_ms=500,
        group_protocol=given.get("group_protocol", "classic"),
    )
    producer = kwire.Producer(
        given["servers"], transactional_id=given["name"], transaction_timeout_ms=10_000, linger_ms=0
    )
    consumer.subscribe([given["source"]])
    producer.init_transactions()
    try:
        while True:
            copy(consumer, producer, given["target"])
    except ProducerFencedError as error:
        print(f"fenced: {error}", flush=True)
        return 3


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
