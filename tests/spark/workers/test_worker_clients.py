"""A worker's clients are kept from task to task, and never shared."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from kwire.spark.workers.clients import MAX_IDLE, borrowed, close_idle_clients, idle_clients


class Client:
    """Counts how often it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def nothing_idle() -> Iterator[None]:
    close_idle_clients()
    yield
    close_idle_clients()


def test_a_client_is_kept_under_its_name() -> None:
    with borrowed(Client, "a") as first:
        pass
    with borrowed(Client, "b") as other, borrowed(Client, "a") as again:
        assert again is first
        assert other is not first
    assert idle_clients() == [first, other]
    close_idle_clients()
    assert (first.closed, other.closed, idle_clients()) == (1, 1, [])


def test_one_whose_block_fails_is_closed() -> None:
    with pytest.raises(KeyError), borrowed(Client, "a") as client:
        raise KeyError
    assert (client.closed, idle_clients()) == (1, [])


def test_two_at_once_are_two_and_one_is_kept() -> None:
    with borrowed(Client, "a") as outer:
        with borrowed(Client, "a") as inner:
            assert inner is not outer
    assert idle_clients() == [outer]
    assert (outer.closed, inner.closed) == (0, 1)


def test_a_forked_process_takes_none_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    with borrowed(Client, "a") as parents:
        pass
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -1)
        assert idle_clients() == []
        with borrowed(Client, "a") as own:
            assert own is not parents
        close_idle_clients()
        assert (own.closed, parents.closed) == (1, 0)
    assert idle_clients() == [parents]


def test_only_the_last_few_are_kept() -> None:
    made: list[Client] = []

    def make() -> Client:
        made.append(Client())
        return made[-1]

    for name in range(MAX_IDLE + 2):
        with borrowed(make, name):
            pass
        with borrowed(make, 0):
            pass
    assert len(idle_clients()) == MAX_IDLE
    assert [client.closed for client in made] == [0, 1, 1, *[0] * (MAX_IDLE - 1)]
