"""The lines that a group's life has in the log, for consumers of both worlds: two members, one leaves, one is lost."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kwire.schema.error_codes import ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID

BROKER: dict[str, Any] = {
    "topics": {"t": 12},
    "group_initial_rebalance_delay_ms": 0,
    "group_consumer_heartbeat_interval_ms": 100,
    "group_share_heartbeat_interval_ms": 100,
}
LINE = re.compile(r"group 'g'(, member '(?P<member>[^']+)', (generation|epoch) [1-9]\d*)?: (?P<text>.*)")
REFUSALS = {
    "classic": ("Heartbeat", ILLEGAL_GENERATION),
    "consumer": ("ConsumerGroupHeartbeat", UNKNOWN_MEMBER_ID),
    "share": ("ShareGroupHeartbeat", UNKNOWN_MEMBER_ID),
}
HALVES = {"classic": 2, "consumer": 1, "share": 1}
"""How many of two members are assigned their half anew: of a classic group both, since the first gives all back."""

LIVES = {
    "classic": (
        r"joins: the consumer has subscribed",
        r"joined as its leader; the assignor is 'range'",
        r"assigned t-0, t-1, .* and 2 more; 12 in all",
        r"rebalances: the group is rebalancing",
        r"revoked t-0, .* and 2 more",
        r"assigned .*; 6 in all",
        r"revoked t-",
        r"leaves: the consumer unsubscribed from all topics, or is being closed",
        r"assigned .*; 12 in all",
        r"is out of the group: .*ILLEGAL_GENERATION",
        r"joins: the coordinator answered IllegalGenerationError",
        r"lost t-0, .* and 2 more",
        r"joined",
        r"assigned .*; 12 in all",
        r"leaves",
    ),
    "consumer": (
        r"joins: the consumer has subscribed",
        r"joined",
        r"rebalances: the coordinator assigns 12 partitions",
        r"assigned t-0, t-1, .* and 2 more; 12 in all",
        r"revoked t-",
        r"assigned t-.*; 6 in all",
        r"leaves: the consumer unsubscribed from all topics, or is being closed",
        r"assigned .*; 12 in all",
        r"is out of the group: the coordinator answered UnknownMemberIdError",
        r"lost t-0, .* and 2 more",
        r"joins: the coordinator has forgotten it",
        r"joined",
        r"assigned .*; 12 in all",
        r"leaves",
    ),
    "share": (
        r"joins: the consumer has subscribed, and polls",
        r"joined",
        r"assigned t-0, t-1, .* and 2 more; 12 in all",
        r"joined",
        r"assigned t-.*; 6 in all",
        r"leaves: the consumer unsubscribed from all topics, or is being closed",
        r"assigned .*; 12 in all",
        r"is out of the group: .*UNKNOWN_MEMBER_ID",
        r"revoked t-0, .* and 2 more",
        r"joins: the coordinator has forgotten it",
        r"joined",
        r"assigned t-.*; 12 in all",
        r"leaves",
    ),
}


class Told:
    """The lines of one level so far, in order: (member id or None, text)."""

    def __init__(self, caplog: pytest.LogCaptureFixture, level: int) -> None:
        self._caplog = caplog
        self._level = level

    def lines(self) -> list[tuple[str | None, str]]:
        found: list[tuple[str | None, str]] = []
        for record in self._caplog.records:
            if record.name == "kwire.clients" and record.levelno == self._level:
                match = LINE.fullmatch(record.getMessage())
                assert match is not None, record.getMessage()
                found.append((match["member"], match["text"]))
        return found

    def has(self, pattern: str, *, times: int = 1) -> bool:
        return sum(re.fullmatch(pattern, text) is not None for _, text in self.lines()) >= times

    def check(self, life: tuple[str, ...]) -> None:
        """The lines have these, in this order."""
        texts = [text for _, text in self.lines()]
        rest = iter(texts)
        for pattern in life:
            assert any(re.match(pattern, text) for text in rest), (pattern, texts)
        assert len(texts) < 4 * len(life)


def options(kind: str) -> dict[str, Any]:
    if kind == "share":
        return {"group_id": "g"}
    more = {"group_protocol": "consumer"} if kind == "consumer" else {"heartbeat_interval_ms": 100}
    return {"group_id": "g", "enable_auto_commit": False, **more}
