"""Results as data files: JSON lines, the first about machine and versions, then one for each run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.compare.measure import ROOT
from benchmarks.compare.runner import Outcome

PUBLISHED = ROOT / "benchmarks" / "results"
PLOTS = ROOT / "docs" / "plots"
_PRIVATE = ROOT / ".cache" / "compare"
_PACKAGES = ("confluent-kafka", "aiokafka", "kafka-python", "kio", "pyarrow", "cramjam", "isal")


def about(rounds: int, quick: bool, left_out: str) -> dict[str, Any]:
    """The machine, the versions, the date; how busy the machine was with other work at the start; and what is not in
    it."""
    from kwire import __version__

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": rounds,
        "quick": quick,
        "left_out": left_out,
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": [round(load, 2) for load in os.getloadavg()],
        "versions": {"kwire": __version__, **{name: _version(name) for name in _PACKAGES}},
        "commit": _commit(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def recorded(header: dict[str, Any], outcomes: Iterable[Outcome], path: Path) -> Iterator[Outcome]:
    """Gives the outcomes on, each written to the file as it comes: a run that is cut short has not run for nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"about": header}) + "\n")
        for outcome in outcomes:
            file.write(json.dumps(_rounded(asdict(outcome))) + "\n")
            file.flush()
            yield outcome


def load(path: Path) -> tuple[dict[str, Any], list[Outcome]]:
    """What `recorded` wrote."""
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    return json.loads(first)["about"], [Outcome(**json.loads(line)) for line in rest]


def default_path(header: dict[str, Any], *, published: bool) -> Path:
    """A name by the date, in the tree or beside it."""
    stamp = str(header["date"]).replace(":", "").replace("-", "").partition("+")[0]
    return (PUBLISHED if published else _PRIVATE) / f"{stamp}.jsonl"


def _rounded(value: Any) -> Any:
    """Five significant digits are more than a measurement has."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return value
