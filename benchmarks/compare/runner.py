"""Runs works round by round, contenders in rotating order, each in a process of its own; gives one Outcome per run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.compare import sinks
from benchmarks.compare.measure import WorkFailedError, run_process
from benchmarks.compare.rounds import percentile, rotated
from benchmarks.compare.sizes import sizes
from benchmarks.compare.task import Task
from benchmarks.compare.work import BARE, KWIRE, Work
from benchmarks.compare.workers import Workers

_LIMIT_S = 120.0
_QUICK_SHARE, _QUICK_SHARE_OF_KWIRE = 4, 2
_FEWEST = 50
_BUDGET_S, _QUICK_BUDGET_S = 0.04, 0.01
_IMPORTS_S, _QUICK_IMPORTS_S = 0.2, 0.05


@dataclass(frozen=True)
class Plan:
    """How a comparison is run."""

    rounds: int
    quick: bool
    sink: str
    contenders: Sequence[str]
    tell: Callable[[str], None]

    @property
    def budget_s(self) -> float:
        """How long each work is measured in process."""
        return _QUICK_BUDGET_S if self.quick else _BUDGET_S

    @property
    def imports_s(self) -> float:
        """How much CPU goes into one import in a round, again and again."""
        return _QUICK_IMPORTS_S if self.quick else _IMPORTS_S

    def count(self, work: Work, contender: str) -> int:
        """How much that contender does. A quarter of what kwire does would take it too short a time to measure."""
        full = work.counts[contender]
        share = _QUICK_SHARE_OF_KWIRE if contender == KWIRE else _QUICK_SHARE
        return max(full // share, min(full, _FEWEST)) if self.quick else full

    def rounds_of(self, work: Work) -> range:
        """The numbers of its rounds."""
        return range(min(self.rounds, work.rounds or self.rounds))

    def who(self, work: Work, number: int) -> list[str]:
        """The contenders of a work, in the order of that round."""
        return rotated([name for name in work.counts if name in self.contenders], number)


@dataclass(frozen=True)
class Outcome:
    """What one contender's run in one round measured, or how it failed."""

    work: str
    contender: str
    round: int
    sink: str
    measured: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def run(works: Sequence[Work], plan: Plan) -> Iterator[Outcome]:
    """All works; those of one sink share a sink process."""
    with Workers() as workers:
        comparison = _Comparison(plan, workers)
        without_sink = {
            "codec": comparison.in_process,
            "threads": comparison.in_process,
            "import": comparison.imports,
            "sizes": comparison.sizes,
        }
        for verb, run_them in without_sink.items():
            mine = [work for work in works if work.verb == verb]
            if mine:
                yield from run_them(mine)
        clients = [work for work in works if work.verb not in without_sink]
        for place in dict.fromkeys((work.sink or plan.sink, work.release) for work in clients):
            yield from comparison.clients(
                [work for work in clients if (work.sink or plan.sink, work.release) == place], *place
            )


class _Comparison:
    """One run: its plan, and the processes that do it."""

    def __init__(self, plan: Plan, workers: Workers) -> None:
        self._plan = plan
        self._workers = workers

    def in_process(self, works: list[Work]) -> Iterator[Outcome]:
        """Each round goes through all works, and a work's contenders follow each other at once."""
        plan = self._plan
        for number in range(plan.rounds):
            for measured_together in _same_runs([work for work in works if number in plan.rounds_of(work)]):
                first = measured_together[0]
                plan.tell(f"round {number + 1} of {len(plan.rounds_of(first))}: {first.title}")
                for contender in plan.who(first, number):
                    task = Task(first.verb, contender, work=first.source, budget_s=plan.budget_s)
                    measured, error = self._attempt(task)
                    for work in measured_together:
                        yield Outcome(work.name, contender, number, "", measured, error)

    def sizes(self, works: list[Work]) -> Iterator[Outcome]:
        """Nothing runs for them."""
        for work in works:
            for contender in self._plan.who(work, 0):
                try:
                    yield Outcome(work.name, contender, 0, "", sizes(contender))
                except WorkFailedError as failure:
                    yield Outcome(work.name, contender, 0, "", error=str(failure))

    def imports(self, works: list[Work]) -> Iterator[Outcome]:
        """A fresh interpreter each; the cost of one that imports nothing, in the same round, is taken off."""
        plan = self._plan
        for number in range(plan.rounds):
            plan.tell(f"imports, round {number + 1} of {plan.rounds}")
            for work in works:
                bare = _import_cpu_ms("pass", plan.imports_s)
                for contender in plan.who(work, number):
                    cost = _import_cpu_ms(work.options[contender], plan.imports_s)
                    yield Outcome(work.name, contender, number, "", {"cpu_ms": max(cost - bare, 0.0), BARE: bare})

    def clients(self, works: list[Work], kind: str, release: str) -> Iterator[Outcome]:
        """Works against one sink."""
        plan = self._plan
        plan.tell(f"starting {kind} {release}".rstrip())
        with sinks.running(kind, {**_open_topics(works), **_loaded_topics(works, plan)}, release) as sink:
            self._break_in(works, sink.bootstrap)
            self._load(works, sink.bootstrap)
            for measured_together in _same_runs(works):
                first = measured_together[0]
                for number in plan.rounds_of(first):
                    for contender in plan.who(first, number):
                        self._tell(first, number, contender)
                        task = _client_task(first, contender, sink.bootstrap, release, plan)
                        measured, error = self._attempt(task)
                        for work in measured_together:
                            yield Outcome(work.name, contender, number, kind, measured, error)

    def _tell(self, work: Work, number: int, contender: str) -> None:
        self._plan.tell(f"{work.title}, round {number + 1} of {len(self._plan.rounds_of(work))}: {contender}")

    def _break_in(self, works: list[Work], bootstrap: str) -> None:
        """A few records to every partition that is produced to: Apache Kafka makes a partition's files when it first
        needs them, which takes tens of seconds for some hundred partitions and would be the first contender's loss."""
        for topic, partitions in _open_topics(works).items():
            self._plan.tell(f"first records to {partitions} partitions")
            self._workers.run(
                Task(
                    "produce",
                    KWIRE,
                    bootstrap=bootstrap,
                    topic=topic,
                    partitions=partitions,
                    spread=True,
                    count=4 * partitions,
                )
            )

    def _load(self, works: list[Work], bootstrap: str) -> None:
        for topic, (size, count) in _loads(works, self._plan).items():
            self._plan.tell(f"loading {count} records of {size} bytes")
            self._workers.run(Task("load", KWIRE, bootstrap=bootstrap, topic=topic, count=count, size=size))

    def _attempt(self, task: Task) -> tuple[dict[str, Any], str]:
        try:
            if task.verb == "send_and_compute":
                return self._tapped(task), ""
            return self._workers.run(task), ""
        except WorkFailedError as failure:
            return {}, str(failure)

    def _tapped(self, task: Task) -> dict[str, Any]:
        """Through a relay that notes when each record comes."""
        with sinks.tapped(task.bootstrap) as tap:
            measured = self._workers.run(task.through(tap.bootstrap))
        late = sorted(tap.late_us)
        if len(late) < task.count:
            raise WorkFailedError(f"only {len(late)} of {task.count} records came through the tap")
        return {**measured, "p50_us": percentile(late, 0.5), "p99_us": percentile(late, 0.99), "count": len(late)}


def _import_cpu_ms(statement: str, budget_s: float) -> float:
    """The least of a few: what else runs on the machine only adds."""
    costs: list[float] = []
    while sum(costs) < budget_s:
        costs.append(run_process([sys.executable, "-c", statement], _LIMIT_S).cpu_s)
    return min(costs) * 1000


def _same_runs(works: list[Work]) -> list[list[Work]]:
    """Works that are other figures of the same runs are run once."""
    groups: dict[str, list[Work]] = {}
    for work in works:
        groups.setdefault(work.source, []).append(work)
    return list(groups.values())


def _client_task(work: Work, contender: str, bootstrap: str, release: str, plan: Plan) -> Task:
    count = plan.count(work, contender)
    size, partitions = work.options.get("size", Task.size), work.options.get("partitions", Task.partitions)
    topic = _loaded_topic(size, count) if work.loaded else _open_topic(partitions)
    return Task(work.verb, contender, bootstrap=bootstrap, topic=topic, count=count, release=release, **work.options)


def _open_topic(partitions: int) -> str:
    return f"out-{partitions}"


def _loaded_topic(size: int, count: int) -> str:
    return f"in-{size}-{count}"


def _open_topics(works: list[Work]) -> dict[str, int]:
    """What is produced to, with its partitions."""
    wanted = {work.options.get("partitions", Task.partitions) for work in works if not work.loaded}
    return {_open_topic(partitions): partitions for partitions in sorted(wanted)}


def _loaded_topics(works: list[Work], plan: Plan) -> dict[str, int]:
    return dict.fromkeys(_loads(works, plan), Task.partitions)


def _loads(works: list[Work], plan: Plan) -> dict[str, tuple[int, int]]:
    """Topic -> record size and records of what the consumers read: it holds just what one contender reads."""
    found = {}
    for work in works:
        if work.loaded:
            for contender in plan.who(work, 0):
                size, count = work.options.get("size", Task.size), plan.count(work, contender)
                found[_loaded_topic(size, count)] = size, count
    return found
