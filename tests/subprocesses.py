"""Runs Python code in a process of its own: for what would take the test process with it if it went wrong.

What starts such a process by itself takes `with_this_kwire()` for its environment: the tree's sources are the wrong
package for a Python that tests a wheel, since the extensions beside them are another Python's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import kwire


def with_this_kwire(**environment: str) -> dict[str, str]:
    """This process's environment, with what these add, in which a child imports the package that this process has."""
    return {**os.environ, "PYTHONPATH": str(Path(kwire.__file__).parents[1]), **environment}


def run_python(code: str, timeout: float = 60.0, **environment: str) -> str:
    """What the code printed; an AssertionError with its last words when it ended by a signal or an exception."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout
