"""One mapping of settings for all clients of a program, as Java's and librdkafka's users have it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, ShareConsumer, aio, errors

_SERDE = "org.apache.kafka.common.serialization"
SHARED = {
    "bootstrap.servers": "127.0.0.1:1",
    "client.id": "ours",
    "acks": "all",
    "linger.ms": "5",
    "compression.type": "zstd",
    "compression.zstd.level": "3",
    "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
    "key.serializer": f"{_SERDE}.ByteArraySerializer",
    "value.serializer": f"{_SERDE}.StringSerializer",
    "key.deserializer": f"{_SERDE}.ByteArrayDeserializer",
    "value.deserializer": f"{_SERDE}.ByteArrayDeserializer",
    "group.id": "g",
    "auto.offset.reset": "earliest",
    "session.timeout.ms": "30000",
    "share.acquire.mode": "record_limit",
    "enable.partition.eof": "true",
    "dr_cb": print,
}
OWN: dict[str, dict[str, Any]] = {
    "Producer": {"acks": "all", "linger_ms": 5, "compression": "zstd", "level": 3, "partitioner": "round_robin"},
    "Consumer": {"group_id": "g", "auto_offset_reset": "earliest", "session_timeout_ms": 30000},
    "ShareConsumer": {"group_id": "g", "share_acquire_mode": "record_limit"},
    "Admin": {"client_id": "ours"},
}
NOT_DONE = {"Producer": "dr_cb", "Consumer": "enable.partition.eof"}
"""What a client would have to do and does not: that stays an error, for this one alone."""

CLIENTS = [Producer, Consumer, ShareConsumer, Admin, aio.Producer, aio.Consumer, aio.ShareConsumer, aio.Admin]


def mapping_for(client: type) -> dict[str, Any]:
    return {name: value for name, value in SHARED.items() if name != NOT_DONE.get(client.__name__)}


async def close(client: Any) -> None:
    closing = client.close()
    if asyncio.iscoroutine(closing):
        await closing


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
@pytest.mark.filterwarnings("error")
def test_each_client_takes_what_is_its_own_and_says_at_debug_what_is_not(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "kwire.clients"):
        client = kind.from_config(mapping_for(kind))
    for keyword, value in OWN[kind.__name__].items():
        assert getattr(client.settings, keyword) == value
    [line] = [record.getMessage() for record in caplog.records if record.name == "kwire.clients"]
    assert line.startswith(f"{kind.__name__}.from_config() ignores settings of other clients: ")
    foreign = "acks (Producer)" if kind.__name__ != "Producer" else "auto.offset.reset (Consumer)"
    assert foreign in line
    assert "earliest" not in line
    asyncio.run(close(client))


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_a_name_that_no_client_has_is_an_error_with_the_nearest(kind: Any) -> None:
    with pytest.raises(errors.ConfigError, match=r"unknown setting 'client.idd'; did you mean 'client.id'\?"):
        kind.from_config({**mapping_for(kind), "client.idd": "x"})


@pytest.mark.parametrize("kind", [Producer, Consumer])
def test_what_a_client_would_have_to_do_is_refused_by_it(kind: Any) -> None:
    with pytest.raises(errors.ConfigError, match=f"'{NOT_DONE[kind.__name__]}': "):
        kind.from_config(SHARED)


@pytest.mark.parametrize("kind", [Consumer, ShareConsumer, Admin])
def test_a_keyword_of_another_client_stays_an_error(kind: Any) -> None:
    with pytest.raises(errors.ConfigError, match="'acks' is a setting of Producer, not of "):
        kind.from_config(mapping_for(kind), acks="all")
