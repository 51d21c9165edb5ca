"""Admin for asyncio: the methods of `kwire.Admin` as coroutines.

Layer 5: its calls are in `kwire.aio._admin`, by subject; what is asked of whom is in `kwire.engine.admin`.

What only runs a wait is written by `make docs`, from the methods of `admin.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import TYPE_CHECKING, Any, Self, Unpack
from kwire.aio._admin.access import AccessCalls
from kwire.aio._admin.cluster import ClusterCalls
from kwire.aio._admin.configs import ConfigCalls
from kwire.aio._admin.groups import GroupCalls
from kwire.aio._admin.quorum import QuorumCalls
from kwire.aio._admin.replicas import ReplicaCalls
from kwire.aio._admin.share_groups import ShareGroupCalls
from kwire.aio._admin.streams_groups import StreamsGroupCalls
from kwire.aio._admin.topics import TopicCalls
from kwire.aio._admin.transactions import TransactionCalls
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.settings.clients import AdminSettings
from kwire.engine.settings.config import configured_by, keywords

if TYPE_CHECKING:
    from kwire.engine.settings.options import AdminOptions, Servers


@configured_by(AdminSettings)
@without(absent.ADMIN)
class Admin(
    TopicCalls,
    GroupCalls,
    AccessCalls,
    ShareGroupCalls,
    StreamsGroupCalls,
    ConfigCalls,
    ClusterCalls,
    ReplicaCalls,
    TransactionCalls,
    QuorumCalls,
):
    """Administration of a cluster, from any task of one event loop.

        async with kwire.aio.Admin("host:9092") as admin:
            await admin.create_topics({"topic": 12})

    Keywords are the settings below. Each call takes `timeout=` in seconds (default
    `default_api_timeout_ms`) and is retried within it where that can help. Errors: ConfigError for arguments;
    ConnectError with a cause for each address; UnknownTopicError; BrokerError, also code 35 where the broker is too old
    for the call; KafkaTimeoutError.
    """

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]) -> None:
        self._open(AdminSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is ignored, with a line at DEBUG.
        """
        return cls._configured(AdminSettings, config, bootstrap_servers, options)
