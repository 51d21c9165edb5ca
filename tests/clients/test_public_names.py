"""What completion in an editor or a notebook shows of the clients: what their users may call, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import kwire
from kwire import aio

CLIENTS = ("Producer", "Consumer", "ShareConsumer", "Admin")


def made(module: Any, name: str) -> Any:
    """A client that has not been used."""
    return getattr(module, name)("127.0.0.1:1", **({"group_id": "g"} if name == "ShareConsumer" else {}))


def public(of: object) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def check(client: Any) -> None:
    kind = type(client)
    for name in public(client) - {"settings"}:
        found = getattr(kind, name)
        assert callable(found) or isinstance(found, property), f"{name} is no method of {kind}"
        assert found.__doc__, f"{name} of {kind} has no docstring"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_shows_documented_methods_and_its_settings(name: str) -> None:
    with made(kwire, name) as client:
        check(client)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_of_asyncio_shows_the_same(name: str) -> None:
    async def compared() -> None:
        async with made(aio, name) as client:
            check(client)
            with made(kwire, name) as twin:
                assert public(client) - {"drain"} == public(twin)

    asyncio.run(compared())
