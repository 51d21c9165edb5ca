"""Every message, newest version, both directions: what a value costs, what the first use costs, and which are slowest.

`python -m benchmarks.bench_every_message` prints the tables. A message is filled with random values until it has
MIN_VALUES of them; a value is a number, text, span of bytes or null anywhere in it. Times are CPU time, the minimum of
several rounds. First uses are measured in processes of their own, without the cyclic collector, whose passes would fall
on one message or another: import of the file, compilation of the plan, one encode and decode of an empty message.
"""

from __future__ import annotations

import random
import subprocess
import sys
from functools import cache
from statistics import median
from typing import Any, NamedTuple

import pytest
from tests.schema.messages.random import random_message

from benchmarks.compare.contenders.meters import cpu_s_per_call
from kwire import protocol
from kwire.schema.messages import Message, Struct

MIN_VALUES = 40
ROUNDS = 7
ROUND_S = 0.002
SHOWN = 12
MAX_OF_MEDIAN = 10  # a UUID costs four times as much as a number, and text twice as much
PROCESSES = 5
FIRST_USES = """
import gc, time, uuid
from kwire import protocol
gc.disable()
protocol.ApiVersionsRequest().encode(4)
for key in protocol.APIS:
    for which in ("request", "response"):
        begin = time.thread_time()
        cls = getattr(protocol.APIS[key], which)
        newest = cls.__versions__[-1]
        cls.decode(cls().encode(newest), newest)
        print(cls.__name__, time.thread_time() - begin)
"""


class Cost(NamedTuple):
    """`encode` and `decode` in seconds of one call."""

    name: str
    values: int
    encode: float
    decode: float


def count_values(value: Any) -> int:
    if isinstance(value, Struct):
        return sum(count_values(getattr(value, field.name)) for field in value.__fields__)
    if isinstance(value, (list, tuple)):
        return sum(map(count_values, value))
    return 1


@cache
def filled(cls: type[Message]) -> Message:
    """Of 200 random messages the first that is large enough, else the largest."""
    version = cls.__versions__[-1]
    drawn: list[Message] = [random_message(cls, version, random.Random(seed)) for seed in range(200)]
    return next((message for message in drawn if count_values(message) >= MIN_VALUES), max(drawn, key=count_values))


def cost(cls: type[Message]) -> Cost:
    message, version = filled(cls), cls.__versions__[-1]
    data, values = message.encode(version), count_values(message)
    assert cls.decode(data, version).encode(version) == data
    encode = min(cpu_s_per_call(message.encode, version, ROUND_S) for _ in range(ROUNDS))
    decode = min(cpu_s_per_call(lambda wire: cls.decode(wire, version), data, ROUND_S) for _ in range(ROUNDS))
    return Cost(cls.__name__, values, encode, decode)


def every_message() -> list[type[Message]]:
    return [cls for key in protocol.APIS for cls in (protocol.APIS[key].request, protocol.APIS[key].response)]


def first_uses() -> dict[str, float]:
    """Seconds by message, the minimum of several processes."""
    fastest: dict[str, float] = {}
    for _ in range(PROCESSES):
        shown = subprocess.run([sys.executable, "-c", FIRST_USES], check=True, capture_output=True, text=True).stdout
        for line in shown.splitlines():
            name, seconds = line.split()
            fastest[name] = min(fastest.get(name, 1.0), float(seconds))
    return fastest


@pytest.mark.parametrize("direction", ["decode", "encode"])
def test_every_message_once(benchmark: Any, direction: str) -> None:
    benchmark.group = f"every message once: {direction}"
    newest = [(cls, filled(cls), cls.__versions__[-1]) for cls in every_message()]
    work = [(cls, version, message, message.encode(version)) for cls, message, version in newest]
    if direction == "decode":
        benchmark(lambda: [cls.decode(data, version) for cls, version, _, data in work])
    else:
        assert benchmark(lambda: [message.encode(version) for _, version, message, _ in work])[0] == work[0][3]


def print_costs(costs: list[Cost], direction: str) -> bool:
    """Returns whether none costs MAX_OF_MEDIAN times the median per value, above what the cheapest call costs."""
    call = min(getattr(row, direction) for row in costs)
    each: dict[Cost, float] = {row: (getattr(row, direction) - call) / row.values for row in costs}
    middle = median(each.values())
    print(f"\n{direction}: {call * 1e9:.0f} ns the cheapest call; per value {middle * 1e9:.0f} ns more, the median")
    for row in sorted(costs, key=lambda row: -each[row])[:SHOWN]:
        print(f"  {row.name:44} {each[row] * 1e9:6.0f}  {each[row] / middle:4.1f}x  {row.values:4} values")
    return max(each.values()) <= MAX_OF_MEDIAN * middle


def main() -> int:
    costs = [cost(cls) for cls in every_message()]
    fine = [print_costs(costs, direction) for direction in ("decode", "encode")]
    first = sorted(first_uses().items(), key=lambda row: -row[1])
    print(f"\nfirst use: ms, median {median(seconds for _, seconds in first) * 1e3:.2f}; the slowest:")
    for name, seconds in first[:SHOWN]:
        print(f"  {name:44} {seconds * 1e3:6.2f}")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
