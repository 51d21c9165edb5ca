"""The options with the prefix `kafka.`: settings of the clients that plan, read and write.

They are judged by the table of settings of the client that takes them, Consumer or Producer; errors name them as the
job does: `kafka.ssl.keystore.location`, not `ssl_keystore_location`. Passwords, keys and JAAS texts become `Secret`
here, before anything else sees them: a reader is pickled, its parts are in tracebacks, and none may show them. No
socket, no Spark.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from kwire.engine.common.secret import Secret
from kwire.engine.settings.clients import ClientSettings, ConsumerSettings, ProducerSettings
from kwire.engine.settings.config import from_config
from kwire.engine.settings.kinds import Setting
from kwire.errors import ConfigError, KafkaError
from kwire.errors.wording import NameOf, spelled
from kwire.spark.decoding.named_function import NamedFunction, names_function
from kwire.spark.options.given import CLIENT_PREFIX, SERVERS, GivenOptions
from kwire.spark.options.java_properties import ROWS, is_as_it_is, why_without_effect

# A position that is not in the log is for failOnDataLoss to judge, and a read must not bring topics into being.
CLIENT_SETTINGS: Final[dict[str, Any]] = {"auto_offset_reset": "none", "allow_auto_create_topics": False}

_NOT_OF_A_TABLE: Final = (
    ". There are no options at all, as for a table (saveAsTable, CREATE TABLE ... AS): Spark does not pass a Python "
    "source its options. Use spark.read and write.save, or CREATE TEMPORARY VIEW ... USING kwire OPTIONS (...)"
)
_CONVERTED: Final = "keys and values are binary or strings; convert them with DataFrame operations"
_REFUSED: Final[dict[type[ClientSettings], dict[str, str]]] = {
    ConsumerSettings: {
        "auto.offset.reset": "use startingOffsets and endingOffsets",
        "enable.auto.commit": "the source commits no offsets",
        "interceptor.classes": "there are no interceptors",
        "key.deserializer": "keys come as binary; convert them with DataFrame operations",
        "schema.registry.url": "use the options decoder=avro and decoder.registry",
        "value.deserializer": "values come as binary; convert them with DataFrame operations",
    },
    ProducerSettings: {
        "key.serializer": _CONVERTED,
        "value.serializer": _CONVERTED,
    },
}
_ROWS: Final[dict[str, Setting]] = {**ROWS[ProducerSettings], **ROWS[ConsumerSettings]}
_RETURNED: Final = {
    "sasl_oauth_token": "(token, lifetime in seconds)",
    "sasl_credentials": "(user, password)",
}
_WITH_PORT: Final = re.compile(r":[^:\]]+$")


def checked_properties(
    given: GivenOptions, table: type[ClientSettings], own_names: Mapping[str, str] = {}, **own: Any
) -> dict[str, str]:
    """The properties with the prefix, which they lose, tried on the client's settings: a fault shows before anything is
    read or written. What a client of this kind has no use for is left out, with a warning. Secrets are hidden from here
    on. `own` are settings that the job's clients will have besides, and `own_names` the options that bring them.
    """
    if not given.text(SERVERS):
        raise ConfigError(
            f"Option '{SERVERS}' must be specified for configuring Kafka {table.client.lower()}, "
            f"e.g. 'broker1:9092,broker2:9092'{'' if any(given) else _NOT_OF_A_TABLE}"
        )
    _check_servers(given.text(SERVERS) or "")
    properties: dict[str, str] = {}
    for name, value in given.client_properties().items():
        refusal = _REFUSED[table].get(name)
        if refusal and not is_as_it_is(name, value):
            raise ConfigError(f"Kafka option '{name}' is not supported: {refusal}")
        reason = "it is always so here" if refusal else why_without_effect(name, value, table)
        if reason:
            given.has_no_effect(CLIENT_PREFIX + name, reason)
        else:
            properties[name] = _value(name, value)
    with errors_by_option(properties, own_names=own_names):
        from_config(table, properties, **own, **(CLIENT_SETTINGS if table is ConsumerSettings else {}))
    return properties


def _check_servers(servers: str) -> None:
    """Java asks for a port; without one, a read would try the usual port for a minute."""
    for server in servers.split(","):
        if server.strip() and "@" not in server and not _WITH_PORT.search(server.strip()):
            raise ConfigError(f"{SERVERS}: '{server.strip()}' has no port; expected host:port, e.g. 'broker1:9092'")


@contextmanager
def errors_by_option(
    properties: Mapping[str, str], *, own_names: Mapping[str, str] = {}, on_this_host: bool = False
) -> Iterator[None]:
    """Lets every KafkaError of the block name options where it speaks of settings, those of `own_names` before others;
    `on_this_host` adds to a ConfigError where it was: a file may be on the driver and not on an executor.
    """
    by_property = options_of(properties)

    def name_of(name: str) -> str:
        return own_names.get(name) or by_property(name)

    try:
        yield
    except ConfigError as error:
        where = f"on host {socket.gethostname()}: " if on_this_host else ""
        raise ConfigError(where + error.told(lambda problem: spelled(problem.text, name_of))) from None
    except KafkaError as error:
        _spell(error, name_of)
        raise


def _spell(error: BaseException, name_of: NameOf) -> None:
    """Gives these names to the settings in all that the error says, and in what a traceback shows with it."""
    waiting, seen = [error], {id(error)}
    while waiting:
        each = waiting.pop()
        if isinstance(each, KafkaError):
            each.args = tuple(_spelled(value, name_of) for value in each.args)
            vars(each).update({name: _spelled(value, name_of) for name, value in vars(each).items()})
        within = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        for further in (each.__cause__, each.__context__, *within):
            if further is not None and id(further) not in seen:
                seen.add(id(further))
                waiting.append(further)


def _spelled(value: object, name_of: NameOf) -> object:
    if isinstance(value, dict):
        return {key: _spelled(each, name_of) for key, each in value.items()}
    return spelled(value, name_of) if isinstance(value, str) else value


def options_of(properties: Mapping[str, str]) -> NameOf:
    """The option for a setting of kwire's clients: as the job gave it, or else by Java's name."""
    given = {_ROWS[name].keyword: name for name in properties if name in _ROWS}

    def option(name: str) -> str:
        row = None if name in properties or "." in name else _ROWS.get(name)
        return CLIENT_PREFIX + (name if row is None else given.get(row.keyword, row.dotted))

    return option


def _value(name: str, value: str) -> str:
    row = _ROWS.get(name)
    if row is not None and row.keyword in _RETURNED:
        if not names_function(value.strip()):
            raise ConfigError(
                f"{CLIENT_PREFIX}{name}: expected package.module:function, a function without arguments that returns "
                f"{_RETURNED[row.keyword]}, in a module that driver and workers can import"
            )
        return NamedFunction(value.strip())
    return Secret(value) if row is not None and row.secret else value
