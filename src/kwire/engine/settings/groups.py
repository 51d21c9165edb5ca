"""The settings of members of consumer groups, and which of them exclude each other.

Layer 3, no I/O. Names and defaults are Java's. Two protocols are chosen from by group_protocol: with "classic" the
members assign the partitions and each says its own times; with "consumer" (KIP-848) the brokers do both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kwire._typing import Any, override
from kwire.engine.settings.kinds import Settings, optional_setting, setting
from kwire.errors.wording import SettingName, Wording

_INT_MAX = 2**31 - 1
_MAX_ID_LENGTH = 249
_ID_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")

ASSIGNORS = {
    "range": "range",
    "roundrobin": "roundrobin",
    "sticky": "sticky",
    "cooperative-sticky": "cooperative-sticky",
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
"""The assignors that kwire brings, by their own names and by those of Java's classes."""

_CLASSIC_ONLY = {
    "partition_assignment_strategy": "the broker assigns the partitions; {group_remote_assignor} names its assignor",
    "session_timeout_ms": "the broker decides it",
    "heartbeat_interval_ms": "the broker decides it",
}
"""The settings of members of classic groups alone, and who decides instead."""


def assignment_strategy(value: object) -> tuple[Any, ...]:
    """Names of assignors, or objects with `name` and `assign`: from one, a text with commas, or a sequence."""
    if isinstance(value, str):
        given: list[Any] = [name.strip() for name in value.split(",")]
    elif isinstance(value, Iterable):
        given = list(value)
    else:
        given = [value]
    found = tuple(dict.fromkeys(map(_assignor, given)))
    if not found:
        raise ValueError
    return found


def _assignor(given: Any) -> Any:
    if isinstance(given, str):
        name = given.strip().rpartition(".")[2]
        if name not in ASSIGNORS:
            raise ValueError
        return ASSIGNORS[name]
    if isinstance(given, type) or not isinstance(getattr(given, "name", None), str) or not hasattr(given, "assign"):
        raise TypeError
    return given


def instance_id(value: object) -> str:
    """A name that brokers take for a member, as they take it for a topic."""
    text = str(value).strip()
    if not text or not _ID_LETTERS.issuperset(text) or len(text) > _MAX_ID_LENGTH or text in (".", ".."):
        raise ValueError
    return text


class GroupSettings(Settings):
    """How a consumer takes part in its group."""

    group_id: str | None = optional_setting(str, "The consumer group; None reads without one.")
    group_protocol: str = setting(
        str,
        "classic",
        "Who assigns partitions: 'classic', the members; 'consumer' (KIP-848), brokers of Kafka 4.0 or newer.",
        choices=("classic", "consumer"),
    )
    group_instance_id: str | None = optional_setting(
        str,
        "Makes a static member, which keeps its partitions over a restart that takes less than the session timeout.",
        convert=instance_id,
        wanted="up to 249 letters, digits, dots, underscores or hyphens, or None",
    )
    partition_assignment_strategy: Any = setting(
        object,
        ("range", "cooperative-sticky"),
        "Assignors, the preferred one first: 'range', 'roundrobin', 'sticky', 'cooperative-sticky', or objects.",
        convert=assignment_strategy,
        wanted="one or more of 'range', 'roundrobin', 'sticky', 'cooperative-sticky' or objects with name and assign",
        given_as="str | Sequence[Any]",
    )
    group_remote_assignor: str | None = optional_setting(
        str, "The broker's assignor, for group_protocol='consumer': 'uniform' or 'range'; None lets the broker choose."
    )
    session_timeout_ms: int = setting(
        int,
        45_000,
        "A member silent for this long is removed from its group; brokers before 0.10.1 get 30000 by default.",
        minimum=1,
        maximum=_INT_MAX,
    )
    heartbeat_interval_ms: int = setting(
        int, 3_000, "How often a member sends a heartbeat, also between polls.", minimum=1, maximum=_INT_MAX
    )
    max_poll_interval_ms: int = setting(
        int,
        300_000,
        "A member that does not poll for this long leaves its group, and joins again with the next poll.",
        minimum=1,
        maximum=_INT_MAX,
    )
    enable_auto_commit: bool = setting(
        bool,
        True,
        "Commit what earlier polls returned, periodically; only with a group_id.",
        aliases=("auto.commit.enable",),
    )
    auto_commit_interval_ms: int = setting(
        int,
        5_000,
        "How often offsets are committed automatically, while the consumer is polled.",
        minimum=0,
        maximum=_INT_MAX,
    )
    exclude_internal_topics: bool = setting(
        bool, True, "Leave the cluster's own topics, such as __consumer_offsets, out of subscriptions by pattern."
    )

    @override
    def conflicts(self, chosen: Collection[str]) -> list[str]:
        found = super().conflicts(chosen)
        if self.group_protocol == "consumer":
            found.extend(
                Wording(
                    "{name} cannot be set with {group_protocol}='consumer': {why}",
                    name=SettingName(name),
                    why=Wording(_CLASSIC_ONLY[name]),
                )
                for name in _CLASSIC_ONLY
                if name in chosen
            )
            return found
        if self.group_remote_assignor is not None:
            found.append(
                Wording(
                    "{group_remote_assignor} needs {group_protocol}='consumer'; set {partition_assignment_strategy}"
                )
            )
        if self.group_id is None and self.group_instance_id is not None:
            found.append(Wording("{group_instance_id}={given!r} needs a {group_id}", given=self.group_instance_id))
        if self.group_id is not None and self.heartbeat_interval_ms >= self.session_timeout_ms:
            found.append(
                Wording(
                    "{heartbeat_interval_ms}={interval} must be below {session_timeout_ms}={timeout}",
                    interval=self.heartbeat_interval_ms,
                    timeout=self.session_timeout_ms,
                )
            )
        return found
