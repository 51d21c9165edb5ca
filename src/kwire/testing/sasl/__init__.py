"""The server's side of each SASL mechanism, as small state machines without I/O: one token in, one token out.

They stand on nothing of kwire, the client's side least of all, so that each side can be tested with the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kwire.testing.sasl.exchange import Exchange
from kwire.testing.sasl.oauthbearer import OAuthBearerExchange
from kwire.testing.sasl.plain import PlainExchange
from kwire.testing.sasl.scram import MIN_ITERATIONS, ScramCredentials, ScramExchange, TokenLogin

__all__ = ["MECHANISMS", "Accounts"]

MECHANISMS = {
    "SCRAM-SHA-512": (0, 10, 2),
    "SCRAM-SHA-256": (0, 10, 2),
    "PLAIN": (0, 10),
    "OAUTHBEARER": (2,),
}
"""The mechanisms, and the first release that has each."""

_HASHES = {"SCRAM-SHA-512": "sha512", "SCRAM-SHA-256": "sha256"}


class TokenLogins(Protocol):
    """The delegation tokens of a cluster, as logins ask for them."""

    def login(self, token_id: str, hash_name: str) -> TokenLogin | None: ...


@dataclass
class Accounts:
    """The users and mechanisms of a broker. `users` are passwords by name, `clock` is the time of day in seconds."""

    users: Mapping[str, str] = field(repr=False)
    mechanisms: tuple[str, ...]
    iterations: int = MIN_ITERATIONS
    max_reauth_ms: int = 0
    clock: Callable[[], float] = time.time
    tokens: TokenLogins | None = None
    _scram: dict[tuple[str, str], ScramCredentials] = field(default_factory=dict, repr=False)
    _removed: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def begin(self, mechanism: str) -> Exchange:
        """The exchange of one login."""
        if mechanism == "PLAIN":
            return PlainExchange(self.users)
        if mechanism == "OAUTHBEARER":
            return OAuthBearerExchange(self.clock)
        hash_name, tokens = _HASHES[mechanism], self.tokens
        return ScramExchange(
            hash_name,
            lambda user: self._scram_credentials(mechanism, user),
            find_token=lambda token_id: None if tokens is None else tokens.login(token_id, hash_name),
        )

    def scram_iterations(self) -> dict[tuple[str, str], int]:
        """The iterations by (mechanism, user), of those who may log in by SCRAM."""
        held = {
            (mechanism, user): self.iterations
            for mechanism in self.mechanisms
            if mechanism in _HASHES
            for user in self.users
        }
        held |= {key: each.iterations for key, each in self._scram.items()}
        return {key: iterations for key, iterations in held.items() if key not in self._removed}

    def set_scram(self, mechanism: str, user: str, credentials: ScramCredentials | None) -> None:
        """Other credentials from the next login on; None for none."""
        self._removed.discard((mechanism, user))
        self._scram.pop((mechanism, user), None)
        if credentials is None:
            self._removed.add((mechanism, user))
        else:
            self._scram[mechanism, user] = credentials

    def _scram_credentials(self, mechanism: str, user: str) -> ScramCredentials | None:
        """Made when they are first asked for: thousands of iterations take milliseconds."""
        if (mechanism, user) in self._removed:
            return None
        if (mechanism, user) not in self._scram:
            if user not in self.users:
                return None
            made = ScramCredentials.of(self.users[user], _HASHES[mechanism], self.iterations)
            self._scram[mechanism, user] = made
        return self._scram[mechanism, user]
