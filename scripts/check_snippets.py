"""Type-checks the Python programs of README.md and docs/ as a user's editor would: mypy and basedpyright, each once.

`python scripts/check_snippets.py`, or `make check`. Each block becomes a module of its own in a folder that is removed
afterwards; those of a page in a folder of docs/, which share their names, become one. Programs in documents do without
annotations of their own functions; all else is as strict as it can be.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w-]+\.py)\n")
"""How a block begins that is a file of its own."""

GIVEN = {
    "spark": "pyspark.sql.SparkSession",
    "query": "pyspark.sql.streaming.query.StreamingQuery",
    **dict.fromkeys(("frame", "orders", "rows", "totals"), "pyspark.sql.DataFrame"),
    "broker": "kwire.testing.Broker",
    "ca_pem": "str",
    "ORDER": "str",
    "fetch_token": "collections.abc.Callable[[], str]",
    "run_my_service": "collections.abc.Callable[[str], None]",
    "submit_jobs": "collections.abc.Callable[[], None]",
}
"""What the text around a block speaks of, with its type."""

ELSEWHERE = {
    "aws_msk_iam_sasl_signer": """\
class MSKAuthTokenProvider:
    @staticmethod
    def generate_auth_token(region: str) -> tuple[str, int]: ...
"""
}
"""Stubs of packages that a program needs and that are not installed here."""

_IMPORTS = (ast.Import, ast.ImportFrom)
_MYPY = ("--strict", "--allow-untyped-defs", "--allow-untyped-calls", "--allow-incomplete-defs", "--check-untyped-defs")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="snippets-", dir=ROOT / "tests" / "typing") as name:
        folder = Path(name)
        for package, stub in ELSEWHERE.items():
            (folder / f"{package}.pyi").write_text(stub, encoding="utf-8")
        written = [path for document in documents() for path in write_blocks(document, folder)]
        checks = [
            [sys.executable, "-m", "mypy", "--no-error-summary", *_MYPY, *map(str, written)],
            ["basedpyright", "--level", "error", *map(str, written)],
        ]
        outcomes = [subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False) for check in checks]
    failed = [outcome for outcome in outcomes if outcome.returncode]
    for outcome in failed:
        print(outcome.stdout, outcome.stderr, sep="", end="", file=sys.stderr)
    if not failed:
        print(f"{len(written)} programs of the documents agree with the types")
    return 1 if failed else 0


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def write_blocks(document: Path, folder: Path) -> list[Path]:
    """Writes each program as a file named by document and line, or as it calls itself: others import it by that."""
    written = []
    name = "_".join(document.relative_to(ROOT).with_suffix("").parts).replace("-", "_").lower()
    for line, code in programs(document):
        file = _FILE.match(code)
        path = folder / (file[1] if file else f"{name}_line_{line}.py")
        path.write_text(with_names(code), encoding="utf-8")
        written.append(path)
    return written


def programs(document: Path) -> Iterator[tuple[int, str]]:
    """Each with the line where it begins."""
    text = document.read_text(encoding="utf-8")
    found = [(text.count("\n", 0, block.start()) + 2, block[1]) for block in _BLOCK.finditer(text)]
    if document.parent in (ROOT, ROOT / "docs"):
        yield from found
        return
    yield from (each for each in found if _FILE.match(each[1]))
    parts = [each for each in found if not _FILE.match(each[1])]
    if parts:
        yield parts[0][0], "\n".join(code for _, code in parts)


def with_names(code: str) -> str:
    """The block, after a declaration of what it uses and does not make."""
    tree = ast.parse(code)
    made = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, _IMPORTS) for alias in node.names}
    made |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
    missing = [name for name in GIVEN if name in used - made]
    modules = sorted({kind.partition("[")[0].rpartition(".")[0] for kind in map(GIVEN.__getitem__, missing)} - {""})
    lines = [f"import {module}" for module in modules]
    lines += [f"def _{name}() -> {GIVEN[name]}: raise NotImplementedError\n{name} = _{name}()" for name in missing]
    if "pyarrow.compute" in code:  # which makes its functions when it is imported
        lines.insert(0, "# pyright: reportAttributeAccessIssue=false")
    return "".join(f"{line}\n" for line in lines) + code


if __name__ == "__main__":
    sys.exit(main())
