"""The engine's names for error codes are Kafka's, and what a code means is said in one place."""

from __future__ import annotations

import ast
from pathlib import Path

from kwire import engine, errors
from kwire.engine.calls import fan_out
from kwire.schema import error_codes
from tests.each import each

ENGINE = Path(engine.__file__).parent
NAMED = {name: code for name, code in vars(error_codes).items() if name.isupper()}


@each("name", NAMED)
def test_a_code_has_kafkas_name(name: str) -> None:
    assert errors.broker.by_code(NAMED[name]).name == name


def test_a_request_without_effect_may_always_be_repeated() -> None:
    assert all(errors.broker.by_code(code).retriable for code in fan_out.NOT_LOOKED_AT)


@each("path", sorted(ENGINE.rglob("*.py")))
def test_codes_are_compared_by_name(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare) and is_code(node.left):
            numbers = [
                right for right in node.comparators if isinstance(right, ast.Constant) and right.value is not None
            ]
            assert not numbers, f"line {node.lineno}"
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("error_for", "by_code")):
            assert not isinstance(node.args[0], ast.Constant), f"line {node.lineno}"


def is_code(node: ast.expr) -> bool:
    return ast.unparse(node).rsplit(".", 1)[-1] in ("code", "error_code")
