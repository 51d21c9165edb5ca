"""What a process of Spark's imports of kwire before its first row or its first plan: every query pays for it anew."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SHOW = "import sys, {module}; print(*sorted(sys.modules))"
_RARE = {
    "kwire.engine.admin.group_calls", "kwire.engine.groups.membership", "kwire.engine.transactions", "kwire.producer",
}  # fmt: skip
_OF_PLANNING = {"kwire.admin", "kwire._prepared", "kwire.spark.planning.live_cluster"}


@pytest.mark.parametrize(
    ("module", "spared"),
    [
        ("kwire.spark.reading.read_task", _RARE | _OF_PLANNING),
        ("kwire.spark.streams.source", {*_RARE, "kwire._prepared", "kwire.consumer"}),
        ("kwire.spark.planning.plan_read", {*_RARE, "kwire._prepared", "kwire.consumer"}),
        ("kwire.spark.data_source", {"pyarrow", "kwire.consumer", "kwire.admin"}),
    ],
)
def test_a_process_imports_nothing_that_it_seldom_needs(module: str, spared: set[str]) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", _SHOW.format(module=module)], capture_output=True, text=True, check=True
    )
    brought = set(shown.stdout.split())
    assert module in brought
    assert not brought & spared
