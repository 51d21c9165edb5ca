"""SCRAM credentials in arguments: passwords are salted here, so that none is sent or kept. Layer 3, no I/O.

Brokers get the salted password, as from Kafka's own tools; randomness is passed in.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import TYPE_CHECKING, Any, NamedTuple, override
from kwire.engine.calls.arguments import checked_name
from kwire.engine.calls.words import word_in
from kwire.engine.common.secret import HIDDEN
from kwire.engine.connections.sasl.scram import MIN_ITERATIONS, salted_password
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.engine.common.retry import RandomFraction

MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
NEEDS = "Kafka 2.7 or newer, with KRaft 3.5 (before, kafka-configs.sh writes SCRAM users to ZooKeeper)"

_DEFAULT_ITERATIONS = 8192
_MAX_ITERATIONS = 16_384
"""Brokers refuse more."""
_SALT_BYTES = 16
_DETAILS = ("password", "iterations", "salt")


class Salted(NamedTuple):
    """A credential as a broker is given it."""

    salt: bytes
    salted_password: bytes
    iterations: int

    @override
    def __repr__(self) -> str:
        return f"Salted(iterations={self.iterations}, {HIDDEN})"


def user_name(given: object) -> str:
    """A user's name."""
    return checked_name(given, "a user")


def scram_mechanism(given: object, user: str) -> str:
    """A mechanism of SCRAM by its name."""
    name = word_in(given, MECHANISMS)
    if name is None:
        # What stands in its place may be a password.
        raise ConfigError(f"user {user!r}: expected mechanisms, of {', '.join(MECHANISMS)}")
    return name


def salted_credential(given: object, user: str, of: str, rng: RandomFraction) -> Salted:
    """The credential that a password, or a mapping with it, means. No error has the password."""
    details: dict[Any, Any] = dict(given) if isinstance(given, Mapping) else {"password": given}
    if any(name not in _DETAILS for name in details):
        raise ConfigError(f"user {user!r}, {of}: a detail is none of {', '.join(_DETAILS)}")
    password = details.get("password")
    if not isinstance(password, str) or not password:
        raise ConfigError(f"user {user!r}, {of}: expected a password as str, or None to remove the credential")
    iterations = details.get("iterations", _DEFAULT_ITERATIONS)
    is_whole = isinstance(iterations, int) and not isinstance(iterations, bool)
    if not is_whole or not MIN_ITERATIONS <= iterations <= _MAX_ITERATIONS:
        raise ConfigError(f"user {user!r}, {of}: iterations={iterations!r}; from {MIN_ITERATIONS} to {_MAX_ITERATIONS}")
    salt = details.get("salt")
    if salt is None:
        salt = bytes(int(rng() * 256) for _ in range(_SALT_BYTES))
    if not isinstance(salt, bytes) or not salt:
        raise ConfigError(f"user {user!r}, {of}: salt is a {type(salt).__name__}; expected bytes that are not empty")
    try:
        return Salted(salt, salted_password(of, password, salt, iterations), iterations)
    except UnicodeEncodeError:
        pass  # that error has the password
    raise ConfigError(f"user {user!r}, {of}: the password has a character that UTF-8 has not (a lone surrogate)")
