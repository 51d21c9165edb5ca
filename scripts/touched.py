"""What to test of a change beyond the tests of every push: `python scripts/touched.py BASE` prints it, a line each.

A line is a pytest path, or the name of another make target. Tests mirror `src/kwire/`; the table has what they do not
say: which tests beside real brokers, peers and Spark's connector belong to which part.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NIGHTLY = {
    "src/kwire/_codec": ("test-plain",),
    "src/kwire/_pxi/": ("test-plain",),
    "src/kwire/_pxi/values/": ("tests/spark",),
    "src/kwire/_values": ("test-plain", "tests/spark"),
    "src/kwire/protocol": ("tests/oracle",),
    "src/kwire/schema/": ("tests/oracle",),
    "src/kwire/testing/": ("tests/testing",),
    "src/kwire/spark/": ("tests/spark",),
    "src/kwire/columns/": ("tests/spark",),
    "src/kwire/engine/connections/": ("tests/brokers/security",),
    "src/kwire/engine/consumer/": ("tests/brokers/test_fetch_sessions.py", "tests/clients/test_consumer_kafka.py"),
    "src/kwire/engine/groups/": ("tests/brokers/groups",),
    "src/kwire/engine/producer/": ("tests/brokers/test_kills.py", "tests/clients/test_producer_kafka.py"),
    "src/kwire/engine/share/": ("tests/brokers/groups/test_share_groups.py",),
    "src/kwire/engine/transactions/": ("tests/brokers/transactions", "tests/clients/test_transactions_kafka.py"),
    "src/kwire/drivers/": ("tests/brokers/test_slow_connections.py", "tests/brokers/test_mortal_connections.py"),
    "src/kwire/cli/": ("tests/brokers/test_shell.py",),
}


def touched(paths: list[str]) -> list[str]:
    """What to run for a change of those files, each once, in the table's order."""
    found = [run for prefix, runs in NIGHTLY.items() if any(path.startswith(prefix) for path in paths) for run in runs]
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
