"""Which brokers and topics of Kafka 0.7 are registered in ZooKeeper, through the library kazoo.

/brokers/ids/<id>              creator:host:port
/brokers/topics/<topic>/<id>   how many partitions of the topic that broker has
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire import errors
from kwire.engine.common.addresses import Address, parse_address

__all__ = ["Registered", "registered"]


@dataclass(frozen=True)
class Registered:
    """Brokers by id, and for each topic the number of partitions by broker id."""

    brokers: dict[int, Address]
    topics: dict[str, dict[int, int]]


def registered(servers: str, timeout: float = 10.0) -> Registered:
    """What ZooKeeper at `servers` (`host:2181,host:2181/chroot`) knows. Raises ConnectError, ConfigError."""
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException, NoNodeError
        from kazoo.handlers.threading import KazooTimeoutError
    except ImportError as error:
        raise errors.ConfigError("discovery through ZooKeeper needs kazoo: pip install 'kwire[zookeeper]'") from error
    keeper = KazooClient(hosts=servers, timeout=timeout, read_only=True)
    try:
        keeper.start(timeout)
        try:
            ids = keeper.get_children("/brokers/ids")
        except NoNodeError:
            ids = []
        if not ids:
            raise errors.ConnectError("no broker is registered", {servers: "/brokers/ids is empty"})
        brokers = {int(each): _address(keeper.get(f"/brokers/ids/{each}")[0], each) for each in sorted(ids, key=int)}
        topics = {}
        for topic in keeper.get_children("/brokers/topics") if keeper.exists("/brokers/topics") else []:
            path = f"/brokers/topics/{topic}"
            topics[topic] = {int(each): int(keeper.get(f"{path}/{each}")[0]) for each in keeper.get_children(path)}
        return Registered(brokers, topics)
    except (KazooException, KazooTimeoutError) as error:
        raise errors.ConnectError("ZooKeeper does not answer", {servers: str(error) or type(error).__name__}) from error
    finally:
        keeper.stop()
        keeper.close()


def _address(content: bytes, broker_id: str) -> Address:
    _, colon, rest = content.decode("utf-8", "replace").partition(":")
    if not colon or ":" not in rest:
        raise errors.CorruptError(f"{content!r} is not creator:host:port", f"/brokers/ids/{broker_id}")
    return parse_address(rest)
