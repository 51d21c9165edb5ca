"""Which brokers and topics of Kafka 0.7 are registered in ZooKeeper, through the library kazoo.

/brokers/ids/<id>              creator:host:port
/brokers/topics/<topic>/<id>   how many partitions of the topic that broker has
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from kwire import errors
from kwire.engine.common.addresses import Address, parse_address
from kwire.engine.common.numbers import whole_number

__all__ = ["Registered", "registered"]


@dataclass(frozen=True)
class Registered:
    """Brokers by id, and for each topic the number of partitions by broker id."""

    brokers: dict[int, Address]
    topics: dict[str, dict[int, int]]


def registered(servers: str, timeout: float = 10.0) -> Registered:
    """What ZooKeeper at `servers` (`host:2181,host:2181/chroot`) knows. Raises ConnectError, ConfigError, and
    CorruptError for what no broker of 0.7 registers."""
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException, NoNodeError
        from kazoo.handlers.threading import KazooTimeoutError
    except ImportError as error:
        raise errors.ConfigError("discovery through ZooKeeper needs kazoo: pip install 'kwire[zookeeper]'") from error
    keeper = KazooClient(hosts=servers, timeout=timeout, read_only=True)

    def nodes_in(folder: str) -> dict[str, bytes]:
        """The nodes in a folder by their paths; none for no folder, nor one that goes away meanwhile."""
        found = {}
        with suppress(NoNodeError):
            for name in keeper.get_children(folder):
                with suppress(NoNodeError):
                    found[f"{folder}/{name}"] = keeper.get(f"{folder}/{name}")[0]
        return found

    try:
        keeper.start(timeout)
        brokers = {_id(path): _address(content, path) for path, content in nodes_in("/brokers/ids").items()}
        if not brokers:
            raise errors.ConnectError("no broker is registered", {servers: "/brokers/ids is empty"})
        topics = {
            topic.rpartition("/")[2]: {
                _id(path): _whole(content.decode("utf-8", "replace"), path) for path, content in nodes_in(topic).items()
            }
            for topic in nodes_in("/brokers/topics")
        }
        return Registered(dict(sorted(brokers.items())), topics)
    except (KazooException, KazooTimeoutError) as error:
        raise errors.ConnectError("ZooKeeper does not answer", {servers: str(error) or type(error).__name__}) from error
    finally:
        keeper.stop()
        keeper.close()


def _id(path: str) -> int:
    return _whole(path.rpartition("/")[2], path)


def _whole(text: str, path: str) -> int:
    number = whole_number(text)
    if number is None:
        raise errors.CorruptError(f"{text!r} is not a number", path)
    return number


def _address(content: bytes, path: str) -> Address:
    _, colon, rest = content.decode("utf-8", "replace").partition(":")
    if not colon or ":" not in rest:
        raise errors.CorruptError(f"{content!r} is not creator:host:port", path)
    try:
        return parse_address(rest)
    except errors.ConfigError as error:
        raise errors.CorruptError(f"{content!r} is not creator:host:port: {error}", path) from None
