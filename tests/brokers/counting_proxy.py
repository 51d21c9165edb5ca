"""A TCP proxy that counts the connections made to it."""

import asyncio

from tests.brokers.proxy import Proxy


class CountingProxy(Proxy):
    """`connections` is how many there have been."""

    connections = 0

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await super()._forward(reader, writer)
