"""Reads Python programs for what they use of other clients, without running them: twice, since attributes, functions
and callbacks may be used before they are defined."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from kwire.cli.migrating.judging import (
    DIFFERS,
    MISSING,
    NOT_NEEDED,
    RENAMED,
    UNKNOWN,
    UNKNOWN_VALUE,
    UNSEEN,
    Judgment,
    is_listener,
    judge_code,
    judge_constructor,
    judge_import,
    judge_keyword,
    judge_listener,
    judge_method,
    judge_setting,
    judge_unset,
)
from kwire.cli.migrating.mappings import Entry, Mappings, key_entry
from kwire.cli.migrating.peers import (
    AIOKAFKA,
    CALLBACK_SETTINGS,
    CALLBACKS,
    CLASSES,
    CONFLUENT,
    MODULES,
    Made,
    shown,
)
from kwire.cli.migrating.tracing import Function, Trace, is_of_asyncio, names_in, peer_of

_ELSEWHERE = Judgment(UNSEEN, "these settings are made where reading the program does not tell: look yourself")
_TOPICS = Judgment(DIFFERS, "topics are named by subscribe()")
_CALLED = {
    "Deserializer": Judgment(DIFFERS, "given as value_deserializer= or key_deserializer=, it is called by poll()"),
    "Serializer": Judgment(DIFFERS, "given as value_serializer= or key_serializer=, it is called by send()"),
}
_CLIENTS = ("Admin", "Consumer", "Producer", "ShareConsumer")


class Finding(NamedTuple):
    """A name of another client in a line, and what becomes of it."""

    line: int
    found: str
    judgment: Judgment


def findings(source: str, name: str) -> list[Finding]:
    """What a program uses of other clients, by line. SyntaxError if it is none."""
    program = ast.parse(source, name)
    first = _Reader(Trace(), Mappings())
    first.visit(program)
    second = _Reader(Trace(first.trace), Mappings(first.mappings))
    second.visit(program)
    return sorted(_without_other_clients(second.found), key=lambda finding: finding.line)


def _without_other_clients(found: list[Finding]) -> list[Finding]:
    """Each once; a setting in a mapping for several clients is judged for those that have it."""
    places: dict[tuple[int, str], list[Finding]] = {}
    for finding in dict.fromkeys(found):
        places.setdefault((finding.line, finding.found), []).append(finding)
    return [
        finding
        for several in places.values()
        for finding in several
        if len(several) == 1 or not _is_of_another_client(finding.judgment)
    ]


def _is_of_another_client(judgment: Judgment) -> bool:
    return judgment.outcome == NOT_NEEDED and judgment.text.startswith("it is a setting of")


class _Reader(ast.NodeVisitor):
    def __init__(self, trace: Trace, mappings: Mappings) -> None:
        self.found: list[Finding] = []
        self.trace = trace
        self.mappings = mappings
        self._class: _OwnClass | None = None
        self._function = ""

    # -- imports -------------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if peer_of(alias.name):
                first = alias.name.partition(".")[0]
                self.trace.import_as(alias.asname or first, alias.name if alias.asname else first)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        peer = None if node.level else peer_of(module)
        for alias in node.names if peer is not None else ():
            self.trace.import_as(alias.asname or alias.name, f"{module}.{alias.name}")
            if peer is not None and alias.name not in MODULES:
                self._note(node, f"{module}.{alias.name}", self._imported(peer, module, alias.name), at=alias.lineno)

    def _imported(self, peer: str, module: str, name: str) -> Judgment:
        kind = CLASSES[peer].get(name)
        if kind not in _CLIENTS:
            return judge_import(peer, module, name)
        return _renamed_class(kind, is_aio=peer == AIOKAFKA or is_of_asyncio(peer, f"{module}.{name}"))

    # -- classes and functions -----------------------------------------------------------------------------------------

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer = self._class
        made = next(filter(None, map(self.trace.class_named, node.bases)), None)
        origins = [self.trace.origin_of(base) or "" for base in node.bases]
        hears = any(is_listener(origin.rpartition(".")[2]) for origin in origins)
        self._class = _OwnClass(made, hears, names_in(node.body))
        if made is not None:
            self.trace.subclass(node.name, made)
        self.generic_visit(node)
        self._class = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._read_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._read_function(node)

    def _read_function(self, node: Function) -> None:
        outer, self._function = self._function, node.name
        outside = self.trace.outside()
        self.trace.enter(node, node.name)
        parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        self.mappings.enter({parameter.arg for parameter in parameters})
        if self._class is not None:
            self._read_method(node, self._class)
        self.generic_visit(node)
        self.trace.leave(outside)
        self._function = outer

    def _read_method(self, node: Function, own: _OwnClass) -> None:
        heard = judge_listener(node.name) if own.hears else None
        if heard is not None:
            self._note(node, node.name, heard)
        if own.made is not None and node.args.args:
            self.trace.bind(ast.Name(node.args.args[0].arg), own.made)

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        if node.value is None or not self._function:
            return
        made = self.trace.made_by(node.value)
        if made is not None:
            self.trace.returns(self._function, made)
        self.mappings.returns(self._function, node.value)

    # -- assignments ---------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._assign(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._assign(node.target, node.value)
        self.trace.remember_annotated(ast.unparse(node.target), node.annotation)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.op, ast.BitOr):
            self.mappings.add(ast.unparse(node.target), list(self.mappings.entries(node.value)))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._assign(node.target, node.value)

    def visit_withitem(self, node: ast.withitem) -> None:
        self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._assign(node.optional_vars, node.context_expr)

    def visit_For(self, node: ast.For) -> None:
        self._read_loop(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> None:
        self._read_loop(node)

    def _read_loop(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.trace.loop(node.target, node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._read_comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._read_comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._read_comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._read_comprehension(node)

    def _read_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        for each in node.generators:
            self.visit(each.iter)
            self.trace.loop(each.target, each.iter)
            for condition in each.ifs:
                self.visit(condition)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            self.mappings.add(ast.unparse(target.value), [key_entry(target.slice, value)])
            return
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for part, of in zip(target.elts, value.elts, strict=True):
                self._assign(part, of)
            return
        self.trace.remember(target, value)
        self.mappings.remember(ast.unparse(target), value)

    # -- calls and attributes ------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        made = self.trace.class_named(node.func)
        if made is not None:
            self._read_constructor(node, made)
        self._read_callbacks(node)
        self.generic_visit(node)
        called = self.trace.made_by(node.func)
        if called is not None and called.kind in ("Serializer", "Deserializer"):
            self._note(node, f"{ast.unparse(node.func)}(...)", _CALLED[called.kind])
        origin = self.trace.origin_of(node.func)
        if origin is not None and origin.endswith(".TopicPartition") and len(node.args) > 2:
            self._note(node, "TopicPartition(topic, partition, offset)", judge_import(CONFLUENT, "", "TopicPartition"))
        if isinstance(node.func, ast.Attribute):
            self._read_method_call(node, node.func)

    def _read_method_call(self, node: ast.Call, function: ast.Attribute) -> None:
        if function.attr == "update":
            self.mappings.add(ast.unparse(function.value), list(self.mappings.arguments(node)))
        elif function.attr == "setdefault" and len(node.args) == 2:
            self.mappings.add(ast.unparse(function.value), [key_entry(*node.args)])
        if function.attr == "__init__" and self._class is not None and self._class.made is not None:
            self._read_constructor(node, self._class.made)
        owner = self._owner(function.value)
        for keyword in node.keywords if owner is not None else ():
            judgment = judge_keyword(owner, function.attr, keyword.arg or "") if owner is not None else None
            if judgment is not None:
                self._note(keyword.value, f"{function.attr}({keyword.arg}=)", judgment)

    def _read_callbacks(self, node: ast.Call) -> None:
        """Notes what functions of the program are, or will be, called with."""
        if isinstance(node.func, ast.Name | ast.Attribute):
            given_here = tuple(map(self.trace.made_by, node.args))
            self.trace.is_called_with(ast.unparse(node.func).rpartition(".")[2], given_here)
        if not isinstance(node.func, ast.Attribute):
            return
        owner = self._owner(node.func.value)
        if owner is None:
            return
        given = [(keyword.arg or "", keyword.value) for keyword in node.keywords]
        given += [("", argument) for argument in node.args[:1]]
        for name, function in given:
            kinds = CALLBACKS.get((owner.kind, node.func.attr, name))
            if kinds is not None:
                self._will_be_called(function, owner, kinds)

    def _will_be_called(self, function: ast.expr, owner: Made, kinds: tuple[str, ...]) -> None:
        arguments = tuple(owner._replace(kind=kind) if kind else None for kind in kinds)
        if isinstance(function, ast.Lambda):
            outside = self.trace.outside()
            self.trace.enter_lambda(function, arguments)
            self.visit(function.body)
            self.trace.leave(outside)
        elif isinstance(function, ast.Name | ast.Attribute):
            self.trace.is_called_with(ast.unparse(function).rpartition(".")[2], arguments)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        module, owner = self.trace.module_of(node.value), self._owner(node.value)
        origin = self.trace.origin_of(node.value)
        peer = None if module is None else peer_of(module)
        if module is not None and peer is not None and node.attr not in MODULES:
            self._note(node, f"{module}.{node.attr}", self._imported(peer, module, node.attr))
        elif origin is not None and origin.endswith(".KafkaError") and node.attr.isupper():
            self._note(node, f"KafkaError.{node.attr}", judge_code(node.attr))
        elif owner is not None and node.attr != "__init__":
            self._read_attribute(node, owner)
        self.generic_visit(node)

    def _read_attribute(self, node: ast.Attribute, owner: Made) -> None:
        judgment = judge_method(owner, node.attr)
        is_own = self._class is not None and owner == self._class.made and node.attr in self._class.names
        if not (is_own and judgment == (MISSING, UNKNOWN)):
            self._note(node, f"{shown(owner)}.{node.attr}", judgment, at=node.end_lineno)

    def _owner(self, node: ast.expr) -> Made | None:
        """What a method is called of: `super()` stands for the class that is made of theirs."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super" and self._class is not None:
            return self._class.made
        return self.trace.made_by(node)

    # -- constructors --------------------------------------------------------------------------------------------------

    def _read_constructor(self, node: ast.Call, made: Made) -> None:
        judgment = judge_constructor(made)
        if judgment is not None:
            self._note(node, f"{ast.unparse(node.func)}(...)", judgment)
        entries: list[tuple[Entry, bool]] = []
        positional = list(node.args)
        if made.peer != CONFLUENT:
            if positional and made.kind == "Consumer":
                self._note(node, "topics of the constructor", _TOPICS)
        elif made.kind in _CLIENTS or made.kind == "Registry":
            entries += [(entry, False) for argument in positional for entry in self.mappings.entries(argument)]
        else:
            mappings = filter(self.mappings.is_mapping, positional)
            entries += [(entry, False) for argument in mappings for entry in self.mappings.entries(argument)]
        for keyword in node.keywords:
            entries += self._given_by(keyword, made)
        for entry, is_keyword in entries:
            self._read_setting(entry, made, is_keyword=is_keyword)
        given = {entry.name for entry, _ in entries if entry.name is not None}
        for name, judged in judge_unset(made, given).items():
            self._note(node, f"{shown(made)} without {name}", judged)

    def _given_by(self, keyword: ast.keyword, made: Made) -> list[tuple[Entry, bool]]:
        if keyword.arg is None:
            return [(entry, made.peer != CONFLUENT) for entry in self.mappings.entries(keyword.value)]
        if keyword.arg in ("conf", "config", "producer_conf", "consumer_conf") and made.peer == CONFLUENT:
            return [(entry, False) for entry in self.mappings.entries(keyword.value)]
        if made.kind in ("Deserializer", "Serializer"):
            return []
        return [(Entry(keyword.value, keyword.arg, keyword.value), True)]

    def _read_setting(self, entry: Entry, made: Made, *, is_keyword: bool) -> None:
        if entry.name is None:
            self._note(entry.at, f"{shown(made)}({ast.unparse(entry.at)})", _ELSEWHERE)
            return
        judgment = judge_setting(made.kind, entry.name, _constant(entry.value), is_keyword=is_keyword)
        self._note(entry.at, entry.name, judgment)
        kinds = CALLBACK_SETTINGS.get(entry.name)
        if kinds is not None:
            self._will_be_called(entry.value, made, kinds)

    def _note(self, node: ast.stmt | ast.expr, found: str, judgment: Judgment, *, at: int | None = None) -> None:
        self.found.append(Finding(at or node.lineno, found, judgment))


class _OwnClass(NamedTuple):
    """A class of the program's own: what it is made of, whether it is a listener, its methods and attributes."""

    made: Made | None
    hears: bool
    names: set[str]


def _renamed_class(kind: str, *, is_aio: bool) -> Judgment:
    return Judgment(RENAMED, f"it is kwire{'.aio' if is_aio else ''}.{kind} here")


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNKNOWN_VALUE
