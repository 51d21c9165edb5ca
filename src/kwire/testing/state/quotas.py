"""Client quotas: what was set, which one holds for a client, and by how much it went over.

Of Kafka's quotas two are kept up: producer_byte_rate and consumer_byte_rate. A client has a second's worth in advance;
what it sends or gets beyond that throttles it until the rate is right again. The others are only remembered.
"""

from __future__ import annotations

import math
from collections.abc import Callable

USER, CLIENT_ID, IP = "user", "client-id", "ip"
Entity = frozenset[tuple[str, str | None]]
"""Pairs of a type and a name; None is the default of that type."""

KNOWN = {
    "producer_byte_rate": (USER, CLIENT_ID),
    "consumer_byte_rate": (USER, CLIENT_ID),
    "request_percentage": (USER, CLIENT_ID),
    "controller_mutation_rate": (USER, CLIENT_ID),
    "connection_creation_rate": (IP,),
}
WHOLE = {"producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"}
_BURST_S = 1.0

SWEEP_AT = 1000
"""So many clients have accounts before those that owe nothing are taken out; then twice as many as were left."""


class Quotas:
    """The quotas by entity. `now` is a monotonic clock in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.limits: dict[Entity, dict[str, float]] = {}
        self._now = now
        self._paid_until: dict[tuple[str, str, str], float] = {}
        self._sweep_at = SWEEP_AT

    @property
    def account_count(self) -> int:
        """How many clients have an account."""
        return len(self._paid_until)

    def set(self, entity: Entity, name: str, limit: float | None) -> None:
        """Sets a quota; None takes it back."""
        limits = self.limits.setdefault(entity, {})
        if limit is None:
            limits.pop(name, None)
        else:
            limits[name] = limit
        if not limits:
            del self.limits[entity]

    def limit(self, name: str, user: str, client_id: str) -> float | None:
        """The quota that holds for a client, the most precise first, as Kafka orders them."""
        for entity in _candidates(user, client_id):
            found = self.limits.get(entity, {}).get(name)
            if found is not None:
                return found
        return None

    def charge(self, name: str, user: str, client_id: str, amount: float) -> int:
        """Notes what a client used; returns the milliseconds by which it is to be throttled."""
        limit = self.limit(name, user, client_id) if self.limits else None
        if not limit:
            return 0
        now = self._now()
        account = (name, user, client_id)
        if len(self._paid_until) >= self._sweep_at:
            self._paid_until = {each: until for each, until in self._paid_until.items() if until > now}
            self._sweep_at = max(SWEEP_AT, 2 * len(self._paid_until))
        self._paid_until[account] = max(self._paid_until.get(account, -math.inf), now) + amount / limit
        return math.ceil(max(self._paid_until[account] - now - _BURST_S, 0.0) * 1000)


def _candidates(user: str, client_id: str) -> list[Entity]:
    users: tuple[str | None, ...] = (user, None)
    clients: tuple[str | None, ...] = (client_id, None)
    found: list[Entity] = []
    for each in users:
        found += [frozenset({(USER, each), (CLIENT_ID, client)}) for client in clients]
        found.append(frozenset({(USER, each)}))
    return [*found, *(frozenset({(CLIENT_ID, client)}) for client in clients)]
