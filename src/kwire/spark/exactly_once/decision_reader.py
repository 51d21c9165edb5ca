"""Reads the last decision of a scope from the offsets that hold it; see `exactly_once`. Drivers and tasks do.

Works with any client: a commit and a task have a producer, with which they ask, too.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kwire import _prepared
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaTimeoutError
from kwire.spark.exactly_once.decisions import Decision, Job, decode, find_last, group_of, not_of_one, parts_and_width

if TYPE_CHECKING:
    from kwire._prepared import AnyClient

_ENDING: Final = ("PrepareCommit", "PrepareAbort")
_LOOK_S: Final = 0.05


def read_decision(client: AnyClient, job: Job, *, stable: bool = True, timeout: float | None = None) -> Decision | None:
    """The last decision. `stable`: what a driver is about to decide, or was when it died, is waited for."""
    stored = _prepared.committed_metadata(client, job.scope, stable=stable, timeout=timeout)
    topic = find_last(stored)
    if topic is None:
        return None
    parts, width = parts_and_width(stored[TopicPartition(topic, 0)])
    groups = {job.scope: stored}
    texts = []
    for place in range(parts):
        group = group_of(job.scope, place, width)
        if group not in groups:
            groups[group] = _prepared.committed_metadata(client, group, stable=stable, timeout=timeout)
        text = groups[group].get(TopicPartition(topic, place % width))
        if text is None:
            raise not_of_one(job, topic)
        texts.append(text)
    return decode(texts, job, topic)


def wait_for_first(client: AnyClient, job: Job, timeout: float) -> None:
    """Waits while a decision is being made, for who has read that there is none: a coordinator leaves out a first one
    that is pending, though it lets whoever asks for stable offsets wait for any later one (Kafka 3.9 and 4.4).

    Raises KafkaTimeoutError.
    """
    give_up = time.monotonic() + timeout
    while _is_ending(client, job.scope, timeout):
        if time.monotonic() > give_up:
            raise KafkaTimeoutError(f"the first decision of {job.scope!r} is still being made after {timeout:g} s")
        time.sleep(_LOOK_S)


def _is_ending(client: AnyClient, transactional_id: str, timeout: float) -> bool:
    found = _prepared.describe(client, [transactional_id], timeout)[transactional_id]
    return found is not None and found.state in _ENDING
