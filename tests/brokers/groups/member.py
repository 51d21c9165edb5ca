"""One member of a group by kwire, with the events of Java's VerifiableConsumer: a JSON object a line.

    python -m tests.brokers.groups.member '{"topics": ["t"], "settings": {"bootstrap_servers": "...", "group_id": "g"}}'

Reads and commits after each poll, with "aio" by the consumer of asyncio; SIGTERM ends it in order.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import kwire
import kwire.aio
from kwire import TopicPartition
from kwire.consumer import ConsumerRecords

POLL_S = 1.0


def say(name: str, **event: object) -> None:
    """Writes an event."""
    print(json.dumps({"timestamp": time.time_ns() // 1_000_000, "name": name, **event}), flush=True)


class Listener:
    """Says what the group assigns and takes away."""

    def on_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        say("partitions_assigned", partitions=_rows(partitions))

    def on_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        say("partitions_revoked", partitions=_rows(partitions))

    def on_lost(self, partitions: Sequence[TopicPartition]) -> None:
        say("partitions_revoked", partitions=_rows(partitions), lost=True)


def consume(consumer: kwire.Consumer, ended: list[int]) -> None:
    """Polls and commits until it is told to end."""
    while not ended:
        records = consumer.poll(POLL_S)
        if records:
            say("records_consumed", count=len(records), partitions=_read(records))
            with saying_commits():
                consumer.commit(records)


@contextmanager
def saying_commits() -> Iterator[None]:
    """Says whether the commit inside was accepted."""
    try:
        yield
    except kwire.KafkaError as error:
        say("offsets_committed", success=False, error=f"{type(error).__name__}: {error}")
    else:
        say("offsets_committed", success=True)


def _rows(partitions: Sequence[TopicPartition]) -> list[dict[str, object]]:
    return [{"topic": topic, "partition": partition} for topic, partition in partitions]


def _read(records: ConsumerRecords) -> list[dict[str, object]]:
    return [
        {
            "topic": topic,
            "partition": partition,
            "count": len(of),
            "minOffset": of[0].offset,
            "maxOffset": of[-1].offset,
        }
        for (topic, partition), of in records.by_partition().items()
    ]


async def consume_on_a_loop(given: dict[str, Any]) -> None:
    """The same with the consumer of asyncio."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with kwire.aio.Consumer(**given["settings"]) as consumer:
        consumer.subscribe(given["topics"], listener=Listener())
        say("startup_complete")
        try:
            while not ended.is_set():
                records = await consumer.poll(POLL_S)
                if records:
                    say("records_consumed", count=len(records), partitions=_read(records))
                    with saying_commits():
                        await consumer.commit(records)
        except kwire.KafkaError as error:
            say("failed", error=f"{type(error).__name__}: {error}")


def consume_on_a_thread(given: dict[str, Any]) -> None:
    """Runs the member until it is told to end."""
    ended: list[int] = []
    with kwire.Consumer(**given["settings"]) as consumer:

        def end(number: int, frame: FrameType | None) -> None:
            ended.append(number)
            consumer.wakeup()

        signal.signal(signal.SIGTERM, end)
        if "pattern" in given:
            consumer.subscribe(pattern=given["pattern"], listener=Listener())
        else:
            consumer.subscribe(given["topics"], listener=Listener())
        say("startup_complete")
        try:
            consume(consumer, ended)
        except kwire.KafkaError as error:
            say("failed", error=f"{type(error).__name__}: {error}")


def main() -> None:
    """Runs one member as the first argument says."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    if given.get("aio"):
        asyncio.run(consume_on_a_loop(given))
    else:
        consume_on_a_thread(given)
    say("shutdown_complete")


if __name__ == "__main__":
    main()
