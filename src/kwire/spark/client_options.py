"""The options with the prefix `kafka.`: settings of the clients that plan and read.

They are judged by the consumer's table of settings; errors name them as the job does: `kafka.ssl.keystore.location`,
not `ssl_keystore_location`. Passwords, keys and JAAS texts become `Secret` here, before anything else sees them: a
reader is pickled, its parts are in tracebacks, and none may show them. No socket, no Spark.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from kwire.engine.secret import Secret
from kwire.engine.setting_kinds import Setting
from kwire.engine.settings import ConsumerSettings, from_config
from kwire.errors import ConfigError

CLIENT_PREFIX: Final = "kafka."

# A position that is not in the log is for failOnDataLoss to judge, and a read must not bring topics into being.
CLIENT_SETTINGS: Final[dict[str, Any]] = {"auto_offset_reset": "none", "allow_auto_create_topics": False}

_ROWS: Final[dict[str, Setting]] = {
    name: row for row in ConsumerSettings.table.values() for name in (row.keyword, row.dotted, *row.aliases)
}
_DOTTED: Final = {name for name in _ROWS if "." in name}
_KEYWORDS: Final = re.compile(rf"\b({'|'.join(name for name in ConsumerSettings.table if '_' in name)})\b")
_QUOTED: Final = re.compile(r"'([a-z_]+(?:\.[a-z_]+)*)'")


def checked_properties(given: Mapping[str, str]) -> dict[str, str]:
    """The properties, which have lost their prefix, tried on the consumer's settings: a fault shows before anything is
    read. Secrets are hidden from here on.
    """
    properties = {name: Secret(value) if _is_secret(name) else value for name, value in given.items()}
    with errors_by_option(properties):
        from_config(ConsumerSettings, properties, **CLIENT_SETTINGS)
    return properties


@contextmanager
def errors_by_option(properties: Mapping[str, str], *, on_this_host: bool = False) -> Iterator[None]:
    """Lets a ConfigError of the block name options instead of keywords; `on_this_host` adds where it was: a file may be
    on the driver and not on an executor.
    """
    try:
        yield
    except ConfigError as error:
        where = f"on host {socket.gethostname()}: " if on_this_host else ""
        raise ConfigError(where + _by_option(str(error), properties)) from None


def _by_option(text: str, properties: Mapping[str, str]) -> str:
    given = {_ROWS[name].keyword: name for name in properties if name in _ROWS}

    def quoted(found: re.Match[str]) -> str:
        return f"'{CLIENT_PREFIX}{found[1]}'" if found[1] in properties or found[1] in _DOTTED else found[0]

    def keyword(found: re.Match[str]) -> str:
        return CLIENT_PREFIX + given.get(found[0], _ROWS[found[0]].dotted)

    return _KEYWORDS.sub(keyword, _QUOTED.sub(quoted, text))


def _is_secret(name: str) -> bool:
    return name in _ROWS and _ROWS[name].secret
