"""What it costs to have and to import a package. The task names the package as its contender."""

from __future__ import annotations

import resource
import subprocess
import sys
import zlib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from benchmarks.compare.contenders.task import Task
from benchmarks.compare.processes import ROOT, environment
from benchmarks.compare.rows import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, KWIRE

_BUDGETS = 5
_COMPILED = (".so", ".dylib", ".pyd")
_NOT_IN_A_WHEEL = {".pyc", ".pyx", ".pxi", ".h", ".c"}
_STATEMENTS = {
    ("import-package", KWIRE): "import kwire",
    ("import-package", CONFLUENT): "import confluent_kafka",
    ("import-package", AIOKAFKA): "import aiokafka",
    ("import-package", KAFKA_PYTHON): "import kafka",
    ("import-records", KWIRE): "import kwire.records",
    ("import-records", AIOKAFKA): "import aiokafka.record.memory_records",
    ("import-records", KAFKA_PYTHON): "import kafka.record.memory_records",
    ("import-producer", KWIRE): "from kwire import Producer",
    ("import-producer", CONFLUENT): "from confluent_kafka import Producer",
    ("import-producer", AIOKAFKA): "from aiokafka import AIOKafkaProducer",
    ("import-producer", KAFKA_PYTHON): "from kafka import KafkaProducer",
}


def import_time(task: Task) -> dict[str, float]:
    """CPU of fresh interpreters that import it, less that of interpreters that import nothing."""
    statement = _STATEMENTS[task.case, task.contender]
    costs, bare_costs = [_cpu_ms(statement)], [_cpu_ms("pass")]
    while sum(costs) < task.budget_s * _BUDGETS * 1000:
        costs.append(_cpu_ms(statement))
        bare_costs.append(_cpu_ms("pass"))
    bare = min(bare_costs)  # the minimum, because other work on the machine only adds
    return {"cpu_ms": max(min(costs) - bare, 0.0), "bare_cpu_ms": bare}


def _cpu_ms(statement: str) -> float:
    before = _cpu_of_children()
    subprocess.run([sys.executable, "-c", statement], cwd=ROOT, env=environment(), check=True)
    return (_cpu_of_children() - before) * 1000


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size(task: Task) -> dict[str, float]:
    """An installed package's files, deflated as in a wheel, and the compiled code among them; kwire's of this tree."""
    files = [path for path in _files_of(task.contender) if path.is_file() and path.suffix not in _NOT_IN_A_WHEEL]
    deflated = sum(len(zlib.compress(path.read_bytes(), 6)) for path in files)
    compiled = [path for path in files if path.suffix in _COMPILED or ".so." in path.name]
    return {"wheel_mb": deflated / 1e6, "compiled_mb": sum(path.stat().st_size for path in compiled) / 1e6}


def _files_of(package: str) -> Iterable[Path]:
    if package == KWIRE:
        return ROOT.joinpath("src").rglob("*")
    try:
        found = distribution(package)
    except PackageNotFoundError as missing:
        raise SystemExit(f"{package} is not installed") from missing
    if not found.files:
        raise SystemExit(f"{package} lists no files: is it installed from a wheel?")
    return [Path(str(found.locate_file(path))) for path in found.files]
