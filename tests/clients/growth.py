"""What an object holds, by place: so that what grows is found whatever it is called.

Containers are counted by the class and attribute that lead to them, or by class alone where compiled code has no names.
"""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Iterable
from logging import Logger
from threading import Thread
from types import BuiltinFunctionType, CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

_OUTSIDE = (type, ModuleType, FrameType, CodeType, BuiltinFunctionType, Thread, Logger, str, bytes, int, float)
_CONTAINERS = (dict, list, set, frozenset, deque)


def sizes(*roots: object) -> Counter[str]:
    """How many items all containers of each place hold together, of those that the roots lead to."""
    found: Counter[str] = Counter()
    held: list[object] = []  # so that no id is used again meanwhile
    seen: set[int] = set()
    waiting = deque((root, type(root).__name__) for root in roots)
    while waiting:
        each, place = waiting.popleft()
        if id(each) in seen or isinstance(each, _OUTSIDE):
            continue
        seen.add(id(each))
        held.append(each)
        if isinstance(each, _CONTAINERS):
            found[place] += len(each)
        waiting.extend(_inside(each, place))
    return found


def _inside(each: Any, place: str) -> Iterable[tuple[object, str]]:
    if isinstance(each, dict):
        return [(inner, place + "[]") for row in each.items() for inner in row]
    if isinstance(each, (*_CONTAINERS, tuple)):
        return [(inner, place + "[]") for inner in each]
    if isinstance(each, FunctionType):
        return [(cell, place) for cell in each.__closure__ or ()]
    if isinstance(each, MethodType | CellType):
        return [(inner, place) for inner in gc.get_referents(each)]
    name = type(each).__name__
    named = [(inner, f"{name}.{attribute}") for attribute, inner in getattr(each, "__dict__", {}).items()]
    return named + [(inner, name) for inner in gc.get_referents(each)]


def grown(before: Counter[str], after: Counter[str], least: int) -> dict[str, tuple[int, int]]:
    """The places that hold so many items more."""
    return {place: (before[place], count) for place, count in sorted(after.items()) if count - before[place] >= least}
