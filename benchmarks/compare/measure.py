"""What a piece of work cost: CPU of the whole process, wall time, memory. Both sides of the process boundary.

CPU is user plus system time of all threads of a process, as the kernel counts it. A benchmark is not a timed test:
nothing here fails because something was slow, only because it did not end within its limit.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class WorkFailedError(Exception):
    """A process did not do its work; the text has the end of what it wrote."""


class Meter:
    """Measures the body of a `with`: `cpu_s`, `wall_s`; `added_kib` is the peak of resident memory above its start."""

    cpu_s = 0.0
    wall_s = 0.0
    added_kib = 0

    def __enter__(self) -> Self:
        self._resident = _status_kib("VmRSS")
        _forget_peak()
        self._cpu = _cpu_seconds()
        self._wall = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wall_s = time.perf_counter() - self._wall
        self.cpu_s = _cpu_seconds() - self._cpu
        self.added_kib = max(_status_kib("VmHWM") - self._resident, 0)

    def of(self, count: int) -> dict[str, float]:
        """The cost of `count` records: CPU seconds per million, records per second and the time of one, memory."""
        return {
            "cpu_s_per_million": self.cpu_s * 1e6 / count,
            "records_per_s": count / self.wall_s,
            "wall_ns": self.wall_s * 1e9 / count,
            "added_mib": self.added_kib / 1024,
            "count": count,
        }


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _status_kib(field: str) -> int:
    """A field of /proc/self/status in KiB; where there is no /proc, the highest resident size there ever was."""
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise LookupError(f"{_STATUS} has no {field}")


def _forget_peak() -> None:
    if _CLEAR.exists():
        _CLEAR.write_text("5")


@dataclass(frozen=True)
class Finished:
    """A process that ended well: what it wrote to stdout, and its whole cost from start to end."""

    output: str
    cpu_s: float
    wall_s: float


def run_process(command: Sequence[str], limit_s: float, environment: Mapping[str, str] | None = None) -> Finished:
    """Runs a command in the repository's root until it ends; kills it after `limit_s` seconds.

    Raises WorkFailedError when it fails or is killed.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=worker_environment() if environment is None else dict(environment),
    )
    killer = threading.Timer(limit_s, process.kill)
    killer.start()
    complaints: list[str] = []
    listener = threading.Thread(target=lambda: complaints.append(_read_all(process.stderr)))
    listener.start()
    try:
        output = _read_all(process.stdout)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        killer.cancel()
        listener.join()
    if process.returncode != 0:
        raise WorkFailedError(
            f"exit code {process.returncode} after {time.perf_counter() - started:.1f} s (limit {limit_s:.0f} s): "
            + "".join(complaints).strip()[-800:]
        )
    return Finished(output, used.ru_utime + used.ru_stime, time.perf_counter() - started)


def _read_all(stream: Any) -> str:
    with stream:
        text: str = stream.read()
    return text


def worker_environment() -> dict[str, str]:
    """The environment of contenders and sinks: this tree's kwire, and no variable that changes how Python runs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
