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
    less being better; `unit` says what it is and `scale` brings it there. `goals`: peer -> how many times kwire's cost
    its cost is to be at least. `most`: the most that kwire may cost, where a figure is the goal. `rounds`: the most
    rounds it takes, where more would say nothing new.
    """

    name: str
    title: str
    group: str
    verb: str
    counts: Mapping[str, int]
    metric: str = "cpu_s_per_million"
    unit: str = "CPU s per million"
    scale: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    goals: Mapping[str, float] = field(default_factory=dict)
    most: float | None = None
    sink: str = ""
    release: str = ""
    loaded: bool = False
    rounds: int | None = None
