"""The compiled halves and their Python subclasses fit: nothing is looked up that the base does not declare.

Cython compiles an undeclared attribute of a typed variable to a look-up by name at run time, so a method of a subclass
that is renamed would only be missed when it is called. Each is therefore declared in the base, as a hook that raises
NotImplementedError; mypy holds the subclasses to the stub, stubtest the stub to the extension.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from kwire import _codec
from kwire.drivers.loop import LoopDriver
from kwire.drivers.loop_socket import LoopSocket
from kwire.drivers.reactor import Reactor
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.link import Link
from kwire.engine.connections.node import Node
from kwire.engine.connections.versions import Versions
from kwire.engine.core import Core
from kwire.engine.producer.idempotence import Idempotence
from kwire.engine.producer.sender import Sender
from kwire.producer import Producer
from tests.cython_analysis import SOURCES, analysis

ROOT = Path(__file__).resolve().parents[1]
HALVES = [Connection, Core, Idempotence, Link, LoopDriver, LoopSocket, Node, Producer, Reactor, Sender, Versions]
CLASS = re.compile(r"^cdef class (\w+)", re.MULTILINE)
HOOK = re.compile(
    r'^    def (\w+)\(self[^"]*?\):\n        """(?:[^"]|"(?!""))+"""\n        raise NotImplementedError\n', re.MULTILINE
)


def hooks_of(path: Path) -> dict[str, set[str]]:
    """Class -> the methods that it leaves to its subclass."""
    _, *parts = CLASS.split(path.read_text())
    return {name: set(HOOK.findall(body)) for name, body in zip(parts[::2], parts[1::2], strict=True)}


HOOKS = {name: hooks for path in SOURCES.glob("_pxi/client/*.pxi") for name, hooks in hooks_of(path).items() if hooks}


def test_every_attribute_of_a_typed_variable_is_declared() -> None:
    undeclared = sorted(str(found) for found in analysis().undeclared)
    assert not undeclared, "\n".join(undeclared)


def test_every_hook_is_found() -> None:
    raising = sum(path.read_text().count("raise NotImplementedError") for path in SOURCES.glob("_pxi/*/*.pxi"))
    assert sum(map(len, HOOKS.values())) == raising


@pytest.mark.parametrize("half", HALVES, ids=lambda half: half.__name__)
def test_a_subclass_defines_every_hook(half: type) -> None:
    (base,) = half.__mro__[1:2]
    assert base.__module__ == _codec.__name__
    for name in HOOKS.get(base.__name__, ()):
        assert name in vars(half), f"{half.__name__} leaves out {name}"
        assert parameters(getattr(half, name)) == parameters(getattr(base, name)), f"{half.__name__}.{name}"


def test_every_base_with_hooks_has_its_subclass_here() -> None:
    assert HOOKS.keys() <= {half.__mro__[1].__name__ for half in HALVES}


def parameters(method: object) -> list[str]:
    return list(inspect.signature(method).parameters)  # type: ignore[arg-type]


def test_a_hook_that_is_renamed_fails_the_type_check() -> None:
    """mypy asks for `@override` where pyproject.toml says so: in the file of each half."""
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (strict,) = (entry["module"] for entry in overrides if "explicit-override" in entry.get("enable_error_code", ()))
    assert {half.__module__ for half in HALVES} <= set(strict)
