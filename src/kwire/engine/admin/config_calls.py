"""What a call of `Admin` about configs asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call. Values may be secrets: no error has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire._typing import Any
from kwire.engine.admin.a32_describe_configs import DescribeConfigs
from kwire.engine.admin.a33_alter_configs import AlterConfigs
from kwire.engine.admin.a44_incremental_alter_configs import OPERATIONS, Change, IncrementalAlterConfigs
from kwire.engine.admin.a74_list_config_resources import ListConfigResources
from kwire.engine.admin.calls import Question
from kwire.engine.admin.config_results import OF_A_BROKER, TYPE_CODES, ConfigEntry, ConfigResource
from kwire.engine.admin.config_values import config_name, config_text
from kwire.engine.calls import arguments
from kwire.engine.calls.words import word_in
from kwire.errors import ConfigError

_MAX_NODE_DIGITS = 10


def describe_configs(
    resources: Iterable[Any], *, include_synonyms: bool, include_documentation: bool
) -> Question[dict[ConfigResource, dict[str, ConfigEntry]]]:
    """`Admin.describe_configs`."""
    if isinstance(resources, Mapping):
        wanted = {_resource(each): _names(names) for each, names in resources.items()}
    else:
        wanted = dict.fromkeys(_resources(resources))
    api = DescribeConfigs(
        wanted,
        include_synonyms=arguments.flag(include_synonyms, "include_synonyms"),
        include_documentation=arguments.flag(include_documentation, "include_documentation"),
    )
    return Question(api if wanted else None, dict)


def incremental_alter_configs(changes: Mapping[Any, Mapping[str, Any]], *, validate_only: bool) -> Question[None]:
    """`Admin.incremental_alter_configs`."""
    wanted = {
        resource: {name: _change(value, f"{name} of {resource}") for name, value in values.items()}
        for resource, values in _by_resource(changes, "changes").items()
    }
    api = IncrementalAlterConfigs(wanted, validate_only=arguments.flag(validate_only, "validate_only"))
    return Question(api if wanted else None, lambda found: None)


def alter_configs(configs: Mapping[Any, Mapping[str, Any]], *, validate_only: bool) -> Question[None]:
    """`Admin.alter_configs`."""
    wanted = {
        resource: {name: _replacement(value, f"{name} of {resource}") for name, value in values.items()}
        for resource, values in _by_resource(configs, "configs").items()
    }
    api = AlterConfigs(wanted, validate_only=arguments.flag(validate_only, "validate_only"))
    return Question(api if wanted else None, lambda found: None)


def list_config_resources(types: Iterable[str] | None) -> Question[list[ConfigResource]]:
    """`Admin.list_config_resources`."""
    return Question(ListConfigResources([] if types is None else _types(types)), list)


def list_client_metrics_resources() -> Question[list[str]]:
    """`Admin.list_client_metrics_resources`."""
    return Question(ListConfigResources(["client-metrics"]), lambda found: [resource.name for resource in found])


def _types(given: object) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise ConfigError(f"types={given!r}: expected types of resources, or None for all")
    return list(dict.fromkeys(_type(each) for each in names))


def _type(given: object) -> str:
    kind = word_in(given, TYPE_CODES)
    if kind is None:
        raise ConfigError(f"{given!r} is not a type of resource: they are {', '.join(map(repr, TYPE_CODES))}")
    return kind


def _resources(given: object) -> list[ConfigResource]:
    if isinstance(given, str | bytes | ConfigResource) or not isinstance(given, Iterable):
        raise ConfigError(f"resources={given!r}: expected a list of (type, name)")
    return [_resource(each) for each in given]


def _resource(given: object) -> ConfigResource:
    if isinstance(given, Mapping) and given.keys() == {"type", "name"}:
        given = (given["type"], given["name"])
    if not isinstance(given, tuple) or len(given) != 2:
        raise ConfigError(
            f"a {type(given).__name__} is not a resource: expected (type, name), like ('topic', 'orders')"
        )
    kind, name = _type(given[0]), given[1]
    if kind == "topic":
        name = arguments.topic_name(name)
    elif kind in OF_A_BROKER:
        name = _node(kind, name)
    else:
        name = arguments.checked_name(name, f"the name of a {kind}")
    return ConfigResource(kind, name)


def _node(kind: str, name: object) -> str:
    """The name of a broker as a resource: its id, or "" for all brokers."""
    text = str(name) if isinstance(name, int) and not isinstance(name, bool) else name
    if kind == "broker" and text == "":
        return ""
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > _MAX_NODE_DIGITS:
        others = ", or '' for all brokers" if kind == "broker" else ""
        raise ConfigError(f"{(kind, name)!r} is not a resource: expected the id of a broker{others}")
    return str(int(text))


def _names(given: object) -> Sequence[str] | None:
    if given is None:
        return None
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise ConfigError(f"{given!r}: expected names of configs, or None for all")
    return [config_name(each) for each in names]


def _by_resource(given: object, argument: str) -> dict[ConfigResource, Mapping[str, object]]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{argument}: expected a mapping {{(type, name): {{config: value}}}}")
    found: dict[ConfigResource, Mapping[str, object]] = {}
    for each, values in given.items():
        resource = _resource(each)
        if not isinstance(values, Mapping):
            raise ConfigError(f"{argument} of {resource}: expected a mapping {{config: value}}")
        if resource in found:
            raise ConfigError(f"{argument}: {resource} is there twice")
        found[resource] = {config_name(name): value for name, value in values.items()}
    return found


def _change(given: object, where: str) -> Change:
    """What is done to a config: a value sets it, None deletes it, ("append", value) and the like say what."""
    operation, value = ("delete", None) if given is None else ("set", given)
    if isinstance(given, Mapping):
        if not given.keys() <= {"op_type", "value"} or "op_type" not in given:
            raise ConfigError(f"{where}: expected {{'op_type': 'append', 'value': ...}}")
        operation, value = given["op_type"], given.get("value")
    elif isinstance(given, tuple):
        if len(given) != 2:
            raise ConfigError(f"{where}: expected (operation, value), like ('append', 'compact')")
        operation, value = given
    known = word_in(operation, OPERATIONS)
    if known is None:
        raise ConfigError(f"{where}: the operations are {', '.join(map(repr, OPERATIONS))}")
    return Change(known, None if known == "delete" else config_text(value, where))


def _replacement(given: object, where: str) -> str:
    if given is None:
        raise ConfigError(f"{where} is None: alter_configs() resets what it is not given, so leave it out")
    if isinstance(given, tuple | Mapping):
        raise ConfigError(f"{where}: alter_configs() only sets; incremental_alter_configs() can append and subtract")
    return config_text(given, where)
