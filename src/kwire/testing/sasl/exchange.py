"""The interface of the server's side of a mechanism, and how it refuses a login."""

from __future__ import annotations

from typing import Protocol


class RefusedError(Exception):
    """The login fails; the client is told why."""


class MalformedError(Exception):
    """The login fails. The client is told only that it did: Kafka writes the reason to its log."""


class Exchange(Protocol):
    """One login. `principal` is the user's name once it is complete, None before; `expires` the time of day in seconds
    from which on the credentials are of no use, None if there is none; `by_token` whether they were a delegation
    token's."""

    @property
    def principal(self) -> str | None: ...

    @property
    def by_token(self) -> bool: ...

    @property
    def expires(self) -> float | None: ...

    def evaluate(self, token: bytes) -> bytes:
        """The answer to the client's next token. Raises RefusedError and MalformedError."""
