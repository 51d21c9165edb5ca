"""Whoever makes requests or sets timers can go on after a step that was cut, and is told of it."""

from __future__ import annotations

import ast
import gc
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire.engine.admin.a15_describe_groups import DescribeGroups
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.common.recovery import Recoverable
from kwire.schema.error_codes import COORDINATOR_NOT_AVAILABLE
from tests.engine.common.test_lifecycle import ENGINE
from tests.engine.embedded_clients import EmbeddedProducer
from tests.engine.embedded_world import EmbeddedClient, EmbeddedWorld
from tests.engine.groups.group_world import GroupMember
from tests.engine.share.test_every_share_state import Reader
from tests.engine.transactions.world import TransactionalProducer

ASKING = {"request", "call_at", "_call_at", "HedgedRequest"}
REQUESTS = {
    "kwire.engine.calls.hedged_request.HedgedRequest": "it is asked for as a request is, and its owner cancels it"
}
FORGOTTEN = {"reset", "forget", "end"}
"""By which `Core.recover` begins the room of connections anew as a whole, one inside the other."""


def _asks(node: ast.ClassDef) -> bool:
    """Whether a class makes requests or sets timers. One that returns what it made has made it for another."""
    returned = {id(each.value) for each in ast.walk(node) if isinstance(each, ast.Return)}
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call) and id(each) not in returned]
    return any(_name(call.func) in ASKING for call in calls)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _owners() -> Iterator[type]:
    for path in sorted(ENGINE.rglob("*.py")):
        module = ".".join(("kwire.engine", *path.relative_to(ENGINE).with_suffix("").parts))
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and _asks(node):
                yield getattr(importlib.import_module(module), node.name)


OWNERS = list(_owners())


def _full_name(owner: type) -> str:
    return f"{owner.__module__}.{owner.__qualname__}"


def test_there_are_owners_in_every_room_that_asks() -> None:
    rooms = {owner.__module__.split(".")[2] for owner in OWNERS}
    assert rooms == {
        "calls", "connections", "consumer", "groups", "metadata", "producer", "share", "telemetry", "transactions"
    }  # fmt: skip


@pytest.mark.parametrize("owner", OWNERS, ids=_full_name)
def test_an_owner_of_requests_or_timers_can_recover(owner: type) -> None:
    if owner.__module__.startswith("kwire.engine.connections."):
        assert FORGOTTEN & set(vars(owner)), "nothing begins it anew"
    elif _full_name(owner) not in REQUESTS:
        assert issubclass(owner, Recoverable), "it makes requests or sets timers: see common/recovery.py"
        assert owner.recover is not Recoverable.recover


def test_an_owner_without_recover_is_seen() -> None:
    source = "class A:\n  def f(self): self.r = self._core.request(1)\nclass B:\n  def f(self): return c.request(1)\n"
    assert [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and _asks(node)] == ["A"]


# -- each is told ------------------------------------------------------------------------------------------------------


def _subclasses(base: type) -> Iterator[type]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)


def _classic(world: EmbeddedWorld) -> EmbeddedClient:
    return GroupMember(world, "m").subscribe("t").poll_every(lambda: 0.1)


def _new(world: EmbeddedWorld) -> EmbeddedClient:
    return GroupMember(world, "m", group_protocol="consumer").subscribe("t").poll_every(lambda: 0.1)


def _share(world: EmbeddedWorld) -> EmbeddedClient:
    reader = Reader(world)
    reader.polls = True
    return reader


def _producer(world: EmbeddedWorld) -> EmbeddedClient:
    producer = EmbeddedProducer(world)
    producer.send("t", b"v")
    producer.sender.close("closed", producer.now)
    return producer


def _transactional(world: EmbeddedWorld) -> EmbeddedClient:
    producer = TransactionalProducer(world, transactional_id="x")
    producer.init()
    producer.begin()
    producer.send("t", b"v")
    return producer


def _admin(world: EmbeddedWorld) -> EmbeddedClient:
    client = world.client()
    world.faults.error("FindCoordinator", COORDINATOR_NOT_AVAILABLE, times=None)
    FanOutCall(client.core, DescribeGroups(["g"]), deadline=world.now + 60, now=world.now)
    return client


@pytest.mark.parametrize("make", [_classic, _new, _share, _producer, _transactional, _admin])
def test_every_owner_of_a_client_is_told_of_a_cut_step(
    make: Callable[[EmbeddedWorld], EmbeddedClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()
    before = {id(each): each for each in _living()}  # held, so that no identity comes again
    world = EmbeddedWorld(nodes=1, topics={"t": 2})
    client = make(world)
    for _ in range(2):
        told: set[int] = set()
        _note_recovery(monkeypatch, told)
        client.open.clear()
        client.core.recover(client.now)
        owners = [each for each in _living() if id(each) not in before]
        assert owners
        assert not [type(each).__name__ for each in owners if id(each) not in told]
        world.run(world.now + 1.0)


def _living() -> list[Recoverable]:
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, Recoverable)]


def _note_recovery(monkeypatch: pytest.MonkeyPatch, told: set[int]) -> None:
    for kind in {each for each in _subclasses(Recoverable) if "recover" in vars(each)}:
        original = vars(kind)["recover"]

        def recover(owner: Any, now: float, original: Callable[[Any, float], None] = original) -> None:
            told.add(id(owner))
            original(owner, now)

        monkeypatch.setattr(kind, "recover", recover)
