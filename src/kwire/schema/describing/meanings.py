"""What the values of fields stand for: names for numbers, dates for timestamps, units for durations.

A table over field names, which are Kafka's own and mean the same in every message unless an entry names the API key.
Says nothing ("") where a value speaks for itself. No bytes here.
Sources: KIP-98 (control records), KIP-87 to KIP-1191 for the enumerations named below, Apache's definitions of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from kwire.compression import CODECS
from kwire.errors.broker import by_code
from kwire.schema.api_keys import LIST_OFFSETS
from kwire.schema.fields import NO_UUID
from kwire.schema.registry import APIS

__all__ = ["date_of", "duration_of", "meaning_of", "meaning_of_control"]

_INT64_MAX = 0x7FFF_FFFF_FFFF_FFFF
_OPERATIONS = ("unknown", "any", "all", "read", "write", "create", "delete", "alter", "describe", "cluster action",
               "describe configs", "alter configs", "idempotent write", "create tokens", "describe tokens",
               "two-phase commit")  # fmt: skip
_ACL_RESOURCES = ("unknown", "any", "topic", "group", "cluster", "transactional id", "delegation token", "user")
_CONFIG_RESOURCES = {2: "topic", 4: "broker", 8: "broker logger", 16: "client metrics", 32: "group"}
_CONFIG_KEYS = {32, 33, 44, 74}
_NAMES: dict[str, dict[int, str]] = {
    "acks": {0: "no answer", 1: "the leader", -1: "all in-sync replicas"},
    "isolation_level": {0: "read uncommitted", 1: "read committed"},
    "key_type": {0: "group", 1: "transaction", 2: "share group partition"},
    "permission_type": dict(enumerate(("unknown", "any", "deny", "allow"))),
    "pattern_type": dict(enumerate(("unknown", "any", "match", "literal", "prefixed"))),
    "operation": dict(enumerate(_OPERATIONS)),
    "config_operation": dict(enumerate(("set", "delete", "append", "subtract"))),
    "config_source": dict(enumerate((
        "unknown", "topic", "broker, dynamic", "cluster default, dynamic", "broker, static", "default",
        "broker logger", "client metrics", "group",
    ))),
    "config_type": dict(enumerate((
        "unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password",
    ))),
    "mechanism": {0: "unknown", 1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"},
    "election_type": {0: "preferred", 1: "unclean"},
    "leader_recovery_state": {0: "recovered", 1: "recovering"},
    "upgrade_type": {1: "upgrade only", 2: "safe downgrade", 3: "unsafe downgrade"},
    "endpoint_type": {1: "brokers", 2: "controllers"},
    "security_protocol": {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"},
    "delivery_state": {0: "available", 1: "acquired", 2: "acknowledged", 4: "archived"},
    "compression_type": dict(enumerate(CODECS)),
    "replica_id": {-1: "a consumer", -2: "a debugging consumer"},
    "session_epoch": {-1: "no session, or its end", 0: "a new session"},
    "preferred_read_replica": {-1: "none"},
    "producer_id": {-1: "none"},
    "producer_epoch": {-1: "none"},
    "current_leader_epoch": {-1: "not known"},
    "leader_epoch": {-1: "not known"},
    "last_stable_offset": {-1: "not told"},
    "log_start_offset": {-1: "not told"},
    "base_offset": {-1: "nothing was appended"},
    "committed_offset": {-1: "none committed"},
    "leader_id": {-1: "none"},
    "controller_id": {-1: "none"},
    "retention_time_ms": {-1: "the broker's own"},
    "high_watermark": {_INT64_MAX: "not told"},
    "state_epoch": {-1: "none"},
}  # fmt: skip
_SPECIAL_TIMES = {
    -1: "the latest", -2: "the earliest", -3: "the one with the greatest timestamp", -4: "the earliest kept locally",
    -5: "the latest in tiered storage", -6: "the earliest that waits for upload",
}  # fmt: skip
_DATES = {
    "timestamp", "log_append_time_ms", "commit_timestamp", "base_timestamp", "max_timestamp", "issue_timestamp_ms",
    "expiry_timestamp_ms", "max_timestamp_ms", "last_timestamp", "last_fetch_timestamp", "last_caught_up_timestamp",
    "transaction_start_time_ms", "start_timestamp",
}  # fmt: skip
_ACKNOWLEDGEMENTS = dict(enumerate(("gap", "accept", "release", "reject", "renew")))
_CONTROL_TYPES = dict(enumerate((
    "transaction aborted", "transaction committed", "leader change", "snapshot header", "snapshot footer",
    "KRaft version", "KRaft voters",
)))  # fmt: skip


def date_of(milliseconds: int) -> str:
    """A timestamp of the wire as a date in UTC; "none" for -1."""
    if milliseconds == -1:
        return "none"
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return "no date"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration_of(milliseconds: int) -> str:
    """A duration in the unit that makes it a small number; "" below a second."""
    if milliseconds in (0x7FFF_FFFF, _INT64_MAX):
        return "for ever"
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if milliseconds >= size:
            return f"{milliseconds / size:.4g} {unit}"
    return ""


def meaning_of_control(key: bytes) -> str:
    """What the key of a control record marks: version int16, type int16."""
    if len(key) < 4:
        return "a control record's key of less than 4 bytes"
    kind = int.from_bytes(key[2:4], "big", signed=True)
    return f"control record: {_CONTROL_TYPES.get(kind, f'unknown type {kind}')}"


def meaning_of(api_key: int, direction: str, name: str, kind: str, value: Any) -> str:
    """What `value` of the field `name` of a message stands for."""
    if value is None:
        return "null"
    if kind == "uuid":
        return "none" if value == NO_UUID else _uuid_name(value)
    if kind == "array":
        return _array_meaning(name, value)
    if kind == "bool" or not isinstance(value, int):
        return _special_text(name, value)
    if name.endswith("error_code"):
        return _error_meaning(value)
    if name in ("request_api_key", "api_key"):
        return APIS[value].name if value in APIS else "not known to kwire"
    rule = _RULES.get(name)
    if rule is not None:
        return rule(api_key, value)
    if name in _DATES:
        return date_of(value)
    if name.endswith("_ms"):
        return _NAMES.get(name, {}).get(value) or duration_of(value)
    return _NAMES.get(name, {}).get(value, "")


def _error_meaning(code: int) -> str:
    error = by_code(code)
    if code == 0:
        return error.name
    return f"{error.name}: {error.text}{'; retriable' if error.retriable else ''}"


def _uuid_name(value: UUID) -> str:
    return str(value)


def _special_text(name: str, value: Any) -> str:
    if name == "committed":
        return "commit" if value else "abort"
    return ""


def _array_meaning(name: str, value: tuple[int, ...]) -> str:
    if name == "acknowledge_types":
        return ", ".join(_ACKNOWLEDGEMENTS.get(kind, f"unknown {kind}") for kind in value)
    if name == "accepted_compression_types":
        return ", ".join(CODECS[kind] if 0 <= kind < len(CODECS) else f"unknown {kind}" for kind in value)
    return "" if value else "empty"


def _resource(api_key: int, value: int) -> str:
    if api_key in _CONFIG_KEYS:
        return _CONFIG_RESOURCES.get(value, "")
    return _ACL_RESOURCES[value] if 0 <= value < len(_ACL_RESOURCES) else ""


def _timestamp(api_key: int, value: int) -> str:
    if api_key == LIST_OFFSETS and value in _SPECIAL_TIMES:
        return _SPECIAL_TIMES[value]
    return date_of(value)


def _allowed(_api_key: int, bits: int) -> str:
    if bits == -(2**31):
        return "not asked for"
    return ", ".join(name for place, name in enumerate(_OPERATIONS) if bits >> place & 1) or "nothing"


def _named(name: str) -> Callable[[int, int], str]:
    return lambda _api_key, value: _NAMES[name].get(value, "")


_RULES: dict[str, Callable[[int, int], str]] = {
    "resource_type": _resource,
    "resource_type_filter": _resource,
    "pattern_type_filter": _named("pattern_type"),
    "resource_pattern_type": _named("pattern_type"),
    "timestamp": _timestamp,
    "time": lambda _api_key, value: _timestamp(LIST_OFFSETS, value),
    "authorized_operations": _allowed,
    "topic_authorized_operations": _allowed,
    "cluster_authorized_operations": _allowed,
}
