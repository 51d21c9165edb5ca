"""Copies the docstrings of what users of the codec meet from the extension into its stub, where editors look for them.

The extension must be built.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.sources import PACKAGE, formatted

from kwire import _codec

STUB = PACKAGE / "_codec.pyi"
DOCUMENTED = (
    "Buffer", "FrameReceiver", "crc32c", "crc32", "BatchBuilder", "encode", "encode_arrow", "Record", "BatchHeader",
    "Records", "ConsumerRecord", "RecordColumns", "RecordMetadata", "Delivery", "ProducerBase",
)  # fmt: skip

Definition = ast.ClassDef | ast.FunctionDef


def wanted() -> dict[Path, str]:
    """The one file."""
    return {STUB: formatted(with_docstrings(STUB.read_text(encoding="utf-8")), STUB)}


def with_docstrings(stub: str) -> str:
    lines = stub.splitlines(keepends=True)
    for node, doc in reversed(list(documented(ast.parse(stub)))):
        _document(lines, node, doc)
    return "".join(lines)


def documented(tree: ast.Module) -> Iterator[tuple[Definition, str]]:
    """The classes and functions of the stub that have a docstring in the extension, top down."""
    for node in tree.body:
        if isinstance(node, Definition) and node.name in DOCUMENTED:
            known = getattr(_codec, node.name)
            yield node, _doc_of(known)
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                    yield part, _doc_of(getattr(known, part.name))


def _doc_of(known: Any) -> str:
    doc = inspect.getdoc(known)
    if not doc:
        raise SystemExit(f"{known!r} has no docstring")
    return doc


def _document(lines: list[str], node: Definition, doc: str) -> None:
    """Puts `doc` first into the body of `node`, in place of the docstring or the dots that are there."""
    first = node.body[0]
    indent = " " * (node.col_offset + 4)
    text = "".join(f"{indent}{line}".rstrip() + "\n" for line in _literal(doc).splitlines())
    begin, end = first.lineno - 1, first.end_lineno or first.lineno
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        begin = end = min([first.lineno, *(mark.lineno for mark in getattr(first, "decorator_list", ()))]) - 1
    elif first.value.value is ...:
        lines[begin] = lines[begin].rstrip().removesuffix("...").rstrip() + "\n"
        begin = end
    lines[begin:end] = [text]


def _literal(doc: str) -> str:
    """As a string literal over several lines, the way docstrings are written."""
    escaped = doc.replace("\\", "\\\\")
    closed_on_its_own_line = "\n" in doc
    return f'"""{escaped}\n"""' if closed_on_its_own_line else f'"""{escaped}"""'
