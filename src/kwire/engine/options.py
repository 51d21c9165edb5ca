"""The keywords of the clients as type checkers see them: the tables of `settings.py`, name by name.

Layer 3, types only. A test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal, TypedDict

Servers = str | Sequence[str | tuple[str, int]]
"""Brokers to begin with: "host:port,host:port", or a sequence of "host:port" or (host, port)."""


Timeout = float | timedelta | None
"""Seconds, or a timedelta; None is the call's default."""


class ClientOptions(TypedDict, total=False):
    """What every client takes besides `bootstrap_servers`."""

    client_id: str
    security_protocol: str
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    receive_message_max_bytes: int
    default_api_timeout_ms: int


class ProducerOptions(ClientOptions, total=False):
    """What a Producer takes besides."""

    acks: int | Literal["all", "0", "1", "-1"]
    linger_ms: int
    batch_size: int
    compression: str
    level: int | None
    enable_idempotence: bool | None
    max_in_flight_requests_per_connection: int
    delivery_timeout_ms: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    retries: int
    partitioner: str
    allow_auto_create_topics: bool


class ConsumerOptions(ClientOptions, total=False):
    """What a Consumer takes besides."""

    group_id: str | None
    auto_offset_reset: str
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    max_partition_fetch_bytes: int
    max_poll_records: int | None
    check_crcs: bool
    isolation_level: str
    client_rack: str
    max_decompressed_bytes: int
    allow_auto_create_topics: bool


class AdminOptions(ClientOptions, total=False):
    """What an Admin takes besides: nothing yet."""
