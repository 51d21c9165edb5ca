"""The pytest side of the oracle: a JVM for the newest release, and one for the last that has the old versions.

Tests that use one of them need Java and are marked `kafka`.
"""

from collections.abc import Iterator

import pytest

from tests.oracle.driver import Oracle

NEWEST = "4.4.0"
LAST_WITH_OLD_VERSIONS = "3.9.2"

_FIXTURES = {"oracle", "old_oracle", "either_oracle"}


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """The classes of the newest release."""
    with Oracle(NEWEST) as started:
        yield started


@pytest.fixture(scope="session")
def old_oracle() -> Iterator[Oracle]:
    """The classes of the last release with Produce 0 to 2, Fetch 0 to 3 and the other versions that 4.0 dropped."""
    with Oracle(LAST_WITH_OLD_VERSIONS) as started:
        yield started


@pytest.fixture(params=("oracle", "old_oracle"), ids=(NEWEST, LAST_WITH_OLD_VERSIONS))
def either_oracle(request: pytest.FixtureRequest) -> Oracle:
    """The test runs with each of the two."""
    chosen: Oracle = request.getfixturevalue(request.param)
    return chosen


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs Java."""
    for item in items:
        if _FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.kafka)
