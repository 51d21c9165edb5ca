"""Second tries of tests: who may have one, and the ledger of those that were given.

Only a test marked `wall_clock` may: it has real processes or a real broker before it, and the time they take is part
of what it asserts. With KWIRE_PARDONS=1 (as in `.ci/run`) such a test has a second try; without, nothing has. Each one
that was given is printed at the end of the run with what failed, and written to `tests/pardons.txt`, a line each:

    date  test  what it failed with

A line is a debt: whoever mends the test or the product takes it out. `tests/test_pardons.py` holds that the ledger does
not grow above the limit at its head, and that each line is of a test that may be pardoned.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

LEDGER = Path(__file__).with_name("pardons.txt")
_PARDONS = os.environ.get("KWIRE_PARDONS") == "1"


class Pardons:
    """Collects the failures that were pardoned, on whichever process sees all reports."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if str(report.outcome) == "rerun":  # a word of pytest-rerunfailures
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = (crash.message if crash else str(report.longrepr)).splitlines()[0]
            self.given.append(f"{datetime.now(UTC):%Y-%m-%d}  {report.nodeid}  {reason}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.given:
            terminalreporter.section("pardoned: failed, and passed or failed again in a second try")
            for line in self.given:
                terminalreporter.line(line)
            with LEDGER.open("a") as ledger:
                ledger.writelines(f"{line}\n" for line in self.given)


def pytest_configure(config: pytest.Config) -> None:
    """The workers of a run report to the process that began it."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Pardons(), "kwire-pardons")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """pytest-rerunfailures tries again what is marked `flaky`."""
    for item in items:
        if _PARDONS and item.get_closest_marker("wall_clock"):
            item.add_marker(pytest.mark.flaky(reruns=1))
