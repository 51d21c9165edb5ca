"""What a producer's calls take as arguments, and what a refusal says."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kwire import Producer, errors
from kwire.testing import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


@pytest.mark.parametrize("partition", ["0", True, 1.0, -1, 2**31, b"0"])
def test_a_partition_that_is_not_a_number_is_named(broker: Broker, partition: Any) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for call in (
            lambda: producer.send("t", b"v", partition=partition),
            lambda: producer.send_many("t", [b"v"], partition=partition),
        ):
            with pytest.raises(errors.ConfigError, match=re.escape(f"partition={partition!r}")):
                call()
        assert producer._accumulator.records_sent == 0


def test_a_timestamp_in_seconds_warns_once(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        with pytest.warns(UserWarning, match="looks like seconds") as caught:
            producer.send_many("t", [(b"v", None, int(time.time()))] * 2)
        assert [warning.filename for warning in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for timestamp in (0, 1000, int(time.time() * 1000), datetime.now(UTC), None):
                producer.send("t", b"v", timestamp=timestamp)


@pytest.mark.parametrize("timeout", ["5", True, -1, -0.5, timedelta(seconds=-1)])
def test_a_result_names_a_timeout_that_cannot_be_meant(timeout: Any) -> None:
    with Producer("127.0.0.1:1", max_block_ms=100) as producer:
        delivery = producer.send("t", b"v")
        with pytest.raises(errors.ConfigError, match="timeout="):
            delivery.result(timeout)
        with pytest.raises(errors.ConfigError, match="timeout="):
            producer.flush(timeout)
        assert delivery.exception() is not None


def test_timeouts_may_be_timedeltas(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        assert producer.send("t", b"v").result(timedelta(seconds=10)).offset >= 0
        assert producer.send("t", b"v").exception(timedelta(seconds=10)) is None
        producer.flush(timedelta(seconds=10))
        producer.close(timedelta(seconds=10))
