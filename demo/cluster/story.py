"""What happens on the cluster: a shop writes orders, the job makes bills of them, and an auditor counts these.

`undisturbed` lets the job run once. `with_kills` kills drivers, executors, Python workers and brokers in the middle of
micro-batches, by a seed, while the shop goes on; drivers take the two triggers by turns. Either ends with a count of
how often each order is among the committed bills.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from tests.spark.standalone import Standalone, kill

from demo.cluster.driver import Driver
from demo.cluster.environment import make_environment
from demo.cluster.executor_log import TaskRead, reads_of
from demo.cluster.kafka import BILLS, NODES, ORDERS, PARTITIONS, Kafka, Shop, committed_bills
from demo.report import Progress

TRIGGERS: Final = ("available-now", "processing-time")
KINDS: Final = ("driver", "executor", "Python worker", "broker")
"""What is killed, each as often as the others, in an order that the seed chooses."""

_LOOK_S: Final = 0.05
_FIRST_BATCH_WITHIN_S: Final = 300.0
_BATCH_WITHIN_S: Final = 180.0
_JOB_WITHIN_S: Final = 300.0
_STARTS: Final = 5
_KILLED_WITHIN_BATCH_S: Final = 1.5
_PER_BATCH: Final = 400
_PER_SECOND: Final = 300
_LAST_BATCH: Final = 20_000

Tell = Callable[[str], None]


@dataclass
class Place:
    """The running cluster: Spark, Kafka, the folder of the driver with the shipped environment in it."""

    spark: Standalone
    kafka: Kafka
    folder: Path
    archive: Path

    def driver(self, trigger: str, per_batch: int) -> Driver:
        given = {
            "client": self.kafka.client,
            "source": ORDERS,
            "target": BILLS,
            "trigger": trigger,
            "per_batch": str(per_batch),
            "tasks": "4",
            "folder": str(self.folder),
        }
        return Driver(self.spark.url, self.folder, given)


@dataclass
class Outcome:
    """What came of it: how often each order was billed, the micro-batches, what tasks read and where, and the kills."""

    orders: int
    bills: Counter[int]
    batches: list[dict[str, Any]]
    reads: list[TaskRead]
    about: dict[str, Any]
    kills: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[int]:
        return [number for number in range(self.orders) if number not in self.bills]

    @property
    def doubled(self) -> list[int]:
        return [number for number, count in self.bills.items() if count > 1]

    @property
    def is_right(self) -> bool:
        return self.bills == Counter(range(self.orders))


@contextmanager
def cluster(folder: Path, tell: Tell) -> Iterator[Place]:
    """Everything started; whatever happens, all of it has ended when this is left."""
    with ExitStack() as stack:
        began = time.monotonic()
        archive = make_environment(folder)
        size = archive.stat().st_size / 1e6
        tell(f"{archive.name}: {size:.0f} MB with kwire, pyarrow and what they need, {_since(began)}")
        began = time.monotonic()
        kafka = stack.enter_context(Kafka(folder))
        kafka.make_topics()
        tell(f"Apache Kafka {kafka.release.name}: {NODES} brokers with TLS and SCRAM, {_since(began)}")
        began = time.monotonic()
        spark = stack.enter_context(Standalone(folder))
        tell(f"Spark: a master and two workers at {spark.url}, {_since(began)}")
        yield Place(spark, kafka, folder, archive)


def undisturbed(place: Place, orders: int, tell: Tell) -> Outcome:
    """The shop has written all; the job reads it with Trigger.AvailableNow, in several micro-batches."""
    shop = Shop(place.kafka.client, orders)
    shop.start()
    count = shop.close()
    tell(f"{count:,} orders written to '{ORDERS}'; spark-submit ...")
    batches: list[dict[str, Any]] = []
    for left in reversed(range(_STARTS)):
        with place.driver("available-now", orders // 5 + PARTITIONS) as driver:
            _follow(driver, batches, tell)
            if driver.exit_code == 0:
                break
            _give_up_or_again(driver, left, tell)
    return _counted(place, count, batches, driver.about)


def with_kills(place: Place, kills: int, seed: int, tell: Tell) -> Outcome:
    """So many kills, then the job reads what is left."""
    killer = _Killer(place, kills, random.Random(seed), tell)
    shop = Shop(place.kafka.client, _PER_BATCH, _PER_SECOND)
    shop.start()
    shop.opened.wait()
    triggers = cycle(TRIGGERS)
    while killer.left:
        killer.live_and_die(next(triggers))
    count = shop.close()
    tell(f"the shop is closed after {count:,} orders; the job reads what is left")
    for left in reversed(range(_STARTS)):
        with place.driver("available-now", _LAST_BATCH) as driver:
            _follow(driver, killer.batches, tell)
            if driver.exit_code == 0:
                break
            _give_up_or_again(driver, left, tell)
    return _counted(place, count, killer.batches, driver.about, killer.done)


class _Killer:
    """Starts drivers, and kills while they are at work: what is `left` from its end on, which is then `done`."""

    def __init__(self, place: Place, kills: int, rng: random.Random, tell: Tell) -> None:
        self._place, self._rng, self._tell = place, rng, tell
        self.left = list(islice(cycle(KINDS), kills))
        rng.shuffle(self.left)
        self.done: list[str] = []
        self.batches: list[dict[str, Any]] = []

    def live_and_die(self, trigger: str) -> None:
        """One life of a driver, which ends by a kill, with the kills, or by itself."""
        with self._place.driver(trigger, _PER_BATCH) as driver:
            while self.left and self._is_in_a_batch(driver):
                what = self.left[-1]
                if self._kill(what, driver):
                    self.done.append(f"{self.left.pop()} ({trigger})")
                    last = self._last_batch(driver)
                    count = f"kill {len(self.done)} of {len(self.done) + len(self.left)}"
                    self._tell(f"{count}: {what}, {trigger}, after batch {last}")
                if what == "driver":
                    break
            if driver.has_ended and driver.exit_code not in (0, -9):
                self._tell(f"the query ended, and is started again: {driver.why()[:150]}")
            self.batches += driver.batches

    def _is_in_a_batch(self, driver: Driver) -> bool:
        """Waits until one batch more is written, and then for a part of the next one; False when the driver ended."""
        seen = len(driver.batches)
        within_s = _BATCH_WITHIN_S if seen else _FIRST_BATCH_WITHIN_S
        deadline = time.monotonic() + within_s
        while len(driver.batches) == seen:
            if driver.has_ended:
                return False
            if time.monotonic() > deadline:
                raise RuntimeError(f"no batch was written for {within_s:g} s; the driver's log: {driver.kept_log()}")
            time.sleep(_LOOK_S)
        time.sleep(self._rng.uniform(0, _KILLED_WITHIN_BATCH_S))
        return not driver.has_ended

    def _last_batch(self, driver: Driver) -> int:
        told = [*self.batches, *driver.batches]
        return int(told[-1]["batch"]) if told else -1

    def _kill(self, what: str, driver: Driver) -> bool:
        if what == "driver":
            driver.kill()
            return True
        if what == "broker":
            self._kill_broker()
            return True
        spark = self._place.spark
        found = spark.executors() if what == "executor" else spark.python_workers()
        if found:
            kill(self._rng.choice(found))
        return bool(found)

    def _kill_broker(self) -> None:
        """One at a time: of three replicas two have to be there."""
        kafka = self._place.kafka
        kafka.wait_for_replicas()
        node = self._rng.choice(kafka.node_ids)
        kafka.kill_node(node)
        time.sleep(self._rng.uniform(0, 3))
        kafka.start_node(node)


def _follow(driver: Driver, batches: list[dict[str, Any]], tell: Tell) -> None:
    """Tells of each micro-batch until the driver ends."""
    deadline = time.monotonic() + _JOB_WITHIN_S
    told = 0
    while True:
        has_ended = driver.has_ended
        for batch in driver.batches[told:]:
            tell(f"batch {batch['batch']:3}  {batch['rows']:8,} orders in {batch['seconds']:5.2f} s")
            batches.append(batch)
            told += 1
        if has_ended:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the job did not end within {_JOB_WITHIN_S:g} s; its log: {driver.kept_log()}")
        time.sleep(_LOOK_S)


def _give_up_or_again(driver: Driver, left: int, tell: Tell) -> None:
    why = f"the job ended with exit code {driver.exit_code}: {driver.why()}"
    if not left:
        raise RuntimeError(f"{why}\n  its log: {driver.kept_log()}")
    tell(f"{why[:200]}; starting again")


def _counted(
    place: Place, orders: int, batches: list[dict[str, Any]], about: dict[str, Any], kills: list[str] | None = None
) -> Outcome:
    progress = Progress("read_committed, confluent", max(orders, 1))
    bills = committed_bills(place.kafka, progress.show)
    progress.finish(bills.total())
    return Outcome(orders, bills, batches, list(reads_of(place.spark.executor_logs())), about, kills or [])


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"
