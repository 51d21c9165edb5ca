"""The program of many processes, and a client of the parent in a process that was forked from it."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from kwire import Producer
from kwire.errors import ClientClosedError
from kwire.testing import Broker
from tests.examples.running import commands_for, run

of_the_parent: Producer


def use_it() -> None:
    of_the_parent.send("t", b"a child's")


PLAIN, SPAWN = commands_for("many_processes.py")


@pytest.mark.parametrize(
    "command",
    [
        f"{PLAIN} --method fork",
        f"{SPAWN} --processes 2",
        pytest.param(f"{PLAIN} --method forkserver", marks=pytest.mark.nightly),
    ],
)
def test_all_that_many_processes_write_is_added_up_by_many(command: str) -> None:
    with Broker() as broker:
        said = run(f"{command} --orders 25000", broker)
    assert said.splitlines()[0] == "25,000 orders written; of all in 'orders-of-many' owe"
    expected = [sum(number % 1000 for number in range(customer, 25_000, 10)) / 100 for customer in range(10)]
    assert said.splitlines()[1:] == [f"customer-{at}: {cents:,.2f}" for at, cents in enumerate(expected)]


def test_a_producer_of_the_parent_raises_in_a_forked_worker_and_the_error_comes_back() -> None:
    global of_the_parent
    with Broker(topics={"t": 1}) as broker, Producer(broker.bootstrap_servers) as of_the_parent:
        of_the_parent.send("t", b"before").result(10)
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as workers:
            with pytest.raises(ClientClosedError, match="make a new one after a fork"):
                workers.submit(use_it).result(60)
        of_the_parent.send("t", b"after").result(10)
        assert broker.values("t") == [b"before", b"after"]
