"""The configs that were set while the broker runs, and what holds for a resource: DescribeConfigs' view of the cluster.

A topic's own values go over the broker's. What is set for brokers (for all by the empty name, or for one) takes effect
in the whole cluster: in its properties and in topics that do not say otherwise. Configs of groups, client metrics and
log levels are kept, and whoever knows what they mean asks for them. A broker's configs are all that its release has:
what it was started with holds for those that are options here, Kafka's default for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.errors import broker as codes
from kwire.testing.settings.broker_configs import LIST, STRING, BrokerConfig, broker_configs
from kwire.testing.settings.config_names import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    CLIENT_METRICS_CONFIGS,
    GROUP,
    GROUP_CONFIGS,
    TOPIC,
    TOPIC_CONFIGS,
    Config,
    is_valid,
)
from kwire.testing.settings.config_texts import BROKER_TEXTS, TOPIC_TEXTS
from kwire.testing.settings.group_configs import check
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.state.partition import check_topic_name
from kwire.testing.state.telemetry import check_match

if TYPE_CHECKING:
    from kwire.engine.common.addresses import Address
    from kwire.testing.cluster import ClusterState

ON_TOPIC, ON_BROKER, ON_ALL_BROKERS, AT_START, SHIPPED, ON_LOGGER, ON_CLIENT_METRICS, ON_GROUP = range(1, 9)
"""Where a value comes from, in the numbers of the protocol."""
_UNKNOWN = 0
_LISTS = {
    name for name, config in (TOPIC_CONFIGS | GROUP_CONFIGS | CLIENT_METRICS_CONFIGS).items() if config.type == LIST
}
_KINDS = {GROUP: GROUP_CONFIGS, CLIENT_METRICS: CLIENT_METRICS_CONFIGS}
_MATCH = "match"
_MAX_DIGITS = 10
"""Of the id of a node."""
_SOURCES = {GROUP: ON_GROUP, CLIENT_METRICS: ON_CLIENT_METRICS, BROKER_LOGGER: ON_LOGGER}


class Value(NamedTuple):
    """What holds for one name. `synonyms` are (name, value, source), what holds first."""

    value: str | None
    source: int
    type: int
    synonyms: tuple[tuple[str, str | None, int], ...] = ()
    read_only: bool = False
    is_sensitive: bool = False
    documentation: str | None = None


class Configs:
    """Reads and changes the configs of a cluster's resources, by (type, name)."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._at_start = cluster.properties
        self.changed: dict[tuple[int, str], dict[str, str]] = {}

    def own(self, resource_type: int, name: str) -> dict[str, str]:
        """What was set for a resource; nothing for a missing topic. Raises BrokerError for one that cannot be."""
        if resource_type == TOPIC:
            if not name:
                raise codes.INVALID_REQUEST("there are no configs of all topics")
            known = self._cluster.topics.get(name)
            return {} if known is None else dict(known.settings.given)
        if resource_type == BROKER or (resource_type == BROKER_LOGGER and name):
            self._check_broker(name)
        elif resource_type not in (*_KINDS, BROKER_LOGGER):
            raise codes.INVALID_REQUEST(f"resource type {resource_type}")
        elif not name:
            raise codes.INVALID_REQUEST("a resource's name is empty")
        of_group = self._cluster.groups.configs.of(name) if resource_type == GROUP else {}
        return self.changed.get((resource_type, name), {}) | of_group

    def set_own(self, resource_type: int, name: str, values: Mapping[str, str], *, validate_only: bool = False) -> None:
        """Replaces what was set for a resource. Raises BrokerError, and changes nothing then."""
        self.own(resource_type, name)
        if resource_type == TOPIC:
            settings = self._cluster.settings_for(values)
            topic = self._cluster.topic(name)
            if not validate_only:
                self._cluster.change_topic(topic, settings)
            return
        if resource_type == BROKER:
            self._check_of_broker(values)
        for key, value in values.items():
            _check(self._known(resource_type).get(key), resource_type, key, value)
        if resource_type == GROUP:
            values = self._set_of_group(name, values, validate_only=validate_only)
        if validate_only:
            return
        self.changed[resource_type, name] = dict(values)
        if not values:
            del self.changed[resource_type, name]
        if resource_type == BROKER:
            self._apply_to_brokers()

    def held(self, resource_type: int, name: str, key: str) -> str:
        """The value of a config, own or default; empty for an unknown one."""
        own = self.own(resource_type, name)
        if key in own or (resource_type != TOPIC and resource_type not in _KINDS):
            return own.get(key, "")
        known = self._cluster.topic_configs if resource_type == TOPIC else _KINDS[resource_type]
        return known[key].default if key in known else ""

    def of_client_metrics(self) -> dict[str, dict[str, str]]:
        """What was set for each resource of client metrics."""
        return {name: values for (kind, name), values in self.changed.items() if kind == CLIENT_METRICS}

    def is_list(self, name: str) -> bool:
        """Whether values may be appended and subtracted."""
        return name in _LISTS

    def describe(self, resource_type: int, name: str) -> dict[str, Value]:
        """Every config of a resource. Raises BrokerError for one that cannot be."""
        if resource_type == TOPIC and name not in self._cluster.topics:
            check_topic_name(name)
        own = self.own(resource_type, name)
        if resource_type == TOPIC:
            values = self._cluster.topic(name).settings.values
            return {key: self._of_topic(key, values[key], own) for key in values}
        if resource_type == BROKER:
            return self._of_broker(name, own)
        described = {key: self._of_brokers(config) for key, config in self._known(resource_type).items()}
        for key, value in own.items():
            source = _SOURCES[resource_type]
            kind = described[key].type if key in described else STRING
            below = described[key].synonyms if key in described else ()
            described[key] = Value(value, source, kind, ((key, value, source), *below))
        return described

    def _set_of_group(self, name: str, values: Mapping[str, str], *, validate_only: bool) -> dict[str, str]:
        """Hands to the groups what has an effect on them; returns the others. Raises BrokerError."""
        configs = self._cluster.groups.configs
        for key, value in values.items():
            if key in configs.names:
                check(key, value)
        if not validate_only:
            for key in configs.names:
                configs.set(name, key, values.get(key))
        return {key: value for key, value in values.items() if key not in configs.names}

    def _of_brokers(self, config: Config) -> Value:
        """What holds for a group or for client metrics that do not say otherwise."""
        held = _text(getattr(self._cluster.properties, config.property.replace(".", "_"), config.default))
        below = self._below(config, held)
        return Value(held, below[0][2] if below else SHIPPED, config.type, below)

    def _of_topic(self, key: str, value: str, own: Mapping[str, str]) -> Value:
        config = self._cluster.topic_configs[key]
        below = self._below(config, value if key not in own else None)
        text = TOPIC_TEXTS.get(key)
        if key in own:
            return Value(value, ON_TOPIC, config.type, ((key, value, ON_TOPIC), *below), documentation=text)
        return Value(value, below[0][2] if below else SHIPPED, config.type, below, documentation=text)

    def _below(self, config: Config, value: str | None) -> tuple[tuple[str, str, int], ...]:
        """What the brokers say; `value` is what holds if it comes from there."""
        found = [
            (name, changed[name], source)
            for name in config.names()
            for changed, source in self._changed_for_brokers()
            if name in changed
        ]
        if value is not None and not found and value != config.default:
            found.append((config.override or config.property, value, AT_START))
        return (*found, *_default_synonym(config))

    def _changed_for_brokers(self) -> list[tuple[dict[str, str], int]]:
        named = [(values, ON_BROKER) for (kind, name), values in self.changed.items() if kind == BROKER and name]
        return [*named, (self.changed.get((BROKER, ""), {}), ON_ALL_BROKERS)]

    def _of_broker(self, name: str, own: Mapping[str, str]) -> dict[str, Value]:
        """A broker, or what was set for all of them."""
        known = broker_configs(self._cluster.release)
        if not name:
            return {key: _changed_value(key, known.get(key), ((key, own[key], ON_ALL_BROKERS),)) for key in own}
        started, for_all = self._values_at_start(int(name)), self.changed.get((BROKER, ""), {})
        described = {key: _value_at_start(key, config, started.get(key)) for key, config in known.items()}
        for key in {**for_all, **own}:
            places = ((own, ON_BROKER), (for_all, ON_ALL_BROKERS))
            above = tuple((key, changed[key], source) for changed, source in places if key in changed)
            below = described[key].synonyms if key in described else ()
            described[key] = _changed_value(key, known.get(key), (*above, *below))
        return described

    def _values_at_start(self, node_id: int) -> dict[str, str]:
        """What the options of this very broker say, by Kafka's names."""
        cluster, node = self._cluster, self._cluster.nodes[node_id]
        started = {key: _text(getattr(self._at_start, key.replace(".", "_"))) for key in _properties()}
        started |= cluster.values_at_start
        started |= {"node.id": str(node_id), "broker.id": str(node_id)}
        started |= {
            "listeners": _listed(cluster.security_protocol, [each.bound for each in node.endpoints]),
            "advertised.listeners": _listed(cluster.security_protocol, [each.advertised for each in node.endpoints]),
        }
        if node.rack is not None:
            started["broker.rack"] = node.rack
        return started

    def _check_of_broker(self, values: Mapping[str, str]) -> None:
        """Raises BrokerError for what cannot be changed while the broker runs, or has no such value."""
        known = broker_configs(self._cluster.release)
        fixed = [key for key in values if key in known and not known[key].dynamic]
        if fixed:
            raise codes.INVALID_REQUEST(f"Cannot update these configs dynamically: {fixed}")
        for key, value in values.items():
            if key in known and not is_valid(Config(known[key].type, ""), value):
                raise codes.INVALID_REQUEST(f"{key} {value!r} is not of its type")

    def _known(self, resource_type: int) -> Mapping[str, Config]:
        return _KINDS.get(resource_type, {})

    def _check_broker(self, name: str) -> None:
        if name and (not name.isdecimal() or len(name) > _MAX_DIGITS or int(name) not in self._cluster.nodes.ids):
            raise codes.INVALID_REQUEST(f"no broker has the id {name!r}")

    def _apply_to_brokers(self) -> None:
        """Makes properties and topics those that the brokers' configs say."""
        together: dict[str, str] = {}
        for changed, _ in reversed(self._changed_for_brokers()):
            together |= changed
        known = {key: default for key, default in _properties().items() if key in together}
        parsed: dict[str, Any] = {
            key.replace(".", "_"): _parsed(together[key], type(default)) for key, default in known.items()
        }
        self._cluster.change_properties(replace(self._at_start, **parsed), together)


def _check(config: Config | None, resource_type: int, key: str, value: str) -> None:
    if config is None and resource_type in _KINDS:
        code = codes.INVALID_CONFIG if resource_type == GROUP else codes.INVALID_REQUEST
        raise code(f"unknown config {key!r}")
    if config is not None and not is_valid(config, value):
        raise codes.INVALID_CONFIG(f"{key} {value!r} is not of its type")
    if resource_type == CLIENT_METRICS and key == _MATCH:
        try:
            check_match(value)
        except ValueError as error:
            raise codes.INVALID_CONFIG(f"{key} {value!r} is no list of patterns: {error}") from None


def _default_synonym(config: Config) -> tuple[tuple[str, str, int], ...]:
    return ((config.property, config.default, SHIPPED),) if config.property else ()


def _properties() -> dict[str, Any]:
    """The broker's properties by their dotted names, with Kafka's defaults."""
    return {each.name.replace("_", "."): each.default for each in fields(BrokerProperties)}


def _value_at_start(key: str, config: BrokerConfig, started: str | None) -> Value:
    synonyms: tuple[tuple[str, str | None, int], ...] = ()
    if config.default is not None:
        synonyms = ((key, config.default, SHIPPED),)
    if started is not None and started != config.default and not config.is_sensitive:
        synonyms = ((key, started, AT_START), *synonyms)
    value, source = (synonyms[0][1], synonyms[0][2]) if synonyms else (None, SHIPPED)
    return Value(value, source, config.type, synonyms, not config.dynamic, config.is_sensitive, BROKER_TEXTS.get(key))


def _changed_value(key: str, config: BrokerConfig | None, synonyms: tuple[tuple[str, str | None, int], ...]) -> Value:
    """The value of a config that was changed; of an unknown one nobody is told what it is."""
    if config is None or config.is_sensitive:
        synonyms = tuple((name, None, source) for name, _, source in synonyms)
    _, value, source = synonyms[0]
    if config is None:
        return Value(value, source, _UNKNOWN, synonyms, read_only=True, is_sensitive=True)
    return Value(value, source, config.type, synonyms, False, config.is_sensitive, BROKER_TEXTS.get(key))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parsed(text: str, kind: type) -> Any:
    return text.lower() == "true" if kind is bool else kind(text)


def _listed(protocol: str, addresses: Sequence[Address]) -> str:
    """Listeners as Kafka lists them: the first has the name of its protocol, others are told apart by their numbers."""
    names = [protocol, *(f"{protocol}_{number}" for number in range(2, len(addresses) + 1))]
    return ",".join(f"{name}://{address}" for name, address in zip(names, addresses, strict=True))
