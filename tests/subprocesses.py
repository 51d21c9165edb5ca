"""Runs Python code in a process of its own: for what would take the test process with it if it went wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_python(code: str, timeout: float = 60.0, **environment: str) -> str:
    """What the code printed; an AssertionError with its last words when it ended by a signal or an exception."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout
