"""Runs works round by round, contenders in rotating order, each in a process of its own; gives one Outcome per run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks.compare import sinks
from benchmarks.compare.measure import WorkFailedError, run_process, run_worker
from benchmarks.compare.rounds import percentile, rotated
from benchmarks.compare.sizes import sizes
from benchmarks.compare.task import Task
from benchmarks.compare.work import BARE, KWIRE, Work

_LIMIT_S = 120.0
_SPREAD_PARTITIONS = (1, 32, 512)
_QUICK_SHARE = 4
_IMPORTS = 3


@dataclass(frozen=True)
class Plan:
    """How a comparison is run."""

    rounds: int
    quick: bool
    sink: str
    contenders: Sequence[str]
    tell: Callable[[str], None]

    def count(self, work: Work, contender: str) -> int:
        """How much that contender does."""
        full = work.counts[contender]
        return max(full // _QUICK_SHARE, min(full, 50)) if self.quick else full

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
    for verb, run_them in _WITHOUT_SINK.items():
        mine = [work for work in works if work.verb == verb]
        if mine:
            yield from run_them(mine, plan)
    clients = [work for work in works if work.verb not in _WITHOUT_SINK]
    for place in dict.fromkeys((work.sink or plan.sink, work.release) for work in clients):
        yield from _run_clients([work for work in clients if (work.sink or plan.sink, work.release) == place],
                                *place, plan)


def _run_codecs(works: list[Work], plan: Plan) -> Iterator[Outcome]:
    """One process per contender and round does all of them."""
    budget = _budget_s(plan)
    for number in range(plan.rounds):
        names = [name for name in dict.fromkeys(name for work in works for name in work.counts)
                 if name in plan.contenders]
        for contender in rotated(names, number):
            mine = [work.name for work in works if contender in work.counts]
            plan.tell(f"codec, round {number + 1} of {plan.rounds}: {contender}")
            task = Task("codec", contender, works=mine, budget_s=budget)
            measured, error = _attempt(task)
            for name in mine:
                if error:
                    yield Outcome(name, contender, number, "", error=error)
                elif name in measured:
                    yield Outcome(name, contender, number, "", measured[name])


def _budget_s(plan: Plan) -> float:
    """How long each work is measured in process."""
    return 0.02 if plan.quick else 0.06


def _run_threads(works: list[Work], plan: Plan) -> Iterator[Outcome]:
    """A process each, which nothing else has warmed or split."""
    for work in works:
        for number in plan.rounds_of(work):
            for contender in plan.who(work, number):
                plan.tell(f"{work.title}, round {number + 1} of {plan.rounds}: {contender}")
                measured, error = _attempt(Task(work.verb, contender, budget_s=_budget_s(plan)))
                yield Outcome(work.name, contender, number, "", measured, error)


def _run_sizes(works: list[Work], plan: Plan) -> Iterator[Outcome]:
    for work in works:
        for contender in plan.who(work, 0):
            try:
                yield Outcome(work.name, contender, 0, "", sizes(contender))
            except WorkFailedError as failure:
                yield Outcome(work.name, contender, 0, "", error=str(failure))


def _run_imports(works: list[Work], plan: Plan) -> Iterator[Outcome]:
    """A fresh interpreter each; the cost of one that imports nothing, in the same round, is taken off."""
    for number in range(plan.rounds):
        plan.tell(f"imports, round {number + 1} of {plan.rounds}")
        for work in works:
            bare = _import_cpu_ms("pass")
            for contender in rotated([name for name in work.counts if name in plan.contenders], number):
                cost = _import_cpu_ms(work.options[contender])
                yield Outcome(work.name, contender, number, "", {"cpu_ms": max(cost - bare, 0.0), BARE: bare})


def _import_cpu_ms(statement: str) -> float:
    """The least of a few: what else runs on the machine only adds."""
    return min(run_process([sys.executable, "-c", statement], _LIMIT_S).cpu_s for _ in range(_IMPORTS)) * 1000


def _run_clients(works: list[Work], kind: str, release: str, plan: Plan) -> Iterator[Outcome]:
    with ExitStack() as stack:
        sink = stack.enter_context(sinks.running(kind, _topics(works, plan), release))
        _break_in(sink.bootstrap, plan)
        _load(works, sink.bootstrap, plan)
        for measured_together in _same_runs(works):
            first = measured_together[0]
            for number in plan.rounds_of(first):
                for contender in plan.who(first, number):
                    plan.tell(f"{first.title}, on {kind}, round {number + 1} of {plan.rounds}: {contender}")
                    task = _client_task(first, contender, sink.bootstrap, release, plan)
                    measured, error = _attempt_tapped(task) if first.verb == "send_and_compute" else _attempt(task)
                    for work in measured_together:
                        yield Outcome(work.name, contender, number, kind, measured, error)


def _same_runs(works: list[Work]) -> list[list[Work]]:
    """Works that differ only in the figure they show are run once."""
    groups: dict[str, list[Work]] = {}
    for work in works:
        key = repr((work.verb, dict(work.counts), dict(work.options), work.loaded))
        groups.setdefault(key, []).append(work)
    return list(groups.values())


def _client_task(work: Work, contender: str, bootstrap: str, release: str, plan: Plan) -> Task:
    count = plan.count(work, contender)
    task = Task(work.verb, contender, bootstrap=bootstrap, count=count, release=release, **dict(work.options))
    topic = _loaded_topic(task.size, count) if work.loaded else _open_topic(task.partitions)
    return Task(**{**task.to_dict(), "topic": topic})


def _open_topic(partitions: int) -> str:
    return f"out-{partitions}"


def _loaded_topic(size: int, count: int) -> str:
    return f"in-{size}-{count}"


def _topics(works: list[Work], plan: Plan) -> dict[str, int]:
    loaded = {topic: 32 for topic, _, _ in _loads(works, plan)}
    return {**{_open_topic(partitions): partitions for partitions in _SPREAD_PARTITIONS}, **loaded}


def _loads(works: list[Work], plan: Plan) -> list[tuple[str, int, int]]:
    """(topic, record size, records) of what the consumers read: a topic holds just what one contender reads."""
    found = {}
    for work in works:
        if work.loaded:
            for contender in plan.who(work, 0):
                size, count = int(work.options.get("size", 100)), plan.count(work, contender)
                found[_loaded_topic(size, count)] = (_loaded_topic(size, count), size, count)
    return list(found.values())


def _break_in(bootstrap: str, plan: Plan) -> None:
    """A few records to every partition that is produced to: Apache Kafka makes a partition's files when it first needs
    them, which takes tens of seconds for some hundred partitions and would be the first contender's loss."""
    for partitions in _SPREAD_PARTITIONS:
        plan.tell(f"first records to {partitions} partitions")
        task = Task("produce", KWIRE, bootstrap=bootstrap, topic=_open_topic(partitions), partitions=partitions,
                    spread=True, count=4 * partitions)
        run_worker(task.to_dict(), _LIMIT_S)


def _load(works: list[Work], bootstrap: str, plan: Plan) -> None:
    for topic, size, count in _loads(works, plan):
        plan.tell(f"loading {count} records of {size} bytes")
        task = Task("load", KWIRE, bootstrap=bootstrap, topic=topic, count=count, size=size)
        run_worker(task.to_dict(), _LIMIT_S)


_WITHOUT_SINK: dict[str, Callable[[list[Work], Plan], Iterator[Outcome]]] = {
    "codec": _run_codecs, "threads": _run_threads, "import": _run_imports, "sizes": _run_sizes}


def _attempt(task: Task) -> tuple[dict[str, Any], str]:
    try:
        return run_worker(task.to_dict(), _LIMIT_S), ""
    except WorkFailedError as failure:
        return {}, str(failure)


def _attempt_tapped(task: Task) -> tuple[dict[str, Any], str]:
    with sinks.tapped(task.bootstrap) as tap:
        measured, error = _attempt(Task(**{**task.to_dict(), "bootstrap": tap.bootstrap}))
    if error:
        return {}, error
    late = sorted(tap.late_us)
    if len(late) < task.count:
        return {}, f"only {len(late)} of {task.count} records came through the tap"
    return {**measured, "p50_us": percentile(late, 0.5), "p99_us": percentile(late, 0.99), "count": len(late)}, ""
