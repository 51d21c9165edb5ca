"""What Admin takes and returns about configs. Layer 3: values only."""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, Any, NamedTuple
from kwire.engine.common.notebooks import in_notebooks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    ConfigValue = str | float | Sequence[str]
    ConfigChange = ConfigValue | tuple[str, ConfigValue | None] | Mapping[str, Any] | None

TYPE_CODES = {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}
"""The types of resources that have configs, and their codes on the wire."""

OF_A_BROKER = ("broker", "broker-logger")

_TYPE_NAMES = {code: name for name, code in TYPE_CODES.items()}

_SOURCES = (
    "unknown",
    "dynamic-topic-config",
    "dynamic-broker-config",
    "dynamic-default-broker-config",
    "static-broker-config",
    "default-config",
    "dynamic-broker-logger-config",
    "dynamic-client-metrics-config",
    "dynamic-group-config",
)
_VALUE_TYPES = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")


@in_notebooks
class ConfigResource(NamedTuple):
    """What has configs: `type` is "topic", "broker", "broker-logger", "client-metrics" or "group". ("broker", "")
    stands for what holds for all brokers."""

    type: str
    name: str

    @property
    def node(self) -> int | None:
        """The id of the broker that it is, or is in; None of anything else."""
        return int(self.name) if self.type in OF_A_BROKER and self.name else None

    def __str__(self) -> str:
        return f"{self.type} {self.name!r}"


@in_notebooks
class ConfigSynonym(NamedTuple):
    """One of the values that a config has in several places; the first that exists holds."""

    name: str
    value: str | None
    source: str


@in_notebooks
class ConfigEntry(NamedTuple):
    """One config. `value` is None where it is a secret.

    `source` says where it is set: "default-config" (nowhere), "static-broker-config" (in the broker's properties),
    "dynamic-topic-config", "dynamic-broker-config", "dynamic-default-broker-config" (for all brokers) and the like.
    `type` is "unknown" before Kafka 2.6. `synonyms` and `documentation` are there if they were asked for.
    """

    name: str
    value: str | None
    source: str
    type: str = "unknown"
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether it is set nowhere."""
        return self.source == "default-config"


def resource_of(code: int, name: str) -> ConfigResource:
    """A resource, as a response names it."""
    return ConfigResource(_TYPE_NAMES.get(code, f"type {code}"), name)


def source_of(code: int) -> str:
    """The name of a ConfigSource."""
    return _SOURCES[code] if 0 <= code < len(_SOURCES) else "unknown"


def value_type_of(code: int) -> str:
    """The name of a ConfigType."""
    return _VALUE_TYPES[code] if 0 <= code < len(_VALUE_TYPES) else "unknown"
