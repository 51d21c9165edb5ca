"""Where nodes listen, and where clients are told to come: Kafka's listeners and advertised.listeners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kwire.engine.common.addresses import Address
from kwire.errors import ConfigError

_EVERY_ADDRESS = ("", "0.0.0.0", "::")


@dataclass(frozen=True, slots=True)
class ListenerOptions:
    """A listener that every node has: the ports of nodes 2, 3 ... follow, and so do those that clients are told.

    Port 0 is any free one. `advertised` has one (host, port) for all nodes, or one for each; None for the port that is
    listened on.
    """

    host: str
    port: int
    advertised: tuple[tuple[str, int | None], ...]

    def bound_port(self, node: int) -> int:
        """The port that a node asks for."""
        return self.port and self.port + node - 1

    def advertised_address(self, node: int, bound_port: int) -> Address:
        """Where clients that come by this listener are told to find a node."""
        if len(self.advertised) > 1:
            host, port = self.advertised[node - 1]
            return Address(host, bound_port if port is None else port)
        host, port = self.advertised[0]
        return Address(host, bound_port if port is None else port + node - 1)


def read_listeners(
    host: str, port: int, advertised: str | Sequence[str] | None, more: Mapping[str, str | Sequence[str]], nodes: int
) -> tuple[ListenerOptions, ...]:
    """The listener of `host` and `port`, then those of `more`: {where to listen: what clients are told}.

    Raises ConfigError for what is no address, or for none that clients could come to.
    """
    _check_port("port", port, 0, nodes)
    told = _advertised("host", [host]) if advertised is None else _advertised("advertised", _texts(advertised), nodes)
    found = [ListenerOptions(host, port, told)]
    for text, texts in more.items():
        bound_host, bound_port = _split("listeners", text)
        if bound_port is None:
            raise ConfigError(f"listeners {text!r}: write HOST:PORT, as in 0.0.0.0:29092")
        _check_port("listeners", bound_port, 0, nodes)
        found.append(ListenerOptions(bound_host, bound_port, _advertised("listeners", _texts(texts), nodes)))
    return tuple(found)


def _advertised(option: str, texts: Sequence[str], nodes: int = 1) -> tuple[tuple[str, int | None], ...]:
    if len(texts) not in (1, nodes):
        raise ConfigError(f"{option} {', '.join(map(repr, texts))}: expected one, or one for each of {nodes} nodes")
    found = tuple(_split(option, text) for text in texts)
    for host, port in found:
        if host in _EVERY_ADDRESS:
            raise ConfigError(
                f"{option} {host!r}: clients are given this address, so they must be able to reach it; or set "
                "advertised"
            )
        if port is not None:
            _check_port(option, port, 1, nodes if len(found) == 1 else 1)
    return found


def _texts(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given


def _split(option: str, text: str) -> tuple[str, int | None]:
    """("localhost", 9092) from "localhost:9092", ("::1", None) from "::1" and "[::1]"."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        colon, port = rest[:1], rest[1:]
    elif text.count(":") > 1:
        host, colon, port = text, "", ""
    else:
        host, colon, port = text.partition(":")
    if colon not in ("", ":") or bool(colon) != port.isdecimal() or any(map(str.isspace, host)):
        raise ConfigError(f"{option} {text!r}: write HOST or HOST:PORT, as in localhost:9092")
    return host, int(port) if port else None


def _check_port(option: str, port: int, minimum: int, nodes: int) -> None:
    if not minimum <= port <= 65536 - (nodes if port else 1):
        those_of = f", since those of {nodes} nodes follow each other" if nodes > 1 else ""
        raise ConfigError(f"{option} {port}: expected {minimum} to {65536 - nodes}{those_of}")
