"""Coverage of kwire's Python, for targets that are traced: its functions are compiled with calls in them.

A call stands before each statement, and before each part of an expression that may be left out or done again. A trace
function costs more: while there is one, Python looks for the next line at each instruction, of all code.
"""

from __future__ import annotations

import ast
import builtins
import sys
import zlib
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Final

_CALLED: Final = "count_line_of_kwire"


def count_lines(folder: str, count: Callable[[int], None]) -> None:
    """From now on modules of kwire whose path holds `folder` call `count`, with a number for each place."""
    setattr(builtins, _CALLED, count)
    sys.meta_path.insert(0, _Finder(folder))


class _Finder(MetaPathFinder):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target) if fullname.startswith("kwire.") else None
        if found is not None and isinstance(found.loader, SourceFileLoader) and self._folder in found.loader.path:
            found.loader = _Loader(fullname, found.loader.path)
        return found


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        return compile(counted(self.get_data(self.path), fullname), self.path, "exec", dont_inherit=True)


def counted(source: bytes, module: str) -> ast.Module:
    """The source of a module with the calls in it."""
    tree: ast.Module = _Counted(module).visit(ast.parse(source))
    return ast.fix_missing_locations(tree)


class _Counted(ast.NodeTransformer):
    def __init__(self, module: str) -> None:
        self._module = module

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.IfExp):
            node.body, node.orelse = self._expression(node.body), self._expression(node.orelse)
        elif isinstance(node, ast.BoolOp):
            node.values[1:] = map(self._expression, node.values[1:])
        elif isinstance(node, ast.Lambda):
            node.body = self._expression(node.body)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            node.elt = self._expression(node.elt)
        elif not isinstance(node, ast.Module | ast.ClassDef):  # whose statements run once
            for name in ("body", "orelse", "finalbody"):
                statements: list[ast.stmt] = getattr(node, name, [])
                statements[:] = [each for one in statements for each in self._statements(one)]
        return node

    def _statements(self, of: ast.stmt) -> list[ast.stmt]:
        if isinstance(of, ast.Expr) and isinstance(of.value, ast.Constant):
            return [of]  # a docstring
        return [ast.copy_location(ast.Expr(self._call(of)), of), of]

    def _expression(self, of: ast.expr) -> ast.expr:
        return ast.copy_location(ast.BoolOp(ast.Or(), [self._call(of), of]), of)  # the call returns None

    def _call(self, of: ast.stmt | ast.expr) -> ast.expr:
        number = zlib.crc32(f"{self._module}:{of.lineno}:{of.col_offset}".encode()) >> 2
        return ast.Call(ast.Name(_CALLED, ast.Load()), [ast.Constant(number)], [])
