"""Values of settings that are more than a number, a word or a flag, and what is wrong with those that are refused.

Layer 3, no I/O. Each function is a row's `convert`: it returns the value, or raises TypeError or ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kwire._typing import Any
from kwire.engine.common.serialization import NAMES, Serializer, deserializer_of, serializer_of, with_context
from kwire.engine.settings.kinds import verbatim_text

PARTITIONERS = (
    "default",
    "uniform_sticky",
    "round_robin",
    "random",
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
    "fnv1a",
    "fnv1a_random",
)
"""What each does with a key, and without: `_pxi/client/partitioning.pxi`."""

SERIALIZERS = f"one of {', '.join(map(repr, NAMES))}, or a callable(value, context)"
"""What serializers and deserializers may be given as, for errors."""

_JAVAS_PARTITIONERS = {
    "DefaultPartitioner": "default",
    "RoundRobinPartitioner": "round_robin",
    "UniformStickyPartitioner": "uniform_sticky",
}

_ACKS: dict[str, int | str] = {"0": 0, "1": 1, "all": "all", "-1": "all"}

TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
_FIRST_PRINTABLE = " "
_LAST_PRINTABLE = "~"


def tls_context(value: object) -> object:
    """An `ssl.SSLContext` that clients can use, known by what it does: the engine does not import ssl."""
    if not hasattr(value, "wrap_bio") or getattr(getattr(value, "protocol", None), "name", "").endswith("_SERVER"):
        raise TypeError
    return value


def acks(value: object) -> int | str:
    """0, 1 or "all", which on the wire is -1."""
    text = str(value).strip().lower()
    if text not in _ACKS:
        raise ValueError
    return _ACKS[text]


def partitioner(value: object) -> str | Callable[..., Any]:
    """The name of one, one of Java's classes, or a callable; None, as with Java, is the default one."""
    if callable(value) and not isinstance(value, type):
        return value
    if value is None or value == "":
        return "default"
    if not isinstance(value, str):
        raise TypeError
    name = value.strip()
    name = _JAVAS_PARTITIONERS.get(name.rpartition(".")[2], name)
    if name.lower() not in PARTITIONERS:
        raise ValueError
    return name.lower()


def interceptors(value: object) -> tuple[object, ...]:
    """Objects, not classes of them."""
    if not isinstance(value, (list, tuple)) or any(isinstance(each, (type, str)) for each in value):
        raise TypeError
    return tuple(value)


def serializer(value: object) -> Serializer | None:
    """The name of one, one of Java's classes, or a callable with or without a context; None for bytes."""
    return _serde(value, serializer_of)


def deserializer(value: object) -> Serializer | None:
    """The same for what reads."""
    return _serde(value, deserializer_of)


def _serde(value: object, named: Callable[[str], Serializer | None]) -> Serializer | None:
    if isinstance(value, str):
        try:
            return named(value.strip())
        except KeyError:
            raise ValueError from None
    if not callable(value) or isinstance(value, type):
        raise TypeError
    return with_context(value)


def deserialize_errors(value: object) -> str | Callable[..., Any]:
    """One of the words, or a callable(error, record)."""
    if callable(value):
        return value
    if value not in ("raise", "keep"):
        raise ValueError
    return str(value)


def source(value: object) -> Callable[[], Any]:
    """A callable without arguments."""
    if not callable(value):
        raise TypeError
    return value


def tls_versions(value: object) -> tuple[str, ...]:
    """Versions of TLS from a sequence or a text with commas, oldest first."""
    named = {name.lower() for name in _words(value)}
    chosen = tuple(version for version in TLS_VERSIONS if version.lower() in named)
    if not chosen or len(chosen) < len(named):
        raise ValueError
    return chosen


def cipher_suites(value: object) -> str:
    """Names of cipher suites as OpenSSL takes them: with colons between."""
    return ":".join(_words(value, ",: "))


def extensions(value: object) -> Mapping[str, str]:
    """SASL extensions (RFC 7628): a mapping, or 'name=value,other=value'."""
    pairs = _pairs(value)
    if not all(is_extension(name, text) for name, text in pairs.items()):
        raise ValueError
    return pairs


def is_extension(name: object, value: object) -> bool:
    """Whether that is a SASL extension: a name of letters that is not 'auth', and a printable value."""
    if not isinstance(name, str) or not name.isascii() or not name.isalpha() or name.lower() == "auth":
        return False
    return isinstance(value, str) and all(
        _FIRST_PRINTABLE <= letter <= _LAST_PRINTABLE or letter in "\t\r\n" for letter in value
    )


def claims(value: object) -> Mapping[str, Any]:
    """Claims of an unsecured token: a mapping, or 'sub=alice,scope=read'."""
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) and name for name in value):
            raise TypeError
        return dict(value)
    return _pairs(value)


def _pairs(value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        items: Iterable[tuple[object, object]] = value.items()
    else:
        items = (_two(pair) for pair in _words(value))
    return {verbatim_text(name): verbatim_text(text) for name, text in items}


def _two(pair: str) -> tuple[str, str]:
    name, equals, text = pair.partition("=")
    if not equals or not name.strip():
        raise ValueError
    return name.strip(), text.strip()


def _words(value: object, separators: str = ",") -> list[str]:
    """The words of a text with separators, or of a sequence of texts."""
    if isinstance(value, str):
        for separator in separators:
            value = value.replace(separator, ",")
        found = [word.strip() for word in value.split(",")]
    elif isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
        found = [verbatim_text(word).strip() for word in value]
    else:
        raise TypeError
    found = [word for word in found if word]
    if not found:
        raise ValueError
    return found
