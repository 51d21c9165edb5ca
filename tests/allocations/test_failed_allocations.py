"""No memory for one allocation, whichever it is: the call says so, keeps nothing, and the next one works.

What is tried is in `codec_works.py`, `result_works.py` and `client_works.py`; each runs in a process of its own with
`failing_malloc.c`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thorough import THOROUGH

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.environ.get("KWIRE_SANITIZED") == "1",
    reason="replaces the malloc of glibc, as sanitizers do",
)


@pytest.fixture(scope="module")
def failing_malloc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("malloc") / "failing_malloc.so"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(library)]
    subprocess.run([*command, str(HERE / "failing_malloc.c")], check=True)
    return library


def run(library: Path, module: str, *arguments: str) -> list[str]:
    """Runs the works of a module; the names of those that have come to their end."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", f"tests.allocations.{module}", *arguments],
        capture_output=True, text=True, timeout=300, check=False, cwd=ROOT,
        env={
            **os.environ, "LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc", "PYTHONPATH": path,
            "MALLOC_PERTURB_": "165",  # fresh memory is not 0, and what was freed is not what it was
        },
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-500:]}\nexit {done.returncode}: {done.stderr[-3000:]}"
    return [line.split()[0] for line in done.stdout.splitlines()]


def test_each_allocation_of_the_codec_may_fail(failing_malloc: Path) -> None:
    names = run(failing_malloc, "codec_works")
    assert {"decode-2-none", "columns", "encode-arrow", "json-values", "sent-rows"} <= set(names)


def test_each_allocation_may_fail_when_batches_end_are_placed_or_split(failing_malloc: Path) -> None:
    names = run(failing_malloc, "result_works")
    assert set(names) == {"complete", "fail", "place", "split", "without-headers"}


def test_each_allocation_of_a_client_may_fail(failing_malloc: Path) -> None:
    names = run(failing_malloc, "client_works", "1" if THOROUGH else "4")
    assert {"send", "flush", "send-columns", "poll"} <= set(names)
