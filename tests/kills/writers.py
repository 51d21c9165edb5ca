"""A writer by kwire or librdkafka, which numbers the records of each partition; Writer.java is the same by Java.

    python -m tests.kills.writers kwire '{"servers": "...", "topic": "t", "partitions": 4, ...}'

Writes so many records a second until there are `count` and a file named `over` is there; then waits for the last
acknowledgement. Each one is a row of `acks` (acks.py). In the end it prints a line of JSON: how many records of each
partition were sent.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import confluent_kafka

import kwire
from tests.kills.acks import FAILED, Ack

TICK_S = 0.02


class Writer:
    """Numbers and counts records; a subclass sends them."""

    def __init__(self, given: dict[str, Any], acks: BinaryIO) -> None:
        self.topic: str = given["topic"]
        self._given = given
        self._acks = acks
        self._sent = [0] * given["partitions"]

    def run(self) -> list[int]:
        """How many records of each partition were sent."""
        per_tick = max(1, round(self._given["per_second"] * TICK_S))
        over, turn, next_tick = Path(self._given["over"]), 0, time.monotonic()
        while turn < self._given["count"] or not over.exists():
            for _ in range(per_tick):
                partition = turn % len(self._sent)
                self.send(partition, self._sent[partition])
                self._sent[partition] += 1
                turn += 1
            next_tick += TICK_S
            self.pause(max(0.0, next_tick - time.monotonic()))
        self.end()
        return self._sent

    def known(self, partition: int, number: int, offset: int, sent: float) -> None:
        """Writes down the fate of a record."""
        self._acks.write(Ack(partition, number, offset, sent, time.monotonic()).packed())

    def send(self, partition: int, number: int) -> None:
        raise NotImplementedError

    def pause(self, seconds: float) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """Delivers what is left."""
        raise NotImplementedError


class KwireWriter(Writer):
    """By kwire, with its default settings."""

    def __init__(self, given: dict[str, Any], acks: BinaryIO) -> None:
        super().__init__(given, acks)
        self._producer = kwire.Producer(given["servers"])

    def send(self, partition: int, number: int) -> None:
        sent = time.monotonic()

        def on_known(delivery: Any) -> None:
            failed = delivery.exception() is not None
            self.known(partition, number, FAILED if failed else delivery.result(0).offset, sent)

        self._producer.send(self.topic, b"%d" % number, partition=partition).add_done_callback(on_known)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def end(self) -> None:
        self._producer.flush()
        self._producer.close()


class ConfluentWriter(Writer):
    """By confluent-kafka, with librdkafka's default settings besides idempotence."""

    def __init__(self, given: dict[str, Any], acks: BinaryIO) -> None:
        super().__init__(given, acks)
        settings = {"bootstrap.servers": given["servers"], "enable.idempotence": True, "log_level": 3}
        self._producer = confluent_kafka.Producer(settings)

    def send(self, partition: int, number: int) -> None:
        sent = time.monotonic()

        def on_known(error: Any, message: Any) -> None:
            self.known(partition, number, FAILED if error is not None else message.offset(), sent)

        self._producer.produce(self.topic, b"%d" % number, partition=partition, on_delivery=on_known)

    def pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        # A poll returns after its first callbacks.
        while (left := until - time.monotonic()) > 0:
            self._producer.poll(left)

    def end(self) -> None:
        self._producer.flush()


WRITERS: dict[str, Callable[[dict[str, Any], BinaryIO], Writer]] = {"kwire": KwireWriter, "librdkafka": ConfluentWriter}


def main(name: str, given: dict[str, Any]) -> None:
    """Runs one writer to its end."""
    with open(given["acks"], "wb") as acks:
        sent = WRITERS[name](given, acks).run()
    print(json.dumps(sent), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
