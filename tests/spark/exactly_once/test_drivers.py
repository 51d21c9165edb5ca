"""Two drivers at once on one checkpoint: one stops before some step, another does its work, the first one goes on."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest

from kwire.errors import KafkaError
from kwire.spark.exactly_once.decisions import Job
from tests.spark.exactly_once.query_world import STEPS, EmbeddedQueryWorld, Killed
from tests.thorough import SOAK, THOROUGH

PLACES = ["tasks", *STEPS, "commit log"]
RELEASES = ["3.9.2", "4.4.0"] if SOAK else ["4.4.0"]
PAIRS = [(at, dies_at) for at in PLACES for dies_at in ["", *PLACES]]
SOME_PAIRS = PAIRS if SOAK else PAIRS[:: 7 if THOROUGH else 17]
_SOON_S = 3.0


class Driver(threading.Thread):
    """One run, which waits before the step `at` until it is told to go on, or dies before the step `dies_at`."""

    def __init__(self, world: EmbeddedQueryWorld, *, at: str = "", dies_at: str = "", run: str = "") -> None:
        super().__init__(daemon=True)
        self.world, self.at, self.dies_at = world, at, dies_at
        self.name = run or str(uuid.uuid4())
        self.waits, self.may_go_on = threading.Event(), threading.Event()
        self.outcome = ""

    def run(self) -> None:
        try:
            self.work()
            self.outcome = "done"
        except Killed:
            self.outcome = "killed"
        except KafkaError as error:
            self.outcome = str(error)
        finally:
            self.waits.set()

    def step(self, name: str) -> None:
        if name == self.dies_at:
            raise Killed
        if name == self.at and not self.waits.is_set():
            self.waits.set()
            assert self.may_go_on.wait(60)

    def work(self) -> None:
        world = self.world
        batch = max(world.checkpoint.commits, default=-1) + 1
        rows = world.checkpoint.offsets.setdefault(batch, [b"%d-%d" % (batch, number) for number in range(20)])
        job = Job(world.scope, self.name, batch)
        self.step("tasks")
        world.commit(job, world.run_tasks(job, rows), self.step)
        self.step("commit log")
        world.checkpoint.commits.add(batch)

    def done(self) -> str:
        """Runs to its end."""
        if not self.is_alive():
            self.start()
        self.may_go_on.set()
        self.join(_SOON_S)
        if self.is_alive():  # it waits for what a driver that died had begun, which times out
            self.world.broker.clock.advance(75)
            self.join(60)
        assert self.outcome
        return self.outcome

    def pause(self) -> None:
        """Runs up to its step."""
        self.start()
        assert self.waits.wait(60)


@pytest.fixture(params=RELEASES)
def world(request: pytest.FixtureRequest) -> Iterator[EmbeddedQueryWorld]:
    made = EmbeddedQueryWorld(7, release=request.param, faults=False)
    yield made
    made.stop()


def finish(world: EmbeddedQueryWorld, batch: int) -> None:
    """Drivers come until the batch is in the commit log."""
    for _ in range(4):
        if batch in world.checkpoint.commits:
            return
        Driver(world).done()
    raise AssertionError(f"batch {batch} is never committed")


@pytest.mark.parametrize(("at", "dies_at"), SOME_PAIRS)
def test_a_driver_that_sleeps_while_another_works(world: EmbeddedQueryWorld, at: str, dies_at: str) -> None:
    """Each row of both batches is there once, whichever of them comes through."""
    first = Driver(world, run=str(uuid.uuid4()))
    assert first.done() == "done"
    sleeper = Driver(world, at=at, run=first.name)
    sleeper.pause()
    other = Driver(world, dies_at=dies_at).done()
    assert (other == "done") or dies_at, other
    outcome = sleeper.done()
    finish(world, 1)
    finish(world, 2)
    world.check()
    if other == "done" and at not in ("sweep", "commit log"):
        assert outcome != "done" or at == "finish", "a driver that was overtaken believes that it committed"


@pytest.mark.parametrize("at", PLACES)
def test_a_driver_that_sleeps_through_a_whole_batch_more(world: EmbeddedQueryWorld, at: str) -> None:
    sleeper = Driver(world, at=at)
    sleeper.pause()
    for _ in range(2):
        assert Driver(world).done() == "done"
    outcome = sleeper.done()
    finish(world, 2)
    world.check()
    assert at in ("finish", "sweep", "commit log") or outcome != "done"
