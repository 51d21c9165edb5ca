"""Each compiled target has its function in C, and each function a target."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fuzz.targets import all_targets


def test_targets_and_functions_are_the_same() -> None:
    table = Path(__file__).with_name("_pxi") / "table.pxi"
    functions = re.findall(r'"([a-z-]+)": _capsule\(', table.read_text())
    targets = [each for each in all_targets().values() if each.is_compiled]
    assert sorted(f"c-{name}" for name in functions) == sorted(each.name for each in targets)


def test_a_compiled_target_is_not_of_another_family() -> None:
    for each in all_targets().values():
        assert each.is_compiled == each.name.startswith("c-")
