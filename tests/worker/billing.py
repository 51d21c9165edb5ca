"""A worker as a process of its own: `python billing.py KIND SERVERS JOURNAL OPTIONS`, options as JSON; it
says when it has begun.

It fails on every tenth record once in a while, and on those whose value is `poison` always.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
import time
from typing import Any

from kwire import Worker, aio

KIND, SERVERS, JOURNAL, OPTIONS = sys.argv[1:]
journal = os.open(JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def finish(record: Any) -> None:
    if record.value == b"poison":
        raise ValueError("poison")
    if record.offset % 10 == 0 and random.random() < 0.5:
        raise ConnectionError("try again")
    os.write(journal, b"%d %d %s %d\n" % (record.partition, record.offset, record.key, os.getpid()))


def handle(record: Any) -> None:
    time.sleep(random.random() / 500)
    finish(record)


async def handle_in_a_task(record: Any) -> None:
    await asyncio.sleep(random.random() / 500)
    finish(record)


options: dict[str, Any] = {
    "group_id": "g", "retries": 30, "backoff": 0.002, "backoff_max": 0.05, "retry_on": ConnectionError,
    "dead_letter_topic": "orders.dead", "commit_interval": 0.05, "fetch_max_wait_ms": 50, **json.loads(OPTIONS),
}  # fmt: skip
threading.Timer(0.05, print, ["begun"], {"flush": True}).start()
if KIND == "threads":
    Worker(SERVERS, "orders", handler=handle, **options).run()
else:
    asyncio.run(aio.Worker(SERVERS, "orders", handler=handle_in_a_task, **options).run())
