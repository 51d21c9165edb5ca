"""Fixtures that every test folder may use."""

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.thorough import THOROUGH

# A test is not about time: on a busy machine any example may take longer than Hypothesis allows by default.
# Continuous integration judges a change by the same examples each time; everyone else looks for new ones.
settings.register_profile(
    "kwire",
    deadline=None,
    max_examples=100 if THOROUGH else 40,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("kwire")

pytest_plugins = ("tests.brokers.plugin", "tests.oracle.plugin", "tests.selection", "tests.pardons")


def pytest_collection_finish() -> None:
    """Thousands of collected tests are no garbage: without this every full collection of a test walks through them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def ctrl_c() -> Iterator[int]:
    """The number of the signal that Ctrl-C sends, which raises KeyboardInterrupt here.

    It does not by itself: a shell starts what runs in its background with that signal ignored.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.SIGINT
    signal.signal(signal.SIGINT, before)
