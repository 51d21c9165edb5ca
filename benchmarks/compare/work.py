"""A row of the tables, and who can be in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KWIRE = "kwire"
CONFLUENT = "confluent-kafka"
AIOKAFKA = "aiokafka"
KAFKA_PYTHON = "kafka-python"
KIO = "kio"
RAW = "raw-socket"
BARE = "bare"

CONTENDERS = (KWIRE, CONFLUENT, AIOKAFKA, KAFKA_PYTHON, KIO, RAW, BARE)


@dataclass(frozen=True)
class Work:
    """One row of the tables.

    `counts`: contender -> records (or exchanges) of a full run. `metric`: which of the measured figures is compared,
    less being better; `unit` says what it is and `scale` brings it there. With `rate`, what is shown is `rate` divided
    by that cost, more being better. `run`: the work whose runs this figure is taken from, where it is another's.

    Targets: `goals`, peer -> how many times kwire's cost its cost is to be at least; `within`, peer -> how many times
    its cost kwire's may be at most; `beside`, another work -> how many times its own cost there kwire's may be at most;
    `most`, the most that kwire may cost (with `rate`, the least that it is to reach).

    `rounds`: the most rounds it takes, where more would say nothing new. `quick`: whether a quick run has it.
    """

    name: str
    title: str
    group: str
    verb: str
    counts: Mapping[str, int]
    metric: str = "cpu_s_per_million"
    unit: str = "CPU s per million"
    scale: float = 1.0
    rate: float = 0.0
    run: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    goals: Mapping[str, float] = field(default_factory=dict)
    within: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, float] = field(default_factory=dict)
    most: float | None = None
    sink: str = ""
    release: str = ""
    loaded: bool = False
    rounds: int | None = None
    quick: bool = True

    @property
    def source(self) -> str:
        """The name of the work whose runs its figure is taken from."""
        return self.run or self.name

    def shown(self, cost: float) -> float:
        """The cost as the tables show it."""
        return self.rate / cost if self.rate else cost
