"""What the expressions of a program make, as far as that can be told without running it.

Follows imports, names and attributes that a class of theirs was called for or that are annotated with it, subclasses,
functions that return such an object, callbacks by what they will be given, loops, and what calls return. A name counts
from its assignment on, in its function and those inside; an attribute (`self.consumer`) in the whole file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from kwire.cli.migrating.judging import MISSING, TABLES, UNKNOWN, judge_method
from kwire.cli.migrating.peers import (
    CLASSES,
    CONFLUENT,
    ELEMENTS,
    MODULES,
    PACKAGES,
    PARTS,
    RESULTS,
    VALUES,
    Made,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Trace:
    """What is known of the names of a program. A second reading knows from the beginning what the first one has found
    of attributes and functions, which may be used before they are defined."""

    def __init__(self, first: Trace | None = None) -> None:
        self._origins: dict[str, str] = {}
        self._imported: set[Made] = set()
        self._made: dict[str, Made] = {} if first is None else {k: v for k, v in first._made.items() if "." in k}
        self._returned: dict[str, Made] = {} if first is None else first._returned
        self._subclasses: dict[str, Made] = {} if first is None else first._subclasses
        self._given: dict[str, tuple[Made | None, ...]] = {} if first is None else first._given

    # -- what names stand for ----------------------------------------------------------------------------------------

    def import_as(self, name: str, origin: str) -> None:
        self._origins[name] = origin
        made = self.class_named(ast.Name(name))
        if made is not None:
            self._imported.add(made)

    def origin_of(self, node: ast.AST) -> str | None:
        """The dotted name in a package of theirs that a name or a path of attributes stands for."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        first, dot, rest = ast.unparse(node).partition(".")
        origin = self._origins.get(first)
        return None if origin is None else f"{origin}{dot}{rest}"

    def module_of(self, node: ast.AST) -> str | None:
        """The module of theirs that it stands for."""
        origin = self.origin_of(node)
        return origin if origin is not None and MODULES.issuperset(origin.split(".")) else None

    def class_named(self, node: ast.AST) -> Made | None:
        """The class of theirs, or one made of it, that a name or a path of attributes stands for."""
        if isinstance(node, ast.Name) and node.id in self._subclasses:
            return self._subclasses[node.id]
        origin = self.origin_of(node)
        peer = None if origin is None else peer_of(origin)
        if origin is None or peer is None:
            return None
        name = origin.rpartition(".")[2]
        kind = CLASSES[peer].get(name)
        return None if kind is None else Made(peer, kind, is_aio=is_of_asyncio(peer, origin))

    # -- what becomes known --------------------------------------------------------------------------------------------

    def subclass(self, name: str, made: Made) -> None:
        self._subclasses[name] = made

    def returns(self, function: str, made: Made) -> None:
        self._returned[function] = made

    def is_called_with(self, function: str, arguments: tuple[Made | None, ...]) -> None:
        """The first arguments of a function of the program, which they or the program will call."""
        if any(arguments):
            self._given[function] = arguments

    def outside(self) -> dict[str, Made]:
        return dict(self._made)

    def leave(self, outside: dict[str, Made]) -> None:
        """Forgets the names of a function, and keeps the attributes that it has set."""
        self._made = {**outside, **{name: made for name, made in self._made.items() if "." in name}}

    def enter(self, function: Function | ast.Lambda, name: str = "") -> None:
        arguments = [*function.args.posonlyargs, *function.args.args]
        for argument in (*arguments, *function.args.kwonlyargs):
            self._made.pop(argument.arg, None)
            self.remember_annotated(argument.arg, argument.annotation)
            self.bind(ast.Name(argument.arg), self._made.get(argument.arg) or self._guessed(function, argument.arg))
        self._bind(arguments, self._given.get(name, ()))

    def enter_lambda(self, function: ast.Lambda, given: tuple[Made | None, ...]) -> None:
        self.enter(function)
        self._bind(function.args.args, given)

    def _guessed(self, function: ast.AST, parameter: str) -> Made | None:
        """The one imported class with the methods that are called of a parameter; one word (`close`) tells nothing."""
        called = {
            node.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == parameter
        }
        telling = {name for name in called if "_" in name}
        fitting = [made for made in self._imported if any(has_method(made, name) for name in telling)]
        return fitting[0] if len(fitting) == 1 else None

    def _bind(self, arguments: list[ast.arg], given: tuple[Made | None, ...]) -> None:
        own = arguments[1:] if arguments and arguments[0].arg in ("self", "cls") else arguments
        for argument, made in zip(own, given, strict=False):
            if made is not None:
                self._made[argument.arg] = made

    def remember(self, target: ast.expr, value: ast.expr) -> None:
        self.bind(target, self.made_by(value))

    def bind(self, target: ast.expr, made: Made | None) -> None:
        name = ast.unparse(target)
        self._made.pop(name, None)
        if made is not None and isinstance(target, ast.Name | ast.Attribute):
            self._made[name] = made

    def remember_annotated(self, name: str, annotation: ast.expr | None) -> None:
        for part in ast.walk(annotation) if annotation is not None else ():
            made = self.class_named(part)
            if made is not None:
                self._made[name] = made

    def loop(self, target: ast.expr, over: ast.expr) -> None:
        """Binds what a loop makes its targets stand for."""
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute):
            owner = self.made_by(over.func.value)
            if owner is not None and owner.kind in VALUES:
                value = owner._replace(kind=VALUES[owner.kind])
                if over.func.attr == "values":
                    return self.bind(target, value)
                if over.func.attr == "items" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                    return self.bind(target.elts[1], value)
        if isinstance(over, ast.Call) and ast.unparse(over.func) == "enumerate" and over.args:
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                self.loop(target.elts[1], over.args[0])
            return None
        made = self.made_by(over)
        kinds = PARTS | {"Consumer": "Record"}
        self.bind(target, made._replace(kind=kinds[made.kind]) if made is not None and made.kind in kinds else None)
        return None

    # -- what expressions make -----------------------------------------------------------------------------------------

    def made_by(self, node: ast.expr) -> Made | None:
        """What an expression makes."""
        if isinstance(node, ast.Await | ast.NamedExpr):
            return self.made_by(node.value)
        if isinstance(node, ast.Subscript):
            made = self.made_by(node.value)
            is_slice = isinstance(node.slice, ast.Slice)
            return made if is_slice else self._element(made)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._made.get(ast.unparse(node))
        if isinstance(node, ast.Call):
            return self._made_by_call(node)
        return None

    def _made_by_call(self, node: ast.Call) -> Made | None:
        if isinstance(node.func, ast.Attribute):
            owner = self.made_by(node.func.value)
            kind = None if owner is None else RESULTS[owner.peer].get((owner.kind, node.func.attr))
            if owner is not None and kind is not None:
                return owner._replace(kind=kind)
        name = ast.unparse(node.func)
        if name in ("anext", "next") and node.args:
            return self._element(self.made_by(node.args[0]))
        return self.class_named(node.func) or self._returned.get(name.rpartition(".")[2])

    def _element(self, made: Made | None) -> Made | None:
        return None if made is None or made.kind not in ELEMENTS else made._replace(kind=ELEMENTS[made.kind])


def has_method(made: Made, name: str) -> bool:
    """Whether something is known of such a method of theirs."""
    return made.kind in TABLES and judge_method(made, name) != (MISSING, UNKNOWN)


def peer_of(module: str) -> str | None:
    """The client that a module is of."""
    return PACKAGES.get(module.partition(".")[0])


def is_of_asyncio(peer: str, origin: str) -> bool:
    """Whether a class of confluent-kafka has coroutines where its twin has methods that wait."""
    name = origin.rpartition(".")[2]
    return peer == CONFLUENT and (name.startswith(("AIO", "Async")) or ".aio." in origin)


def names_in(body: Iterable[ast.stmt]) -> set[str]:
    """The methods and attributes that a class of the program's own has."""
    found = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, Function):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return found
