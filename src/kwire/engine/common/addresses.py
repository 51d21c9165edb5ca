"""Addresses of brokers and names of partitions: the small value types that every part of a client shares.

Layer 3, no I/O: names are parsed here and resolved by the drivers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._codec import untracked
from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.engine.common.secret import shown
from kwire.errors import ConfigError
from kwire.errors.quoting import printable, quoted
from kwire.errors.wording import Wording

DEFAULT_PORT = 9092
_IPV6_CHARACTERS = frozenset("0123456789abcdefABCDEF:.")
_IPV6_COLONS = 7
_PORT_DIGITS = (4, 5)
_WITH_USER = (
    "a bootstrap server with an '@' in it: give 'host:port', and user and password as {sasl_username} and "
    "{sasl_password}"
)
_LISTENERS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_NOT_IN_HOSTS = frozenset("/\\@?#\"'<>(){}=")


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{printable(self.topic)}-{self.partition}"


if not TYPE_CHECKING:

    def _partition(cls, topic, partition, *more, **keywords):
        """As every named tuple is made, but for what it says to those whose partitions have an offset."""
        if more or keywords:
            raise TypeError(
                "TopicPartition(topic, partition) has no more fields: an offset is given beside it, as in seek("
                "partition, offset), assign([partition], at={partition: offset}) or commit({partition: offset})"
            )
        return untracked(tuple.__new__(cls, (topic, partition)))

    TopicPartition.__new__ = _partition


class Address(NamedTuple):
    """A broker's host (name or literal address, without brackets) and port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = quoted(self.host)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def parse_bootstrap(servers: object, protocol: str = "PLAINTEXT") -> tuple[Address, ...]:
    """Bootstrap servers as addresses, in the order given, each once.

    Takes one string with commas, or a sequence of strings or (host, port) pairs. A missing port means 9092; an IPv6
    literal with a port stands in brackets ("[::1]:9092"). Raises ConfigError that names the entry at fault.
    """
    if isinstance(servers, bytes | bytearray):
        raise ConfigError(Wording("{bootstrap_servers} is bytes; give a string such as 'host:9092,other:9092'"))
    if isinstance(servers, Mapping):
        raise ConfigError(
            Wording(
                "{bootstrap_servers} is a mapping; from_config(mapping) takes settings under dotted names such as "
                "'bootstrap.servers'"
            )
        )
    if isinstance(servers, str):
        entries: list[object] = list(servers.split(","))
    elif isinstance(servers, Iterable):
        entries = list(servers)
    else:
        raise ConfigError(
            Wording("{bootstrap_servers} is {given}, neither a string nor a sequence of them", given=shown(servers))
        )
    found = []
    for entry in entries:
        if "@" in str(entry):
            raise ConfigError(Wording(_WITH_USER))
        if isinstance(entry, str):
            if entry.strip():
                found.append(parse_address(entry, protocol))
        else:
            found.append(_pair(entry))
    if not found:
        raise ConfigError(Wording("{bootstrap_servers} is empty; give at least one 'host:port'"))
    return tuple(dict.fromkeys(found))


def parse_address(text: str, protocol: str = "PLAINTEXT") -> Address:
    """'host', 'host:port', '[v6]:port', each with an optional security protocol before it, such as 'PLAINTEXT://'."""
    entry = text.strip()
    if "@" in entry:
        raise ConfigError(Wording(_WITH_USER))
    if ";" in entry:
        raise ConfigError(f"bootstrap server {entry!r}: addresses are separated by commas, not semicolons")
    scheme, separator, rest = entry.partition("://")
    if separator:
        if scheme.upper() not in _LISTENERS:
            raise ConfigError(f"bootstrap server {entry!r}: give 'host:port', without {scheme}://")
        if scheme.upper() != protocol:
            raise ConfigError(
                f"bootstrap server {text.strip()!r}: listener {scheme!r} is not the security protocol {protocol!r}"
            )
        entry = rest
    if entry.startswith("["):
        host, bracket, tail = entry[1:].partition("]")
        if not bracket or (tail and not tail.startswith(":")):
            raise ConfigError(f"bootstrap server {text.strip()!r}: an IPv6 address with a port is '[address]:port'")
        port_text = tail[1:] if tail else str(DEFAULT_PORT)
    elif entry.count(":") > 1:
        host, port_text = _bare_ipv6(entry), str(DEFAULT_PORT)
    else:
        host, colon, port_text = entry.partition(":")
        if not colon:
            port_text = str(DEFAULT_PORT)
    if not host or any(character.isspace() or character in _NOT_IN_HOSTS for character in host):
        raise ConfigError(f"bootstrap server {text.strip()!r}: no usable host name; write 'host:port'")
    return Address(host, _port(port_text, text.strip()))


def _bare_ipv6(text: str) -> str:
    """An IPv6 address without brackets, perhaps with a zone; ConfigError where it may end in a port."""
    address = text.partition("%")[0]
    head, _, last = text.rpartition(":")
    if "::" in head and len(last) in _PORT_DIGITS and last.isascii() and last.isdigit():
        raise ConfigError(
            f"bootstrap server {text!r}: write '[{head}]:{last}' for port {last}, '[{text}]' for an address"
        )
    complete = "::" in address or address.count(":") == _IPV6_COLONS - address.count(".") // 3
    if not complete or not _IPV6_CHARACTERS.issuperset(address):
        raise ConfigError(
            f"bootstrap server {text!r}: neither 'host:port' nor an IPv6 address, '[address]:port'; "
            "several are separated by commas"
        )
    return text


def _pair(entry: object) -> Address:
    if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], str):
        raise ConfigError(f"bootstrap server {shown(entry)} is neither 'host:port' nor a (host, port) pair")
    return Address(entry[0], _port(str(entry[1]), str(entry)))


def _port(text: str, entry: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise ConfigError(f"bootstrap server {entry!r}: port {text!r} is not a number from 1 to 65535")
    return int(text)
