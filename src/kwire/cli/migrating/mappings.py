"""Mappings of settings as a program writes them: dicts, dict(...), `|`, `**`, assignments to keys and update()."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_COPIES = {"copy", "copy.copy", "copy.deepcopy", "deepcopy", "dict"}


class Entry(NamedTuple):
    """A setting and where it stands; without a name a part that reading the program does not tell."""

    at: ast.expr
    name: str | None
    value: ast.expr


class Mappings:
    """The mappings of a program, by the names that they are kept under, and by the functions that return them. A second
    reading knows the latter from the beginning."""

    def __init__(self, first: Mappings | None = None) -> None:
        self._kept: dict[str, list[Entry]] = {}
        self._parameters: set[str] = set()
        self._returned: dict[str, list[Entry]] = {} if first is None else first._returned

    def enter(self, parameters: set[str]) -> None:
        """The names are parameters of a function: mappings of which only what the function adds is known."""
        for name in parameters:
            self.forget(name)
        self._parameters |= parameters

    def returns(self, function: str, value: ast.expr) -> None:
        """The function returns this, if it is a mapping."""
        if self.is_mapping(value):
            self._returned[function] = list(self.entries(value))

    def forget(self, name: str) -> None:
        """The name stands for something else from now on."""
        self._kept.pop(name, None)
        self._parameters.discard(name)

    def remember(self, name: str, value: ast.expr) -> None:
        """The name stands for this, if it is a mapping."""
        entries = list(self.entries(value)) if self.is_mapping(value) else None
        self.forget(name)
        if entries is not None:
            self._kept[name] = entries

    def add(self, name: str, entries: list[Entry]) -> None:
        """Adds what is assigned to keys of a mapping; a later value of a key wins."""
        if name in self._parameters and name not in self._kept:
            parameter = ast.Name(name)
            self._kept[name] = [Entry(parameter, None, parameter)]
        if name in self._kept:
            new = {entry.name for entry in entries} - {None}
            self._kept[name] = [entry for entry in self._kept[name] if entry.name not in new] + entries

    def is_mapping(self, node: ast.expr) -> bool:
        """Whether it is a mapping as far as can be seen."""
        if isinstance(node, ast.Dict) or ast.unparse(node) in self._kept:
            return True
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.BitOr) and (self.is_mapping(node.left) or self.is_mapping(node.right))
        if not isinstance(node, ast.Call):
            return False
        name = ast.unparse(node.func)
        return name == "dict" or name in self._returned or self._copied(node) is not None

    def entries(self, node: ast.expr) -> Iterator[Entry]:
        """The names and values of a mapping as far as it is written out."""
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    yield from self.entries(value)
                else:
                    yield key_entry(key, value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self.entries(node.left)
            yield from self.entries(node.right)
        elif ast.unparse(node) in self._kept:
            yield from self._kept[ast.unparse(node)]
        elif isinstance(node, ast.Call) and (copied := self._copied(node)) is not None:
            yield from self.entries(copied)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "dict":
            yield from self.arguments(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in self._returned:
            yield from self._returned_by(node)
        else:
            yield Entry(node, None, node)

    def _returned_by(self, call: ast.Call) -> Iterator[Entry]:
        """What a function of the program returns, with the mapping that it is given in place of its parameter."""
        given = [entry for part in filter(self.is_mapping, call.args) for entry in self.entries(part)]
        for entry in self._returned[ast.unparse(call.func)]:
            if entry.name is None and isinstance(entry.at, ast.Name) and given:
                yield from given
            else:
                yield entry if entry.name is not None else Entry(call, None, call)

    def arguments(self, call: ast.Call) -> Iterator[Entry]:
        """What is given to dict() or update()."""
        for part in call.args:
            yield from self.entries(part)
        for keyword in call.keywords:
            if keyword.arg is None:
                yield from self.entries(keyword.value)
            else:
                yield Entry(keyword.value, keyword.arg, keyword.value)

    def _copied(self, call: ast.Call) -> ast.expr | None:
        """The mapping that the call copies."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "copy" and not call.args:
            return call.func.value if self.is_mapping(call.func.value) else None
        if ast.unparse(call.func) in _COPIES and len(call.args) == 1 and not call.keywords:
            return call.args[0] if self.is_mapping(call.args[0]) else None
        return None


def key_entry(key: ast.expr, value: ast.expr) -> Entry:
    """A key that is written out, or not."""
    written = key.value if isinstance(key, ast.Constant) else None
    return Entry(key, written if isinstance(written, str) else None, value)
