"""What to test of a change beyond the tests of every push: `python scripts/touched.py BASE` prints it, a line each.

A line is a pytest path, or the name of another make target. Tests mirror `src/kwire/`; the table has what they do not
say: which tests beside real brokers, peers and Spark's connector belong to which part.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PRODUCER = ("tests/brokers/test_kills.py", "tests/clients/test_producer_kafka.py")
_CONSUMER = ("tests/brokers/test_fetch_sessions.py", "tests/clients/test_consumer_kafka.py")
_TRANSACTIONS = ("tests/brokers/transactions", "tests/clients/test_transactions_kafka.py")
_CONNECTIONS = ("tests/brokers/test_slow_connections.py", "tests/brokers/test_mortal_connections.py")
_CLIENTS = (*_PRODUCER, *_CONSUMER, *_TRANSACTIONS, "tests/brokers/test_group_balance.py")

NIGHTLY: dict[str, tuple[str, ...]] = {
    "_codec": ("test-plain",),
    "_values": ("test-plain", "tests/spark"),
    "_pxi/codec/": ("test-plain", "tests/oracle"),
    "_pxi/client/": ("test-plain", *_CLIENTS),
    "_pxi/values/": ("test-plain", "tests/spark"),
    "engine/telemetry/": ("tests/brokers/telemetry",),
    "protocol": ("tests/oracle",),
    "schema/": ("tests/oracle",),
    "columns/": ("tests/spark",),
    "drivers/": _CONNECTIONS,
    "engine/admin/": ("tests/brokers/test_commits.py",),
    "engine/calls/": ("tests/brokers/test_commits.py", *_CONSUMER),
    "engine/common/": _CLIENTS,
    "engine/connections/": ("tests/brokers/security", *_CONNECTIONS),
    "engine/consumer/": _CONSUMER,
    "engine/core": _CLIENTS,
    "engine/groups/": ("tests/brokers/groups", "tests/brokers/test_group_balance.py"),
    "engine/metadata/": ("tests/brokers/test_failover.py", *_PRODUCER),
    "engine/producer/": _PRODUCER,
    "engine/settings/": ("tests/brokers/security",),
    "engine/share/": ("tests/brokers/groups/test_share_groups.py",),
    "engine/transactions/": _TRANSACTIONS,
    "fronts/": _CLIENTS,
    "aio/": ("tests/brokers/security/test_every_listener.py", *_TRANSACTIONS),
    "cli/": ("tests/brokers/test_shell.py",),
    "registry/": ("tests/spark",),
    "spark/": ("tests/spark",),
    "tables/": ("tests/brokers/test_tables.py",),
    "testing/": ("tests/testing",),
    "worker/": ("tests/worker", "tests/brokers/test_worker.py"),
}
"""What to run for a change in each part of `src/kwire/`."""

NOTHING_MORE = {
    "_admin/": "signatures; what they ask is in engine/admin/",
    "contrib/": "reads what clients count; its tests need no more than the embedded broker",
    "engine/ports": "types only",
    "errors/": "names and texts only",
    "legacy/": "Kafka 0.7 is in the tests of every push",
    "log_files/": "segments are in the tests of every push",
}
"""Parts without a row, and why."""

_PACKAGE = "src/kwire/"


def touched(paths: list[str]) -> list[str]:
    """What to run for a change of those files, each once, in the table's order."""
    parts = [path.removeprefix(_PACKAGE) for path in paths if path.startswith(_PACKAGE)]
    found = [run for part, runs in NIGHTLY.items() if any(path.startswith(part) for path in parts) for run in runs]
    tests = [path for path in paths if path.startswith("tests/") and Path(path).match("test_*.py")]
    tests = [path for path in tests if (ROOT / path).exists()]
    folders = tuple(f"{run}/" for run in found if not run.endswith(".py"))
    return list(dict.fromkeys([*found, *(path for path in tests if not path.startswith(folders))]))


def changed_since(base: str) -> list[str]:
    """The files that differ from `base`; none where there is no such commit, as in a clone of depth 1."""
    there = ["git", "rev-parse", "--quiet", "--verify", f"{base}^{{commit}}"]
    if subprocess.run(there, check=False, cwd=ROOT, capture_output=True).returncode:
        return []
    command = ["git", "diff", "--name-only", base]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


if __name__ == "__main__":
    print(*touched(changed_since(sys.argv[1])), sep="\n")
