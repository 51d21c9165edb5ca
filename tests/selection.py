"""What `make test` runs of real Kafka and real Spark: one of each, doing what everything else rests on.

Every other test that starts Java is marked `nightly`, as are those that say so themselves because they take long:
`make test-all` runs them, and `make test-touched` those that a change may break. A plain `pytest` leaves them out, too,
unless the `-m` expression names `nightly`, or the files to run are named.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

EVERY_PUSH = (
    # One exchange with each peer, one group of each protocol, transactions and a login, on the newest release.
    "tests/brokers/test_exchange.py::*[[]4.4.0*",
    "tests/brokers/groups/test_mixed_groups.py::*[[]4.4.0*",
    "tests/brokers/security/test_every_listener.py::*[[]threads-4.4.0*",
    "tests/clients/test_producer_kafka.py::*[[]4.4.0*",
    "tests/clients/test_consumer_kafka.py::*[[]4.4.0*",
    "tests/clients/test_transactions_kafka.py::*[[]4.4.0*",
    # The embedded broker answers as that release does.
    "tests/testing/test_like_kafka.py::*[[]4.4.0*",
    # A batch read, a stream and a write of each kind, their registration, and decoders, in one Spark session.
    "tests/spark/test_registration.py::*",
    "tests/spark/test_read.py::*",
    "tests/spark/test_write.py::*",
    "tests/spark/test_exactly_once.py::*",
    "tests/spark/test_stream.py::test_each_run_reads_what_the_last_one_has_not",
    "tests/spark/test_stream.py::test_batches_are_limited",
    "tests/spark/test_stream.py::test_values_are_decoded",
    "tests/spark/test_decode_with_spark.py::*",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After the fixtures' own plugins have marked what needs Java."""
    for item in items:
        if _starts_java(item) and not any(fnmatchcase(item.nodeid, pattern) for pattern in EVERY_PUSH):
            item.add_marker(pytest.mark.nightly)
    if "nightly" in config.getoption("markexpr") or _names_files(config):
        return
    left_out = [item for item in items if item.get_closest_marker("nightly")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def _starts_java(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("kafka") or item.get_closest_marker("spark"))


def _names_files(config: pytest.Config) -> bool:
    return any(argument.split("::")[0].endswith(".py") for argument in config.args)
