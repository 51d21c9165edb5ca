"""Masks the secrets in records of Kafka's own log of metadata: SCRAM keys, and the values of settings.

Such a record is shown as bytes, so that one with a secret, or that cannot be read, is masked as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

_WITH_SECRETS = "__cluster_metadata"


def masked(records: Iterable[Any], topic: str) -> Iterable[Any]:
    """The records, or what stands for them where the topic is the log of metadata."""
    return _masked(records) if topic == _WITH_SECRETS else records


def _masked(records: Iterable[Any]) -> Iterator[Any]:
    from kwire.schema.logs.lookup import decode_log_record

    for record in records:
        parts = decode_log_record(_WITH_SECRETS, record.key, record.value)
        if record.value is None or (parts is not None and parts.value is not None and _is_open(parts.value.message)):
            yield record
            continue
        yield SimpleNamespace(
            offset=record.offset,
            timestamp=record.timestamp,
            key=record.key,
            value=f"<secret, {len(record.value)} bytes>".encode(),
            headers=record.headers,
        )


def _is_open(message: Any) -> bool:
    """Whether it can be read and holds no secret."""
    return message is not None and not any(each.secret and getattr(message, each.name) for each in message.__fields__)
