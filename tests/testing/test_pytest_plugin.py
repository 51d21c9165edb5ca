"""The fixtures: found by the entry point's name, a fresh broker per test, all stopped at the end."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.snippets import snippet
from tests.subprocesses import with_this_kwire

pytest_plugins = ("pytester",)

PLUGIN = "kwire.testing.pytest_plugin"


def test_the_entry_point_is_declared() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"kwire": PLUGIN}


def loading() -> list[str]:
    """Nothing where kwire is installed, for pytest finds the plugin then; else its name."""
    installed = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))
    return [] if installed else ["-p", PLUGIN]


def test_the_plugin_costs_a_pytest_run_nothing() -> None:
    heavy = "kwire.protocol", "kwire._codec", "kwire.testing.broker"
    script = f"import sys, {PLUGIN}; sys.exit([name for name in {heavy} if name in sys.modules] != [])"
    subprocess.run([sys.executable, "-c", script], check=True, env=with_this_kwire())


def test_the_fixtures_work_in_a_foreign_project(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        started = []

        def test_one(kwire_broker):
            kwire_broker.create_topic("orders")
            started.append(kwire_broker)
            assert kwire_broker.bootstrap_servers.startswith("127.0.0.1:")

        def test_two(kwire_broker, kwire_broker_factory):
            assert not kwire_broker.topics(), "a fresh one"
            old = kwire_broker_factory(release="0.9.0.1", topics={"orders": 2})
            started.append(old)
            assert (old.release, old.topics()) == ("0.9.0.1", {"orders": 2})

        def test_all_are_stopped():
            assert len(started) == 2
            assert all("stopped" in repr(broker) for broker in started)
    """)
    pytester.runpytest_inprocess(*loading(), "-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_the_documented_example_works_as_it_is_pasted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(snippet("docs/testing.md", "def test_my_service("))
    pytester.runpytest_inprocess(*loading(), "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_broker_for_the_run_and_a_topic_for_each_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        seen = []

        @pytest.mark.parametrize("value", ["a b", "c/d"])
        def test_topic(kwire_topic, kwire_session_broker, value):
            assert kwire_session_broker.values(kwire_topic) == []
            kwire_session_broker.append(kwire_topic, [value.encode()])
            assert list(kwire_session_broker.topics()) == [kwire_topic]
            seen.append(kwire_session_broker)

        def test_one_broker(kwire_session_broker):
            assert seen == [kwire_session_broker] * 2
            assert kwire_session_broker.topics() == {}

        def test_a_topic_that_the_test_deletes(kwire_topic, kwire_session_broker):
            kwire_session_broker.delete_topic(kwire_topic)
    """)
    pytester.runpytest_inprocess(*loading(), "-p", "no:cacheprovider").assert_outcomes(passed=4)
