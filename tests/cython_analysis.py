"""What Cython's own analysis knows of the extensions: which file uses a name of which, and what is looked up by name.

`analysis()` runs the compiler over both as far as the types of all expressions, once per process (6 s), without writing
anything. An attribute that the type of a variable does not declare still compiles: as a look-up by name, in the
object's dictionary, at run time.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from Cython.Compiler import Main, Nodes, Pipeline
from Cython.Compiler.ParseTreeTransforms import AnalyseExpressionsTransform
from Cython.Compiler.Scanning import FileSourceDescriptor
from Cython.Compiler.Visitor import TreeVisitor

SOURCES = Path(__file__).resolve().parents[1] / "src/kwire"


class Use(NamedTuple):
    """A name that `file` uses and `source` defines; files are named as where they are included: "codec/blocks.pxi"."""

    file: str
    source: str
    name: str


class LookUp(NamedTuple):
    """An attribute that the type of its variable does not declare."""

    file: str
    line: int
    type: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.type} does not declare {self.attribute}"


class Analysis(NamedTuple):
    uses: frozenset[Use]
    undeclared: frozenset[LookUp]


@cache
def analysis() -> Analysis:
    """Of all extensions together."""
    found = [_analysis(path.stem) for path in SOURCES.glob("*.pyx")]
    uses, undeclared = zip(*found, strict=True)
    return Analysis(frozenset().union(*uses), frozenset().union(*undeclared))


def _analysis(name: str) -> Analysis:
    options = Main.CompilationOptions(Main.default_options, language_level=3, include_path=[str(SOURCES / "_pxi")])
    context = Main.Context.from_options(options)
    source = FileSourceDescriptor(str(SOURCES / f"{name}.pyx"), f"kwire/{name}.pyx")
    unit = Main.CompilationSource(source, f"kwire.{name}", str(SOURCES))
    result = Main.create_default_resultobj(unit, options)
    context.setup_errors(options, result)
    steps = Pipeline.create_pyx_pipeline(context, options, result)
    analysed = next(at for at, step in enumerate(steps) if isinstance(step, AnalyseExpressionsTransform))
    named, typed = NamedTypes(), TypedNames()
    error, _ = Pipeline.run_pipeline([steps[0], named, *steps[1 : analysed + 1], typed], unit)
    assert error is None, error
    assert typed.scope is not None
    types = {Use(file, of(typed.scope.lookup(name)), name) for file, name in named.found}
    uses = {use for use in typed.uses | types if use.file and use.source and use.source != use.file}
    return Analysis(frozenset(uses), frozenset(typed.undeclared))


class Visitor(TreeVisitor):  # type: ignore[misc]
    """A step of the pipeline that only looks."""

    def __call__(self, root: Any) -> Any:
        self.visit(root)
        return root

    def visit_Node(self, node: Any) -> None:  # noqa: N802 - found by name
        self.visitchildren(node)


class NamedTypes(Visitor):
    """The names of types as they stand in declarations, before the compiler puts types in their place."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()

    def visit_CSimpleBaseTypeNode(self, node: Nodes.Node) -> None:  # noqa: N802
        if node.name and not node.is_basic_c_type:
            self.found.add((file_at(node.pos), node.name))


class TypedNames(Visitor):
    """Names and attributes with what they were found to be."""

    def __init__(self) -> None:
        super().__init__()
        self.scope: Any = None
        self.uses: set[Use] = set()
        self.undeclared: set[LookUp] = set()

    def visit_ModuleNode(self, node: Nodes.Node) -> None:  # noqa: N802
        self.scope = node.scope
        self.visitchildren(node)

    def visit_NameNode(self, node: Nodes.Node) -> None:  # noqa: N802
        self.uses.add(Use(file_at(node.pos), of(node.entry), node.name))

    def visit_AttributeNode(self, node: Nodes.Node) -> None:  # noqa: N802
        self.visitchildren(node)
        if node.obj.type is None or not node.obj.type.is_extension_type:
            return
        file = file_at(node.pos)
        entry = declared(node.obj.type, node.attribute)
        if entry is not None:
            self.uses.add(Use(file, of(entry), node.attribute))
        elif node.is_py_attr:
            self.undeclared.add(LookUp(file, node.pos[1], node.obj.type.name, node.attribute))


def declared(type_: Any, attribute: str) -> Any:
    """Where the class, or one that it inherits from, declares the attribute; None if none does."""
    found = None
    while type_ is not None and type_.is_extension_type and type_.scope is not None:
        found = type_.scope.lookup_here(attribute) or found
        type_ = type_.base_type
    return found


def of(entry: Any) -> str:
    """The file of `_pxi/` that defines it; "" for what is built in or imported."""
    return file_at(entry.pos) if entry is not None and entry.pos else ""


def file_at(position: Any) -> str:
    path = Path(position[0].get_description())
    return "/".join(path.parts[-2:]) if path.suffix == ".pxi" else ""
