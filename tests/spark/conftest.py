"""One Spark session for all tests of this folder, and brokers whose records a foreign client wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JVM_TEST_WITHIN_S = 300


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two local cores, whose Python workers import kwire from where this run does."""
    session = start_session()
    yield session
    session.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs a JVM, and leaves the first of them time for its start on a busy machine."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(_JVM_TEST_WITHIN_S))
