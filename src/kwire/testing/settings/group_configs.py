"""The settings that single groups have (the config resource "group"), over the broker's properties as defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kwire.errors import broker as codes
from kwire.testing.settings.durations import milliseconds_of

if TYPE_CHECKING:
    from kwire.testing.settings.properties import BrokerProperties

# A name alone is that of a broker's property, another text the default itself.
_DEFAULTS = {
    "consumer.session.timeout.ms": "group_consumer_session_timeout_ms",
    "consumer.heartbeat.interval.ms": "group_consumer_heartbeat_interval_ms",
    "share.session.timeout.ms": "group_share_session_timeout_ms",
    "share.heartbeat.interval.ms": "group_share_heartbeat_interval_ms",
    "share.record.lock.duration.ms": "group_share_record_lock_duration_ms",
    "share.delivery.count.limit": "group_share_delivery_count_limit",
    "share.partition.max.record.locks": "group_share_partition_max_record_locks",
    "share.auto.offset.reset": "latest",
    "share.isolation.level": "read_uncommitted",
    "share.renew.acknowledge.enable": "true",
}
_CHOICES = {
    "share.isolation.level": ("read_uncommitted", "read_committed"),
    "share.renew.acknowledge.enable": ("true", "false"),
}
_RESET, _BY_DURATION = "share.auto.offset.reset", "by_duration:"


class GroupConfigs:
    """What was set, by group and name."""

    def __init__(self, properties: Callable[[], BrokerProperties]) -> None:
        self._properties = properties
        self._set: dict[str, dict[str, str]] = {}

    @property
    def names(self) -> list[str]:
        """The settings that a group can have."""
        return list(_DEFAULTS)

    def set(self, group_id: str, name: str, value: str | None) -> None:
        """Sets one; None resets it. Raises BrokerError (INVALID_CONFIG)."""
        check(name, value)
        if value is None:
            self._set.get(group_id, {}).pop(name, None)
        else:
            self._set.setdefault(group_id, {})[name] = value

    def of(self, group_id: str) -> dict[str, str]:
        """What was set for a group; not to be changed."""
        return self._set.get(group_id, {})

    @property
    def groups(self) -> list[str]:
        """The groups for which something was set."""
        return [group_id for group_id, values in self._set.items() if values]

    def default(self, name: str) -> str:
        """What holds for groups that do not say otherwise."""
        return str(getattr(self._properties(), _DEFAULTS[name], _DEFAULTS[name]))

    def text(self, group_id: str, name: str) -> str:
        """A setting as it holds for the group."""
        return self.of(group_id).get(name, self.default(name))

    def number(self, group_id: str, name: str) -> int:
        """The same of one that is a number."""
        return int(self.text(group_id, name))


def check(name: str, value: str | None) -> None:
    """Raises BrokerError (INVALID_CONFIG) for an unknown setting, and for a value that it cannot have."""
    if name not in _DEFAULTS:
        raise codes.INVALID_CONFIG(f"Unknown group config name: {name}")
    if value is None:
        return
    if name == _RESET and value.startswith(_BY_DURATION):
        milliseconds_of(value.removeprefix(_BY_DURATION))
        return
    if name == _RESET:
        good = value in ("latest", "earliest")
    elif name in _CHOICES:
        good = value in _CHOICES[name]
    else:
        good = value.isdigit()
    if not good:
        raise codes.INVALID_CONFIG(f"Invalid value {value} for configuration {name}")
