"""Reads the last decision of a scope from the offsets that hold it; see `exactly_once`. Drivers and tasks do.

Works with any client: a commit and a task have a producer, with which they ask, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire import _prepared
from kwire.engine.addresses import TopicPartition
from kwire.spark.exactly_once import Decision, Job, decode, find_last, group_of, parts_and_width

if TYPE_CHECKING:
    from kwire._prepared import AnyClient

_NO_PART = '{"kwire":1}'


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
        texts.append(groups[group].get(TopicPartition(topic, place % width), _NO_PART))
    return decode(texts, job, topic)
