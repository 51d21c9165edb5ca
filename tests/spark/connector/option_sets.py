"""Random options of a batch read, by seed: what a user could say about the topics of filled.py.

Left out is only what kwire reads differently on purpose (docs/spark.md names it): a partition of `assign` that does not
exist, unknown options, and a start behind the end of the log where the connector cuts its ranges.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Final

from tests.spark.connector.filled import Log, Topic

Options = dict[str, str]
Logs = Mapping[tuple[str, int], Log]

QUICK: Final = {
    "kafkaConsumer.pollTimeoutMs": "1500",
    "fetchOffset.numRetries": "1",
    "fetchOffset.retryIntervalMs": "10",
    "kafka.fetch.max.wait.ms": "20",
}
"""The connector waits at the end of each range and before it says that records are gone: not for long here."""


# What Java and Python read alike.
_PATTERNS: Final = ("^({})$", "^({})$", " ^(?:{})$ ", "(?i)^({})$", r"\A(?={})(?:{})\Z", "^(?!elsewhere)(?:{})$")
_CUTTING: Final = ("minPartitions", "maxRecordsPerPartition")


def draw_options(seed: int, topics: Sequence[Topic]) -> Options:
    """The options of one batch read of some of the topics."""
    dice = random.Random(f"options {seed}")
    chosen = dice.sample(list(topics), dice.choice((1, 1, 1, 2, 3)))
    selection, logs = _selection(dice, chosen)
    committed = dice.random() < 0.5
    options = {**QUICK, **selection, **_start(dice, chosen, logs), **_end(dice, chosen, logs, committed)}
    if committed:
        options["kafka.isolation.level"] = "read_committed"
    if dice.random() < 0.4:
        options["minPartitions"] = dice.choice(("{}", "{}", "+{}")).format(dice.choice((dice.randint(1, 20), 500)))
    # The connector honours it beside explicit ends alone; kwire always: the rows are the same.
    if dice.random() < 0.3:
        options["maxRecordsPerPartition"] = str(dice.choice((7, 30, 100)))
    if dice.random() < 0.6:
        options["includeHeaders"] = dice.choice(("true", "TrUe", "false"))
    if dice.random() < 0.5:
        options["failOnDataLoss"] = dice.choice(("true", "false"))
    if dice.random() < 0.2:
        options |= {"groupIdPrefix": "job", "maxOffsetsPerTrigger": "5", "kafka.client.id": "job"}
    if _starts_behind(options, logs, committed):
        options = {name: value for name, value in options.items() if name not in _CUTTING}
    return respelled(dice, {**options, **_fetch_sizes(dice)})


def _selection(dice: random.Random, chosen: Sequence[Topic]) -> tuple[Options, Logs]:
    """One of the three options, and the partitions that it means."""
    every = {(topic.name, number): log for topic in chosen for number, log in topic.logs.items()}
    kind = dice.choice(("assign", "subscribe", "subscribePattern"))
    names = [topic.name for topic in chosen]
    if kind == "subscribe":
        listed = [*names, *dice.choice(((), (), ("",), names[:1]))]
        return {kind: dice.choice((",", ", ", " ,")).join(listed)}, every
    if kind == "subscribePattern":
        return {kind: dice.choice(_PATTERNS).replace("{}", "|".join(names))}, every
    some = dict(dice.sample(list(every.items()), dice.randint(1, len(every))))
    by_topic: dict[str, list[int]] = {}
    for name, number in some:
        by_topic.setdefault(name, []).append(number)
    return {kind: json.dumps(by_topic)}, some


def _start(dice: random.Random, chosen: Sequence[Topic], logs: Logs) -> Options:
    kind = dice.choice(("none", "earliest", "json", "json", "json", "time", "times"))
    if kind == "earliest":
        return {"startingOffsets": dice.choice(("earliest", "EarLiest"))}
    if kind == "json":
        return {"startingOffsets": _by_partition({place: _start_at(dice, log) for place, log in logs.items()})}
    if kind == "none":
        return {}
    options = {}
    if dice.random() < 0.8:
        options["startingOffsetsByTimestampStrategy"] = dice.choice(("latest", "error"))
    if kind == "time":
        return {**options, "startingTimestamp": dice.choice(("{}", " {} ")).format(_time(dice, chosen))}
    times = {place: _time(dice, chosen) for place in logs}
    return {**options, "startingOffsetsByTimestamp": _by_partition(times)}


def _start_at(dice: random.Random, log: Log) -> int:
    if dice.random() < 0.25:
        return -2
    if dice.random() < 0.04:
        return dice.randint(0, log.latest + 3)
    return dice.randint(log.earliest, log.earliest + (log.stable - log.earliest) // 2)


def _starts_behind(options: Options, logs: Logs, committed: bool) -> bool:
    """Whether a partition is to be read from an offset on that comes after its `latest`."""
    text = options.get("startingOffsets", "")
    given = json.loads(text) if text.startswith("{") else {}
    return any(
        given.get(name, {}).get(str(partition), 0) > (log.stable if committed else log.latest)
        for (name, partition), log in logs.items()
    )


def _end(dice: random.Random, chosen: Sequence[Topic], logs: Logs, committed: bool) -> Options:
    kind = dice.choice(("none", "latest", "json", "json", "json", "time", "times"))
    if kind == "none":
        return {}
    if kind == "latest":
        return {"endingOffsets": "latest"}
    if kind == "json":
        ends = {place: _end_at(dice, log, log.stable if committed else log.latest) for place, log in logs.items()}
        return {"endingOffsets": _by_partition(ends)}
    if kind == "time":
        return {"endingTimestamp": str(_time(dice, chosen, late=True))}
    return {"endingOffsetsByTimestamp": _by_partition({place: _time(dice, chosen, late=True) for place in logs})}


def _end_at(dice: random.Random, log: Log, last: int) -> int:
    if dice.random() < 0.25:
        return -1
    if dice.random() < 0.02:
        return last + dice.randint(1, 5)
    return dice.randint(log.earliest + (last - log.earliest) // 2, last)


def _time(dice: random.Random, chosen: Sequence[Topic], *, late: bool = False) -> int:
    """A time before, among or after the records; seldom one that makes the start of a read later than its end."""
    topic = max(chosen, key=lambda each: each.last_ms) if late else min(chosen, key=lambda each: each.first_ms)
    middle = (topic.first_ms + topic.last_ms) // 2
    if dice.random() < 0.04:
        return topic.first_ms - 1000 if late else topic.last_ms + 1000
    if dice.random() < 0.3:
        return topic.last_ms + 1000 if late else topic.first_ms - 1000
    return dice.randint(middle, topic.last_ms) if late else dice.randint(topic.first_ms, middle)


def _by_partition(numbers: Mapping[tuple[str, int], int]) -> str:
    found: dict[str, dict[str, int]] = {}
    for (name, partition), number in numbers.items():
        found.setdefault(name, {})[str(partition)] = number
    return json.dumps(found)


def _fetch_sizes(dice: random.Random) -> Options:
    """Requests that bring few records each, down to a batch at a time."""
    options = {}
    if dice.random() < 0.4:
        options["kafka.max.partition.fetch.bytes"] = str(dice.choice((1, 100, 1000, 20_000)))
    if dice.random() < 0.3:
        options["kafka.fetch.max.bytes"] = str(dice.choice((1, 500, 50_000)))
    if dice.random() < 0.3:
        options["kafka.max.poll.records"] = str(dice.choice((1, 7, 100, 10_000)))
    if dice.random() < 0.2:
        options["kafka.check.crcs"] = "false"
    return options


def respelled(dice: random.Random, options: Options) -> Options:
    """Names in another case at times: Spark compares them without."""
    spell = dice.choice((str, str, str.lower, str.upper))
    return {spell(name): value for name, value in options.items()}
