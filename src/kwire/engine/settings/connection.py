"""The settings of connections that every client has: brokers, times, sizes.

Layer 3, no I/O.
"""

from __future__ import annotations

from kwire._typing import Any
from kwire.engine.settings.kinds import Settings, setting

_DAY_MS = 86_400_000
_INT_MAX = 2**31 - 1


class ConnectionSettings(Settings):
    """The brokers that a client connects to, and its patience with them."""

    bootstrap_servers: Any = setting(
        object,
        "127.0.0.1:9092",
        "Brokers to begin with: 'host:port,host:port' or a sequence; the others are learned from them.",
        aliases=("metadata.broker.list",),
    )
    client_id: str = setting(str, "kwire", "The name under which brokers log and limit this client.")
    request_timeout_ms: int = setting(
        int,
        30_000,
        "A request without a response for this long fails, and its connection is closed.",
        minimum=1,
        maximum=_DAY_MS,
        aliases=("socket.timeout.ms",),
    )
    socket_connection_setup_timeout_ms: int = setting(
        int,
        10_000,
        "How long one attempt to connect and to agree on versions may take.",
        minimum=1,
        maximum=_DAY_MS,
        aliases=("socket.connection.setup.timeout.ms",),
    )
    reconnect_backoff_ms: int = setting(
        int,
        50,
        "The first wait before a broker is tried again; it doubles with each failure.",
        minimum=0,
        maximum=_DAY_MS,
    )
    reconnect_backoff_max_ms: int = setting(
        int,
        1_000,
        "The longest wait before a broker is tried again.",
        minimum=0,
        maximum=_DAY_MS,
        aliases=("reconnect.backoff.max.ms",),
    )
    retry_backoff_ms: int = setting(
        int,
        100,
        "The first wait before a failed request is sent again; it doubles with each failure.",
        minimum=0,
        maximum=_DAY_MS,
    )
    retry_backoff_max_ms: int = setting(
        int, 1_000, "The longest wait before a failed request is sent again.", minimum=0, maximum=_DAY_MS
    )
    metadata_max_age_ms: int = setting(
        int,
        300_000,
        "Metadata older than this is requested again.",
        minimum=0,
        maximum=_INT_MAX,
        aliases=("topic.metadata.refresh.interval.ms",),
    )
    send_buffer_bytes: int = setting(
        int,
        -1,
        "SO_SNDBUF of each socket; -1 leaves it to the system.",
        minimum=-1,
        maximum=_INT_MAX,
        aliases=("send.buffer.bytes", "socket.send.buffer.bytes"),
    )
    receive_buffer_bytes: int = setting(
        int,
        -1,
        "SO_RCVBUF of each socket; -1 leaves it to the system.",
        minimum=-1,
        maximum=_INT_MAX,
        aliases=("socket.receive.buffer.bytes",),
    )
    receive_message_max_bytes: int = setting(
        int,
        200 * 1024 * 1024,
        "A larger response is refused before memory is allocated for it.",
        minimum=1000,
        maximum=_INT_MAX,
    )
    default_api_timeout_ms: int = setting(
        int,
        60_000,
        "How long a blocking call without a timeout may take, and how long poll() waits for a first broker.",
        minimum=0,
        maximum=_INT_MAX,
    )
    enable_metrics_push: bool = setting(
        bool,
        False,
        "Push metrics to brokers that have subscribed to them (KIP-714). Java's default is true, of an Admin false.",
    )
