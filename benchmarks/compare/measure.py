"""Runs rows round by round and takes ratios inside a round, because the machine's load changes between rounds.

The contenders of a row follow each other at once, in an order that rotates from round to round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, TypeVar

from benchmarks.compare import brokers
from benchmarks.compare.contenders.meters import percentile
from benchmarks.compare.contenders.task import Task
from benchmarks.compare.processes import ContenderError, Contenders
from benchmarks.compare.rows import KWIRE, Row

T = TypeVar("T")
_CASE_S, _QUICK_CASE_S = 0.04, 0.01
_MIN_RECORDS = 50
_MANY_TOPICS = 100
_WARM_UPS = 2
READING = ("consume", "read_table", "aio_consume", "loop_stops", "group_consume", "group_read")
"""Tasks that read a topic."""


@dataclass(frozen=True)
class Plan:
    """How rows are measured: how many rounds, against which kind of broker, with which contenders."""

    rounds: int
    quick: bool
    broker: str
    contenders: Sequence[str]
    tell: Callable[[str], None]

    def records(self, row: Row, contender: str) -> int:
        """How many records the contender handles: in a quick run a quarter, kwire a half, or it ends too soon."""
        full = row.records[contender]
        share = 2 if contender == KWIRE else 4
        return max(full // share, min(full, _MIN_RECORDS)) if self.quick else full

    def rounds_of(self, row: Row) -> range:
        """The numbers of its rounds."""
        return range(min(self.rounds, row.max_rounds or self.rounds))

    def order(self, row: Row, number: int) -> list[str]:
        """The row's contenders in the order of that round."""
        return rotated([name for name in row.records if name in self.contenders], number)

    def broker_of(self, row: Row) -> str:
        """The kind of broker that a row needs: "" for none; old releases are embedded brokers.

        So is what coordinates groups and transactions, because the mock cluster does not read its own JoinGroup v6.
        """
        if row.group in ("codec", "sweep", "package"):
            return ""
        if row.broker:
            return row.broker
        coordinates = row.group == "groups" and self.broker == "mock"
        return "embedded" if row.release or coordinates else self.broker


@dataclass(frozen=True)
class Result:
    """What one contender measured in one round of a row, or how it failed."""

    row: str
    contender: str
    round: int
    broker: str = ""
    measured: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def measure(rows: Sequence[Row], plan: Plan) -> Iterator[Result]:
    """The results of all rows. Rows against the same broker share its process."""
    with Contenders() as contenders:
        for kind, release in dict.fromkeys((plan.broker_of(row), row.release) for row in rows):
            shared = [row for row in rows if (plan.broker_of(row), row.release) == (kind, release)]
            if kind:
                yield from _measure_clients(shared, plan, contenders, kind, release)
            else:
                yield from _measure_in_process(shared, plan, contenders)


def _measure_in_process(rows: list[Row], plan: Plan, contenders: Contenders) -> Iterator[Result]:
    """Each round goes through all rows."""
    budget_s = _QUICK_CASE_S if plan.quick else _CASE_S
    for number in range(plan.rounds):
        for same_run in _same_runs(row for row in rows if number in plan.rounds_of(row)):
            row = same_run[0]
            plan.tell(f"round {number + 1} of {len(plan.rounds_of(row))}: {row.title}")
            for contender in plan.order(row, number):
                task = Task(row.task, contender, case=row.run, budget_s=budget_s)
                yield from _run(contenders, task, same_run, number, "")


def _measure_clients(rows: list[Row], plan: Plan, contenders: Contenders, kind: str, release: str) -> Iterator[Result]:
    """Each row goes through its rounds."""
    tasks = {(row.run, name): _client_task(row, name, plan) for row in rows for name in plan.order(row, 0)}
    topics = {task.topic: task for task in tasks.values()}
    plan.tell(f"starting {kind} {release}".rstrip())
    with brokers.running(kind, {topic: task.partitions for topic, task in topics.items()}, release) as broker:
        unprepared = {task.topic: _prepare(contenders, broker, task, plan) for task in topics.values()}
        for same_run in _same_runs(rows):
            row = same_run[0]
            if kind in brokers.KAFKA_NODES:
                to_run = [tasks[row.run, name] for name in plan.order(row, 0)]
                _warm_up(contenders, [_at(broker, task) for task in to_run if not unprepared[task.topic]], plan)
            for number in plan.rounds_of(row):
                for contender in plan.order(row, number):
                    plan.tell(f"{row.title}, round {number + 1} of {len(plan.rounds_of(row))}: {contender}")
                    task = tasks[row.run, contender]
                    if error := unprepared[task.topic]:
                        yield from (Result(each.name, contender, number, kind, error=error) for each in same_run)
                    else:
                        yield from _run(contenders, _at(broker, task), same_run, number, kind)


def _prepare(contenders: Contenders, broker: brokers.Running, task: Task, plan: Plan) -> str:
    """What failed, or "": the rows of other topics are measured all the same."""
    plan.tell(f"preparing topic {task.topic}")
    try:
        contenders.run(_preparation(replace(task, bootstrap=broker.bootstrap)))
    except ContenderError as failure:
        return f"topic {task.topic} was not prepared: {failure}"
    return ""


def _warm_up(contenders: Contenders, tasks: list[Task], plan: Plan) -> None:
    """The broker's JVM compiles what it runs often. A contender that fails does so again when it is measured."""
    for task in tasks * _WARM_UPS:
        plan.tell(f"before the rounds: {task.contender}")
        try:
            _way_of(task)(contenders, task)
        except ContenderError:
            pass


def _at(broker: brokers.Running, task: Task) -> Task:
    if task.tls and broker.tls:
        return replace(task, bootstrap=broker.tls, ca_file=broker.ca_file)
    return replace(task, bootstrap=broker.bootstrap)


def _client_task(row: Row, contender: str, plan: Plan) -> Task:
    """Rows that produce to as many partitions share a topic; one that is read holds what one contender reads."""
    task = Task(row.task, contender, count=plan.records(row, contender), release=row.release, **row.options)
    return replace(task, topic=_read_topic(task) if row.task in READING else f"out-{task.partitions}")


def _read_topic(task: Task) -> str:
    how = "" if task.compression == "none" else f"-{task.compression}-{task.writer}"
    return f"in-{task.size}-{task.count}{how}"


def _preparation(task: Task) -> Task:
    """Fills a topic that is read. To one that is written, sends a few records to each partition: Apache Kafka creates
    its files at the first one, which takes tens of seconds for hundreds of partitions."""
    if task.name in READING:
        return replace(task, name="load", contender=task.writer, tls=False)
    return Task("produce", KWIRE, task.bootstrap, task.topic, 4 * task.partitions, task.partitions, round_robin=True)


def _run(contenders: Contenders, task: Task, rows: list[Row], number: int, kind: str) -> Iterator[Result]:
    """One run, as a result for each row that it yields."""
    measured, error = {}, ""
    try:
        measured = _way_of(task)(contenders, task)
    except ContenderError as failure:
        error = str(failure)
    for row in rows:
        yield Result(row.name, task.contender, number, kind, measured, error)


def _way_of(task: Task) -> Callable[[Contenders, Task], dict[str, Any]]:
    """How the task reaches its broker."""
    if task.name == "send_and_compute":
        return _run_through_relay
    if task.name == "first_record":
        return _run_with_login
    if task.name == "subscribe_many":
        return _run_on_many
    return _run_over_tls if task.tls and not task.ca_file else Contenders.run


def _run_with_login(contenders: Contenders, task: Task) -> dict[str, Any]:
    """At a broker of its own."""
    with brokers.with_login() as (bootstrap, ca_file):
        return contenders.run(replace(task, bootstrap=bootstrap, ca_file=ca_file))


def _run_on_many(contenders: Contenders, task: Task) -> dict[str, Any]:
    """At a broker of its own that has `count` partitions in a hundred topics."""
    topics = {f"many-{number}": task.count // _MANY_TOPICS for number in range(_MANY_TOPICS)}
    with brokers.running("embedded", topics) as broker:
        return contenders.run(replace(task, bootstrap=broker.bootstrap))


def _run_over_tls(contenders: Contenders, task: Task) -> dict[str, Any]:
    """Behind a relay that speaks TLS."""
    with brokers.behind_tls(task.bootstrap) as (bootstrap, ca_file):
        return contenders.run(replace(task, bootstrap=bootstrap, ca_file=ca_file))


def _run_through_relay(contenders: Contenders, task: Task) -> dict[str, Any]:
    """Behind a relay that notes when each record arrives."""
    with brokers.relayed(task.bootstrap) as relay:
        measured = contenders.run(replace(task, bootstrap=relay.bootstrap))
    delays = sorted(relay.delays_us)
    if len(delays) < task.count:
        raise ContenderError(f"only {len(delays)} of {task.count} records passed the relay")
    return {**measured, "p50_us": percentile(delays, 0.5), "p99_us": percentile(delays, 0.99), "count": len(delays)}


def _same_runs(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows that are figures of the same runs, which are run once."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.run, []).append(row)
    return list(groups.values())


def rotated(contenders: Sequence[T], number: int) -> list[T]:
    """The order of a round: over as many rounds as there are contenders, each has every place once."""
    start = number % max(len(contenders), 1)
    return [*contenders[start:], *contenders[:start]]


Costs = dict[str, dict[int, float]]
"""contender -> round -> cost"""


def costs_of(row: Row, results: Iterable[Result]) -> Costs:
    """The figure that the row compares, of every run that did not fail."""
    costs: Costs = {}
    for result in results:
        if result.row == row.name and row.metric in result.measured:
            costs.setdefault(result.contender, {})[result.round] = result.measured[row.metric] * row.scale
    return costs


@dataclass(frozen=True)
class Ratio:
    """How many times a subject's cost another's is: the median of the rounds, the minimum and the maximum."""

    median: float
    min: float
    max: float


def ratio_of(subject: Mapping[int, float], other: Mapping[int, float]) -> Ratio | None:
    """The other's cost by the subject's, round by round; None when no round has both."""
    ratios = [other[number] / cost for number, cost in subject.items() if number in other and cost > 0]
    return Ratio(median(ratios), min(ratios), max(ratios)) if ratios else None
