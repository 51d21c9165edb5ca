"""Reads Python programs for what they use of other clients, without running them.

Follows imports, names and attributes that an imported class was called for (in a `with`, too) or that are annotated
with it, dicts that are written out, and what send() and poll() return. A name counts from its assignment on, in its
function and those inside; `self.consumer` counts in the whole file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from kwire.cli.migrating.judging import (
    CHANGE,
    UNKNOWN_VALUE,
    UNSEEN,
    Judgment,
    judge_import,
    judge_keyword,
    judge_method,
    judge_setting,
)
from kwire.cli.migrating.peers import AIOKAFKA, CLASSES, CONFLUENT, KAFKA_PYTHON, PACKAGES, RESULTS, Made

_ELSEWHERE = Judgment(UNSEEN, "these settings are made where reading the program does not tell: look yourself")


class Finding(NamedTuple):
    """A name of another client in a line, and what becomes of it."""

    line: int
    found: str
    judgment: Judgment


def findings(source: str, name: str) -> list[Finding]:
    """What a program uses of other clients, by line. SyntaxError if it is none."""
    reader = _Reader()
    reader.visit(ast.parse(source, name))
    return sorted(dict.fromkeys(reader.found), key=lambda finding: finding.line)


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[Finding] = []
        self._origins: dict[str, str] = {}
        self._made: dict[str, Made] = {}
        self._dicts: dict[str, ast.expr] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if _peer_of(alias.name):
                self._origins[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        peer = None if node.level else _peer_of(module)
        if peer is None:
            return
        for alias in node.names:
            self._origins[alias.asname or alias.name] = f"{module}.{alias.name}"
            if alias.name not in ("*", "errors", "admin", "aio", "structs"):
                self._note(node, f"import {module}.{alias.name}", self._imported(peer, module, alias.name))

    def _imported(self, peer: str, module: str, name: str) -> Judgment:
        kind = CLASSES[peer].get(name)
        if kind is None:
            return judge_import(peer, module, name)
        is_aio = peer == AIOKAFKA or name.startswith("AIO")
        return Judgment(CHANGE, f"it is kwire{'.aio' if is_aio else ''}.{kind} here")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._read_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._read_function(node)

    def _read_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outside = dict(self._made)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self._made.pop(argument.arg, None)
            self._remember_annotated(argument.arg, argument.annotation)
        self.generic_visit(node)
        self._made = {**outside, **{name: made for name, made in self._made.items() if "." in name}}

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._remember(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._remember(node.target, node.value)
        self._remember_annotated(ast.unparse(node.target), node.annotation)

    def visit_withitem(self, node: ast.withitem) -> None:
        self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._remember(node.optional_vars, node.context_expr)

    def visit_Call(self, node: ast.Call) -> None:
        made = self._class_called(node)
        if made is not None:
            self._read_constructor(node, made)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute):
            owner = self._kind_of(node.func.value)
            for keyword in node.keywords if owner else ():
                judgment = judge_keyword(owner, node.func.attr, keyword.arg or "") if owner else None
                if judgment is not None:
                    self._note(keyword.value, f"{node.func.attr}({keyword.arg}=)", judgment)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = self._kind_of(node.value)
        if owner is not None:
            self._note(node, f"{owner.kind}.{node.attr}", judge_method(owner, node.attr), at=node.end_lineno)
        self.generic_visit(node)

    def _read_constructor(self, node: ast.Call, made: Made) -> None:
        positional = list(node.args)
        if made.peer != CONFLUENT:
            if positional and made.kind == "Consumer":
                self._note(node, "topics of the constructor", Judgment(CHANGE, "topics are named by subscribe()"))
        else:
            for argument in positional:
                self._read_config(argument, made)
        for keyword in node.keywords:
            if keyword.arg is None:
                self._read_config(keyword.value, made, is_keyword=made.peer != CONFLUENT)
            else:
                self._setting(keyword.value, keyword.arg, keyword.value, made, is_keyword=True)

    def _read_config(self, node: ast.expr, made: Made, *, is_keyword: bool = False) -> None:
        entries = list(self._entries(node))
        for at, name, value in entries:
            if name is None:
                self._note(at, f"{made.kind}({ast.unparse(at)})", _ELSEWHERE)
            else:
                self._setting(at, name, value, made, is_keyword=is_keyword)

    def _entries(self, node: ast.expr) -> Iterator[tuple[ast.expr, str | None, ast.expr]]:
        """The names and values of a mapping as far as it is written out; None for a part that is not."""
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    yield from self._entries(value)
                elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key, key.value, value
                else:
                    yield key, None, value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "dict":
            for part in node.args:
                yield from self._entries(part)
            for keyword in node.keywords:
                if keyword.arg is None:
                    yield from self._entries(keyword.value)
                else:
                    yield keyword.value, keyword.arg, keyword.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self._entries(node.left)
            yield from self._entries(node.right)
        elif ast.unparse(node) in self._dicts:
            yield from self._entries(self._dicts[ast.unparse(node)])
        else:
            yield node, None, node

    def _setting(self, at: ast.expr, name: str, value: ast.expr, made: Made, *, is_keyword: bool) -> None:
        self._note(at, name, judge_setting(made.kind, name, _constant(value), is_keyword=is_keyword))

    def _remember(self, target: ast.expr, value: ast.expr) -> None:
        name = ast.unparse(target)
        made = self._kind_of(value)
        self._made.pop(name, None)
        self._dicts.pop(name, None)
        if made is not None:
            self._made[name] = made
        elif isinstance(value, ast.Dict | ast.BinOp) or (
            isinstance(value, ast.Call) and ast.unparse(value.func) == "dict"
        ):
            self._dicts[name] = value

    def _remember_annotated(self, name: str, annotation: ast.expr | None) -> None:
        parts = ast.walk(annotation) if annotation is not None else ()
        for part in parts:
            made = self._class_named(part)
            if made is not None:
                self._made[name] = made

    def _kind_of(self, node: ast.expr) -> Made | None:
        """What an expression makes, as far as that can be told."""
        if isinstance(node, ast.Await):
            return self._kind_of(node.value)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                owner = self._kind_of(node.func.value)
                kind = RESULTS.get((owner.kind, node.func.attr)) if owner is not None else None
                if owner is not None and kind is not None and not (kind == "Delivery" and owner.peer != KAFKA_PYTHON):
                    return Made(owner.peer, kind)
            return self._class_called(node)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._made.get(ast.unparse(node))
        return None

    def _class_called(self, node: ast.Call) -> Made | None:
        return self._class_named(node.func)

    def _class_named(self, node: ast.AST) -> Made | None:
        """The class of theirs that a name or a path of attributes stands for."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        first, dot, rest = ast.unparse(node).partition(".")
        origin = self._origins.get(first)
        peer = None if origin is None else _peer_of(origin)
        if origin is None or peer is None:
            return None
        kind = CLASSES[peer].get(f"{origin}{dot}{rest}".rpartition(".")[2])
        return None if kind is None else Made(peer, kind)

    def _note(self, node: ast.stmt | ast.expr, found: str, judgment: Judgment, *, at: int | None = None) -> None:
        self.found.append(Finding(at or node.lineno, found, judgment))


def _peer_of(module: str) -> str | None:
    return PACKAGES.get(module.partition(".")[0])


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNKNOWN_VALUE
