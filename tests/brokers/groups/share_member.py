"""One member of a share group by kwire, which says what it accepted: a JSON object a line.

    python -m tests.brokers.groups.share_member '{"topic": "t", "settings": {"bootstrap_servers": "...", ...}}'

Acknowledges each record by itself, releases one in ten the first time, and commits after each poll; SIGTERM ends it in
order.
"""

import json
import signal
import sys
from types import FrameType
from typing import Any

import kwire


def say(name: str, **event: object) -> None:
    """Writes an event."""
    print(json.dumps({"name": name, **event}), flush=True)


def work(consumer: kwire.ShareConsumer, ended: list[int]) -> None:
    """Polls until it is told to end."""
    while not ended:
        records = consumer.poll(0.5)
        done: dict[tuple[str, int], list[int]] = {}
        for record in records:
            if records.delivery_count(record) == 1 and record.offset % 10 == 0:
                consumer.acknowledge(record, "release")
            else:
                consumer.acknowledge(record, "accept")
                done.setdefault((record.topic, record.partition), []).append(record.offset)
        for tp, offsets in done.items():
            say("worked_on", partition=tp[1], offsets=offsets)
        outcomes = consumer.commit()
        for tp, offsets in done.items():
            error = outcomes.get(kwire.TopicPartition(*tp))
            say("accepted" if error is None else "refused", partition=tp[1], offsets=offsets, error=str(error))


def main() -> None:
    """Runs one member as the first argument says."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    ended: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ended.append(number)

    signal.signal(signal.SIGTERM, end)
    with kwire.ShareConsumer(**given["settings"], share_acknowledgement_mode="explicit") as consumer:
        consumer.subscribe([given["topic"]])
        work(consumer, ended)
    say("shutdown_complete")


if __name__ == "__main__":
    main()
