"""The steps to one broker, in the order in which a client takes them: name, TCP, TLS, ApiVersions, login, Metadata."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kwire import protocol
from kwire.cli.reach.advice import Where
from kwire.cli.reach.channel import Channel, connect
from kwire.cli.reach.steps import LOGIN, METADATA, RESOLVE, TCP, TLS, VERSIONS, Reach, StoppedError, taken
from kwire.drivers.cores import make_core
from kwire.drivers.sockets import SocketAddress, literal, look_up
from kwire.drivers.tls import Agreed, TlsClient
from kwire.engine.common.addresses import Address
from kwire.engine.connections.negotiation import ask_versions, ask_whether_old
from kwire.engine.connections.versions import Versions
from kwire.engine.settings.clients import ClientSettings
from kwire.errors import AuthError, CodecError, ConnectError, KafkaError
from kwire.schema.api_keys import API_VERSIONS
from kwire.schema.api_keys import METADATA as METADATA_KEY

_FAMILIES: Mapping[int, str] = {socket.AF_INET: "IPv4", socket.AF_INET6: "IPv6"}
_AFTER_THE_FIRST_S = 1.0
_DAY_S = 86_400
_FOR_OLD_ONES = 0.5
"""The share of the time that a silent broker has for ApiVersions: one from before 0.10 never answers it."""


class Prober:
    """What the probes of one command share. `patience` is how many seconds each of them may take."""

    def __init__(self, settings: ClientSettings, patience: float) -> None:
        self._settings = settings
        self._patience = patience
        self._login = make_core(settings).login
        self._context = TlsClient.of(settings).context if settings.uses_tls else None

    async def reach_all(self) -> list[Reach]:
        """The bootstrap addresses, then the brokers that their metadata name, each address once."""
        given = self._settings.addresses
        found = await asyncio.gather(*(self.reach(address) for address in given))
        brokers: dict[int, Address] = {}
        for each in found:
            brokers.update(each.brokers)
        ids = {address: broker for broker, address in brokers.items()}
        for each in found:
            each.broker = ids.get(each.address)
        advertised = [(broker, address) for broker, address in sorted(brokers.items()) if address not in given]
        return [*found, *await asyncio.gather(*(self.reach(address, broker) for broker, address in advertised))]

    async def reach(self, address: Address, broker: int | None = None) -> Reach:
        """Goes as far as it can; `broker` is the id of one that the metadata named."""
        settings = self._settings
        where = Where(address, broker is not None, settings.uses_sasl, settings.addresses)
        attempt = _Attempt(Reach(address, broker), where, asyncio.get_running_loop().time() + self._patience, settings)
        with suppress(StoppedError):
            await attempt.run(None if self._context is None else TlsClient(self._context), self._login)
        return attempt.reach


class _Attempt:
    """One way from a name to an answer."""

    def __init__(self, reach: Reach, where: Where, deadline: float, settings: ClientSettings) -> None:
        self.reach = reach
        self._where = where
        self._deadline = deadline
        self._settings = settings
        self._target: SocketAddress | None = None

    def _step(self, name: str) -> Any:
        return taken(self.reach, name, self._where, self._deadline)

    async def run(self, tls: TlsClient | None, login: Any) -> None:
        targets = await self._resolve()
        channel = Channel(await self._connect(targets), self.reach.address, self._settings.client_id)
        try:
            if tls is not None:
                channel = await self._begin_tls(channel, tls)
            channel, versions = await self._ask_versions(channel, tls)
            if login is not None:
                async with self._step(LOGIN) as step:
                    step.facts["mechanism"] = login.mechanism
                    now = time.monotonic()
                    lifetime = await channel.run(login.flow(versions, self.reach.address, 0.0, now))
                    if lifetime:
                        step.facts["session_s"] = lifetime
            await self._ask_metadata(channel, versions)
        finally:
            channel.close()

    # -- to a socket ------------------------------------------------------------------------------------------------

    async def _resolve(self) -> list[SocketAddress]:
        address = self.reach.address
        found = literal(address)
        if found is not None:
            return found
        async with self._step(RESOLVE) as step:
            found, error = await _looked_up(address)
            if error:
                raise ConnectError("", {str(address): error})
            step.facts["addresses"] = [str(target[0]) for _, target in found]
        return found

    async def _connect(self, targets: Sequence[SocketAddress]) -> socket.socket:
        """The first that connects; all are tried at once, and those that are slower have a moment more."""
        tasks = [asyncio.create_task(self._connect_to(target)) for target in targets]
        try:
            waiting = set(tasks)
            while waiting and not any(task.done() and task.exception() is None for task in tasks):
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if waiting:
                await asyncio.wait(waiting, timeout=_AFTER_THE_FIRST_S)
        finally:
            for task in tasks:
                task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        made = [(target, each) for target, each in zip(targets, ended, strict=True) if isinstance(each, socket.socket)]
        for _, other in made[1:]:
            other.close()
        if not made:
            raise next(each for each in ended if isinstance(each, BaseException))
        self._target, chosen = made[0]
        return chosen

    async def _connect_to(self, target: SocketAddress) -> socket.socket:
        async with self._step(TCP) as step:
            step.facts["address"] = str(target[1][0])
            step.facts["family"] = _FAMILIES.get(target[0], str(target[0]))
            return await connect(target)
        raise AssertionError

    async def _again(self, tls: TlsClient | None) -> Channel:
        """Another connection to the same place."""
        assert self._target is not None
        channel = Channel(await connect(self._target), self.reach.address, self._settings.client_id)
        if tls is not None:
            try:
                await channel.begin_tls(tls)
            except BaseException:
                channel.close()
                raise
        return channel

    # -- to an answer -----------------------------------------------------------------------------------------------

    async def _begin_tls(self, channel: Channel, tls: TlsClient) -> Channel:
        """The channel with TLS. Where the port hangs up at its first bytes, plaintext is asked for the reason."""
        async with self._step(TLS) as step:
            try:
                await channel.begin_tls(tls)
            except (AuthError, OSError):
                step.facts.update(_tls_facts(channel.agreed))
                channel.close()
                if self.reach.address in tls.suspects:
                    (await self._again(tls)).close()
                raise
            step.facts.update(_tls_facts(channel.agreed))
        return channel

    async def _ask_versions(self, channel: Channel, tls: TlsClient | None) -> tuple[Channel, Versions]:
        """What the broker speaks; a silent one is asked in a second connection what those before 0.10 answer."""
        async with self._step(VERSIONS) as step:
            newest = protocol.APIS[API_VERSIONS].versions[-1]
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout((self._deadline - loop.time()) * _FOR_OLD_ONES):
                    versions = await channel.run(ask_versions(newest))
            except OSError as error:
                channel.close()
                try:
                    channel = await self._again(tls)
                    versions = await channel.run(ask_whether_old(0))
                except (OSError, CodecError):
                    raise error from None
            step.facts["release"] = protocol.infer_release(versions.ranges) if not versions.before_0_10 else "<0.10"
            step.facts["apis"] = len(versions.ranges)
        return channel, versions

    async def _ask_metadata(self, channel: Channel, versions: Versions) -> None:
        async with self._step(METADATA) as step:
            version = versions.newest_common(METADATA_KEY, 0, protocol.APIS[METADATA_KEY].versions[-1])
            if version is None:
                raise KafkaError("the broker has no Metadata: this is the listener of a controller")
            said = await channel.ask(METADATA_KEY, version, protocol.MetadataRequest(topics=[]))
            self.reach.brokers = {broker.node_id: Address(broker.host, broker.port) for broker in said.brokers}
            step.facts.update(_metadata_facts(said))


def _metadata_facts(said: Any) -> Mapping[str, Any]:
    facts: dict[str, Any] = {"brokers": sorted(broker.node_id for broker in said.brokers)}
    if said.controller_id >= 0:
        facts["controller"] = said.controller_id
    if said.cluster_id is not None:
        facts["cluster"] = said.cluster_id
    return facts


def _tls_facts(agreed: Agreed | None) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    if agreed is not None and agreed.version:
        facts.update(protocol=agreed.version, cipher=agreed.cipher)
    if agreed is not None and agreed.chain:
        own = agreed.chain[0]
        facts["subject"] = ", ".join(value for part in own.get("subject", ()) for _, value in part)
        facts["names"] = [value for _, value in own.get("subjectAltName", ())]
        ends = min(ssl.cert_time_to_seconds(each["notAfter"]) for each in agreed.chain)
        facts["expires_in_days"] = int((ends - time.time()) // _DAY_S)
    return facts


async def _looked_up(address: Address) -> tuple[list[SocketAddress], str]:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[list[SocketAddress], str]] = loop.create_future()

    def settle(found: list[SocketAddress], error: str) -> None:
        if not answer.done():
            answer.set_result((found, error))

    def done(found: list[SocketAddress], error: str) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, found, error)

    look_up(address, done, lambda: not answer.done())
    return await answer
