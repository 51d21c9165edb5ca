"""What the tests beside this test: orders become bills, in a service with threads and in one on asyncio."""

import json
from collections.abc import Iterable

from kwire import Consumer, Producer, aio


def bill(servers: str, limit: int) -> int:
    """Writes a bill for each of the next `limit` orders of the group; returns the cents of all."""
    total = 0
    with (
        Producer(servers, value_serializer="json") as producer,
        Consumer(servers, group_id="billing", auto_offset_reset="earliest", enable_auto_commit=False) as consumer,
    ):
        consumer.subscribe(["orders"])
        while limit:
            records = consumer.poll(timeout=1.0, max_records=limit)
            for record in records:
                order = json.loads(record.value or b"")
                producer.send("bills", {"order": order["number"], "cents": order["cents"]}, key=record.key)
                total += order["cents"]
            producer.flush()
            consumer.commit()
            limit -= len(records)
    return total


async def place(producer: aio.Producer, topic: str, orders: Iterable[dict[str, int]]) -> list[int]:
    """Sends orders as JSON; returns their offsets once all are stored."""
    deliveries = [producer.send(topic, json.dumps(order).encode()) for order in orders]
    return [(await delivery).offset for delivery in deliveries]
