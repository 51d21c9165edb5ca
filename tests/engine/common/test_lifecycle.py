"""A lifecycle obeys its table, whatever the interpreter's flags, and nothing in the engine goes round it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from scripts.lifecycles import lifecycles

from kwire.engine.common.lifecycle import ImpossibleMoveError, Lifecycle, Moves, State

ENGINE = Path(__file__).parents[3] / "src" / "kwire" / "engine"


class Door(Lifecycle):
    MOVES: ClassVar[Moves] = {
        "shut": State("nobody gets through", {"open": "pushed", "locked": "the key is turned"}),
        "open": State("people get through", {"shut": "pulled"}),
        "locked": State("nobody opens it", {}),
    }

    def __init__(self) -> None:
        self.state = "shut"


def test_a_move_of_the_table_is_made() -> None:
    door = Door()
    door.move("open")
    assert door.state == "open"


def test_another_move_is_refused_and_changes_nothing() -> None:
    door = Door()
    door.move("locked")
    with pytest.raises(ImpossibleMoveError, match="Door: locked -> open"):
        door.move("open")
    assert door.state == "locked"


def test_a_state_that_may_follow_itself_is_in_the_table_as_such() -> None:
    with pytest.raises(ImpossibleMoveError):
        Door().move("shut")


def test_the_table_holds_without_assertions() -> None:
    program = """
from kwire.engine.common.lifecycle import ImpossibleMoveError
from kwire.engine.transactions import manager, states

class Unbegun(manager.TransactionManager):
    def __init__(self):
        self.state = states.FATAL

assert False, "assertions are off"
try:
    Unbegun().move(states.OPEN)
except ImpossibleMoveError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "Unbegun: fatal -> open\n"


# -- nothing goes round it ---------------------------------------------------------------------------------------------


def _assigned(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, ast.expr, ast.expr | None]]:
    """Each assignment to an attribute `state`: the function it is in, the object, and the value; None where it is one
    of many that a call returns."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                pairs = _pairs(target, getattr(node, "value", None))
                for each, value in pairs:
                    if isinstance(each, ast.Attribute) and each.attr == "state" and isinstance(each.ctx, ast.Store):
                        yield function, each.value, value


def _pairs(target: ast.expr | None, value: ast.expr | None) -> list[tuple[ast.expr | None, ast.expr | None]]:
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    values = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
    return list(zip(target.elts, values, strict=True))


def _is_checked(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "self.checked"


def _bypasses(path: Path) -> list[str]:
    return [
        f"{path.name}, {function.name}: {ast.unparse(owner)}.state"
        for function, owner, value in _assigned(ast.parse(path.read_text()))
        if function.name != "__init__" and not _is_checked(value)
    ]


def test_no_file_of_the_engine_sets_a_state_but_by_its_table() -> None:
    assert not [bypass for path in ENGINE.rglob("*.py") for bypass in _bypasses(path)]


def test_a_way_round_the_table_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "engine.py"
    path.write_text(
        "def a(self):\n    self.state = A\ndef b(self):\n    self.x, self.state = 1, self.checked(B)\n"
        "def c(self):\n    self.x, link.state = both()\ndef d(self):\n    self.state: str = D\n"
    )
    assert _bypasses(path) == ["engine.py, a: self.state", "engine.py, c: link.state", "engine.py, d: self.state"]


# -- the tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lifecycle", lifecycles())
def test_moves_lead_to_states_of_the_table_and_each_state_is_reached(lifecycle: type[Lifecycle]) -> None:
    first, *others = lifecycle.MOVES
    followers = {to for row in lifecycle.MOVES.values() for to in row.moves}
    assert followers <= set(lifecycle.MOVES)
    assert set(others) <= followers, first
