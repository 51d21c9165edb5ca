"""The pytest side of real Kafka: fixtures and which releases a run includes.

    kafka           a running Cluster; the test runs once for each release, ids by release
    kafka_cluster   a function from a release's name to a running Cluster, one of each per session
    secure_kafka    a function from a release's name to a running SecureCluster, one of each per session
    new_topic       a function that gives a topic name which no other test uses

Every test that uses one of the first three is marked `kafka`; those of releases outside EVERY_RUN are marked
`kafka_all` too and are left out unless the `-m` expression names that mark. So `pytest --nightly` runs the five
releases (without the option it runs what `tests/selection.py` lists), `-m "not kafka"` needs no Java, and
`--nightly -m "kafka or kafka_all"` runs the matrix. A test that takes `kafka` and a `codec` runs with the codecs that
the release has, one marked `needs("transactions")` only on releases that have them.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.brokers import EVERY_RUN, RELEASES, Cluster, find_release
from tests.brokers.kdc import Kdc

if TYPE_CHECKING:
    from tests.brokers.keys import Keys
    from tests.brokers.secure_cluster import SecureCluster

ClusterOf = Callable[[str], Cluster]
SecureClusterOf: TypeAlias = "Callable[[str], SecureCluster]"

_FIXTURES = {"kafka", "kafka_cluster", "secure_kafka"}
_topic_numbers = itertools.count(1)


def _parameters() -> list[object]:
    by_name = {release.name: release for release in RELEASES}
    others = [name for name in by_name if name not in EVERY_RUN]
    return [*EVERY_RUN, *(pytest.param(name, marks=pytest.mark.kafka_all) for name in others)]


@pytest.fixture(scope="session")
def kafka_cluster() -> Iterator[ClusterOf]:
    """Starts a release when first asked for it; every later question gets the same running cluster."""
    running: dict[str, Cluster] = {}

    def cluster_of(name: str) -> Cluster:
        if name not in running:
            cluster = Cluster(name)
            cluster.start()
            running[name] = cluster
        return running[name]

    yield cluster_of
    for cluster in running.values():
        cluster.stop()


@pytest.fixture(scope="session", params=_parameters(), ids=str)
def kafka(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One running cluster of each release in turn; a release of the long matrix ends with its last test."""
    name: str = request.param
    if name in EVERY_RUN:
        cluster_of: ClusterOf = request.getfixturevalue("kafka_cluster")
        yield cluster_of(name)
        return
    with Cluster(name) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """The keys and certificates of all listeners and of their clients."""
    from tests.brokers.keys import Keys  # asks for the library cryptography

    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="session")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc | None]:
    """A KDC whose tickets this process has, None where it or Python's gssapi is not installed (`make kerberos`)."""
    if Kdc.missing() or importlib.util.find_spec("gssapi") is None:
        yield None
        return
    with Kdc(tmp_path_factory.mktemp("realm")) as kdc, pytest.MonkeyPatch.context() as patch:
        for name, value in kdc.client_environment.items():
            patch.setenv(name, value)
        yield kdc


@pytest.fixture(scope="session")
def secure_kafka(keys: Keys, realm: Kdc | None) -> Iterator[SecureClusterOf]:
    """Starts a release with all its listeners when first asked for it; later questions get the same one."""
    from tests.brokers.secure_cluster import SecureCluster

    running: dict[str, SecureCluster] = {}

    def cluster_of(name: str) -> SecureCluster:
        if name not in running:
            cluster = SecureCluster(name, keys, realm)
            cluster.start()
            running[name] = cluster
        return running[name]

    yield cluster_of
    for cluster in running.values():
        cluster.stop()


@pytest.fixture
def new_topic(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Topic names that begin with the test's; never of one letter, which librdkafka cannot parse in Metadata v0."""
    stem = "".join(char if char.isalnum() else "-" for char in request.node.originalname or request.node.name)
    return lambda: f"{stem[:80]}-{next(_topic_numbers)}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what needs Java; leaves out the long matrix unless asked for, and what a release cannot do."""
    whole_matrix = "kafka_all" in config.getoption("markexpr")
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        if _FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.kafka)
        wanted = whole_matrix or not item.get_closest_marker("kafka_all")
        (kept if wanted and _release_can(item) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _release_can(item: pytest.Item) -> bool:
    """False for a test whose `kafka` is a release without its `codec`, or without what it `needs`."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    if "kafka" not in parameters:
        return True
    release = find_release(str(parameters["kafka"]))
    needed = {ability for mark in item.iter_markers("needs") for ability in mark.args}
    return needed <= release.abilities and parameters.get("codec", "none") in release.codecs
