"""What kwire reads, in the oracle's terms, and Kafka's JSON in kwire's: for the tests that compare the two."""

import base64
import re
import uuid
from typing import Any

from kwire import protocol, records
from tests.oracle.records import JavaRecord

# What fields were called in 3.9.2, and are now.
_OLDER_NAMES = {
    "candidate_directory_id": "replica_directory_id",
    "candidate_epoch": "replica_epoch",
    "candidate_id": "replica_id",
    "client_metrics_resources": "config_resources",
    "generation_id": "generation_id_or_member_epoch",
    "name": "resource_name",
}
_RECORDS = ("records", "unaligned_records")


def seen_by_kwire(data: bytes) -> list[JavaRecord]:
    """The records that kwire reads; raises what kwire raises."""
    return [
        JavaRecord(r.offset, r.timestamp, r.key, r.value, tuple((name, value) for name, value in r.headers))
        for r in records.decode(data)
    ]


def message_class(key: int, direction: str) -> Any:
    """kwire's class of an API's "Request" or "Response"."""
    api = protocol.APIS[key]
    return api.request if direction == "Request" else api.response


def assert_message_agrees(message: Any, version: int, data: bytes, json: dict[str, Any], what: str) -> None:
    """kwire reads from the bytes what the JSON says, and writes the bytes from what it read and from the JSON."""
    ours = message.decode(data, version)
    expected = as_kwire_shows_it(json, ours.to_dict())
    assert message.from_dict(expected) == ours, what
    assert ours.encode(version) == data, what
    assert message.from_dict(expected).encode(version) == data, what


def as_kwire_shows_it(json: Any, ours: Any) -> Any:
    """Kafka's JSON with kwire's names and types; which type, says the value at the same place of kwire's own dict."""
    if isinstance(json, dict):
        fields = {_name_now(_snake(name), ours): value for name, value in json.items()}
        return {name: _field(name, value, ours) for name, value in fields.items()}
    if isinstance(json, list):
        return [as_kwire_shows_it(item, ours[index] if index < len(ours) else None) for index, item in enumerate(json)]
    if isinstance(ours, bytes):
        return base64.b64decode(json)
    if isinstance(ours, uuid.UUID):
        return uuid.UUID(bytes=base64.urlsafe_b64decode(json + "=="))
    return json


def _field(name: str, value: Any, ours: Any) -> Any:
    mine = ours[name]
    if name in _RECORDS and value is not None:
        # Kafka's converters leave records out; that the bytes come out the same stands for them.
        return mine
    return as_kwire_shows_it(value, mine)


def _name_now(name: str, ours: dict[str, Any]) -> str:
    return name if name in ours else _OLDER_NAMES[name]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
