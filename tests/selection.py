"""What `make test` runs of real Kafka and real Spark: one of each, doing what everything else rests on.

Every other test that starts Java is marked `nightly`, as are those that say so themselves because they take long:
`make test-all` runs them, and `make test-touched` those that a change may break. Any other run leaves them out, unless
it has the option `--nightly` or names the files to run.

The processes of a run share that one broker and that one session: the tests of each go to one process.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

EVERY_PUSH = (
    # One exchange with each peer, one group of each protocol, transactions and a login, on the newest release.
    "tests/brokers/test_exchange.py::*[[]4.4.0*",
    "tests/brokers/groups/test_mixed_groups.py::*[[]4.4.0*",
    "tests/brokers/security/test_every_listener.py::*[[]threads-4.4.0*",
    "tests/clients/test_producer_kafka.py::*[[]4.4.0*",
    "tests/clients/test_consumer_kafka.py::*[[]4.4.0*",
    "tests/clients/test_transactions_kafka.py::*[[]4.4.0*",
    # The embedded broker answers as that release does.
    "tests/testing/like_kafka/test_like_kafka.py::*[[]4.4.0*",
    # A batch read, a stream and a write of each kind, their registration, and decoders, in one Spark session.
    "tests/spark/test_registration.py::*",
    "tests/spark/reading/test_read.py::*",
    "tests/spark/writing/test_write.py::*",
    "tests/spark/exactly_once/test_exactly_once.py::*",
    "tests/spark/streams/test_stream.py::test_each_run_reads_what_the_last_one_has_not",
    "tests/spark/streams/test_stream.py::test_batches_are_limited",
    "tests/spark/streams/test_stream.py::test_values_are_decoded",
    "tests/spark/decoding/test_decode_with_spark.py::*",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="also the tests that are marked nightly")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After the fixtures' own plugins have marked what needs Java."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    everything = config.getoption("nightly") or _names_files(config)
    for item in items:
        if _starts_java(item) and not _in_every_push(item.nodeid):
            item.add_marker(pytest.mark.nightly)
        (kept if everything or not item.get_closest_marker("nightly") else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """A file goes to one process, and all that share a broker or a Spark session go to the same."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class SharingJava(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if not _in_every_push(nodeid):
                return str(super()._split_scope(nodeid))
            return "spark" if nodeid.startswith("tests/spark/") else "kafka"

    return SharingJava(config, log)


def _in_every_push(nodeid: str) -> bool:
    return any(fnmatchcase(nodeid, pattern) for pattern in EVERY_PUSH)


def _starts_java(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("kafka") or item.get_closest_marker("spark"))


def _names_files(config: pytest.Config) -> bool:
    return any(argument.split("::")[0].endswith(".py") for argument in config.args)
