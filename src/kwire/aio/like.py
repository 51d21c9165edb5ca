"""Docstrings of the clients for asyncio that are those of the clients for threads.

Layer 5. Each method has its signature here and there; what it does is said once.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._typing import TypeVar

Client = TypeVar("Client")


def like(original: type) -> Callable[[type[Client]], type[Client]]:
    """A class decorator: a method without a docstring takes that of the method of `original` with its name."""

    def add(client: type[Client]) -> type[Client]:
        for name, member in vars(client).items():
            if not name.startswith("_") and callable(member) and member.__doc__ is None:
                member.__doc__ = getattr(original, name).__doc__
        return client

    return add
