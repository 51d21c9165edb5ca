"""The settings of a ShareConsumer, a member of a share group (KIP-932).

Layer 3, no I/O. Names and defaults are Java's. Where records begin, what is isolated and how long they are locked are
settings of the group, which the cluster has: share.auto.offset.reset, share.isolation.level,
share.record.lock.duration.ms.
"""

from __future__ import annotations

from collections.abc import Collection

from kwire._typing import Any, override
from kwire.engine.settings.clients import ClientSettings, ConsumerSettings
from kwire.engine.settings.kinds import setting

_INT_MAX = 2**31 - 1


def _of_consumer(keyword: str) -> Any:
    """The same row as a Consumer has."""
    return ConsumerSettings.table[keyword]


class ShareConsumerSettings(ClientSettings):
    """The settings that only a ShareConsumer has."""

    client = "ShareConsumer"

    group_id: str = setting(str, "", "The share group; it must be given.")
    share_acknowledgement_mode: str = setting(
        str,
        "implicit",
        "'implicit': the next poll or commit accepts what was not acknowledged; 'explicit': all must be acknowledged.",
        choices=("implicit", "explicit"),
    )
    share_acquire_mode: str = setting(
        str,
        "batch_optimized",
        "'batch_optimized': brokers acquire whole batches; 'record_limit': max_poll_records at most (Kafka 4.2).",
        choices=("batch_optimized", "record_limit"),
    )
    max_poll_records: int = setting(
        int, 500, "The largest number of records of one poll, and about how many are acquired.", minimum=1
    )
    max_poll_interval_ms: int = _of_consumer("max_poll_interval_ms")
    fetch_min_bytes: int = _of_consumer("fetch_min_bytes")
    fetch_max_bytes: int = _of_consumer("fetch_max_bytes")
    fetch_max_wait_ms: int = _of_consumer("fetch_max_wait_ms")
    check_crcs: bool = _of_consumer("check_crcs")
    client_rack: str = _of_consumer("client_rack")
    max_decompressed_bytes: int = _of_consumer("max_decompressed_bytes")
    allow_auto_create_topics: bool = _of_consumer("allow_auto_create_topics")

    @override
    def conflicts(self, chosen: Collection[str]) -> list[str]:
        found = super().conflicts(chosen)
        if not self.group_id:
            found.append("group_id is missing: a ShareConsumer is a member of a share group")
        return found
