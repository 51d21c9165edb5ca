"""Settings from what a program passes: keywords, or a mapping of dotted names; and what `help()` says of them.

Layer 3, no I/O. The tables are in `clients.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps

from kwire._typing import Any, TypeVar
from kwire.engine.common.secret import hiding_arguments, shown
from kwire.engine.settings.clients import ClientSettings, names_of, owners_of
from kwire.engine.settings.foreign import key_of
from kwire.errors import ConfigError
from kwire.errors.wording import SettingName, Wording

SettingsType = TypeVar("SettingsType", bound=ClientSettings)
Client = TypeVar("Client")


def keywords(bootstrap_servers: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a client's constructor as keywords of its table; None for the servers leaves the default."""
    return {**options} if bootstrap_servers is None else {"bootstrap_servers": bootstrap_servers, **options}


def from_config(
    table: type[SettingsType],
    config: Mapping[str, Any],
    pass_over: Callable[[dict[str, tuple[str, ...]]], object] | None = None,
    /,
    **more: Any,
) -> SettingsType:
    """Settings from a mapping of dotted names (Java's, librdkafka's aliases, each with an optional `kafka.` before it).

    `more` are keywords and win. Of a mapping that serves several clients each takes what it has: `pass_over` is called
    with the names that only other kinds of clients have, and those kinds. Raises one ConfigError for all names that are
    unknown (each with the nearest), given twice under two names with two values, or have a value that cannot be used.
    Settings of other libraries that make no difference here are ignored with a warning.
    """
    if not isinstance(config, Mapping):
        raise TypeError(f"from_config() takes a mapping of names to values, not {type(config).__name__}")
    names = names_of(table)
    given: dict[str, Any] = {}
    foreign: dict[str, tuple[str, ...]] = {}
    refusals: list[str] = []
    for name, value in config.items():
        plain = str(name).removeprefix("kafka.")
        row = names.get(plain) or names.get(key_of(plain))
        owners = () if row is not None else owners_of(plain)
        if owners and table.client not in owners:
            foreign[plain] = owners
            continue
        keyword = plain if row is None else row.keyword
        if keyword in given and given[keyword] != value:
            refusals.append(
                Wording(
                    "{name!r} and another name of {keyword} are given with different values",
                    name=SettingName(name),
                    keyword=SettingName(keyword),
                )
            )
        given[keyword] = value
    if foreign and pass_over is not None:
        pass_over(foreign)
    if more.get("sasl_jaas_config") is None:
        given = {**table.expanded(given, refusals)}  # so that keywords win over what it stands for
    return table.made_of({**given, **more}, refusals)


def documentation(table: type[ClientSettings]) -> str:
    """The table as text: one line for each setting, in the order of the table."""
    return "\n".join(f"{keyword} (default {row.default!r}): {row.doc}" for keyword, row in table.table.items())


def configured_by(table: type[ClientSettings]) -> Callable[[type[Client]], type[Client]]:
    """A class decorator for a client: the table goes below its docstring, for `help()`, and its constructor says what
    its first argument is when something else is given there.
    """

    def add(client: type[Client]) -> type[Client]:
        text = documentation(table).replace("\n", "\n    ")
        client.__doc__ = f"{client.__doc__}\n    Settings:\n\n    {text}\n    "
        construct = hiding_arguments(_with_one_positional(client.__init__))
        by_config = hiding_arguments(vars(client)["from_config"].__func__)
        setattr(client, "__init__", construct)  # noqa: B010 - a checker forbids the plain form
        setattr(client, "from_config", classmethod(by_config))  # noqa: B010
        return client

    return add


def _with_one_positional(construct: Callable[..., None]) -> Callable[..., None]:
    @wraps(construct)
    def checked(self: object, *positional: object, **options: Any) -> None:
        if len(positional) > 1 or (positional and "bootstrap_servers" in options):
            given = ", ".join(map(shown, positional))
            raise ConfigError(
                f"{type(self).__name__}({given}): the first argument is bootstrap_servers, all others are keywords; "
                "topics are named by subscribe(), assign() or send()"
            )
        construct(self, *positional, **options)

    return checked
