"""The options of one job as Spark hands them over: strings, whose names are case-insensitive.

Turns texts into values and says what is wrong with them, under the names of the documentation. What an option means is
told by the file of its use: `read.py`, `stream.py`, `write.py`, `log.py`, and `decoding/options.py`. Each has `NAMES`,
its options as they are written. Pure: no socket, no Spark.
"""

from __future__ import annotations

import difflib
import importlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kwire.engine.common.numbers import signed_number
from kwire.errors import ConfigError

_log = logging.getLogger("kwire.spark")

CLIENT_PREFIX: Final = "kafka."
SERVERS: Final = "kafka.bootstrap.servers"
# Spark adds this to the options of a CREATE TABLE.
_OF_A_TABLE: Final = "provider"
# What the options of a read are called by writes and by other clients.
_MEANT: Final = {"topic": "subscribe", "topics": "subscribe", "topicPattern": "subscribePattern"}

_USES: Final = ("options.read", "options.stream", "options.write", "options.log", "decoding.options")
_DURATION: Final = re.compile(r"(\d{1,18})\s*([a-z]*)")
_SIZE: Final = re.compile(r"(\d{1,18})\s*([kmg]?)i?b?")
_SCALE: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_SECONDS: Final = {
    **dict.fromkeys(("", "ms"), 0.001),
    **dict.fromkeys(("us",), 0.000001),
    **dict.fromkeys(("s",), 1.0),
    **dict.fromkeys(("m", "min"), 60.0),
    **dict.fromkeys(("h",), 3_600.0),
    **dict.fromkeys(("d",), 86_400.0),
}


class GivenOptions:
    """One job's options; a name is looked up without its case and shown as the caller writes it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in options.items()}
        self._without_effect: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def text(self, name: str, default: str | None = None) -> str | None:
        """The value without the blanks around it; `default` where the option is not given."""
        text = self._given.get(name.lower())
        return default if text is None else text.strip()

    def raw(self, name: str) -> str | None:
        """The value as it was given, where blanks count."""
        return self._given.get(name.lower())

    def boolean(self, name: str, default: bool) -> bool:
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"{name}: expected true or false, got '{text}'")
        return text.lower() == "true"

    def integer(self, name: str, default: int | None = None, *, minimum: int | None = None) -> int | None:
        text = self.text(name)
        if text is None:
            return default
        number = signed_number(text)
        if number is None:
            raise ConfigError(f"{name}: expected a whole number, got '{text}'")
        if minimum is not None and number < minimum:
            limit = {0: "not be negative", 1: "be positive"}.get(minimum, f"be at least {minimum}")
            raise ConfigError(f"{name} must {limit}, got {number}")
        return number

    def size(self, name: str) -> int | None:
        """A number of bytes, above zero: `64m`, `1g`, `1000`."""
        text = self.text(name)
        if text is None:
            return None
        found = _SIZE.fullmatch(text.lower())
        if found is None or not int(found[1]):
            raise ConfigError(f"{name}: expected a size as 64m, 1g or a number of bytes, got '{text}'")
        return int(found[1]) << _SCALE[found[2]]

    def duration_s(self, name: str, default: float) -> float:
        """A time in seconds: `15m`, `10s`, `500ms`; a number alone counts milliseconds."""
        text = self.text(name)
        if text is None:
            return default
        found = _DURATION.fullmatch(text.lower())
        if found is None or found[2] not in _SECONDS:
            raise ConfigError(f"{name}: expected a time as 500ms, 10s, 15m, 2h or 1d, or milliseconds, got '{text}'")
        return int(found[1]) * _SECONDS[found[2]]

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        """One of `choices`, as it is written there."""
        text = self.text(name)
        if text is None:
            return default
        for choice in choices:
            if text.lower() == choice.lower():
                return choice
        quoted = [f"'{choice}'" for choice in choices]
        raise ConfigError(f"{name}: expected {', '.join(quoted[:-1])} or {quoted[-1]}, got '{text}'")

    def client_properties(self) -> dict[str, str]:
        """What begins with `kafka.`, without that; values as they are."""
        return {
            name.removeprefix(CLIENT_PREFIX): value
            for name, value in self._given.items()
            if name.startswith(CLIENT_PREFIX)
        }

    def has_no_effect(self, name: str, why: str) -> None:
        """Remembers an option for the one warning of `warn_once`."""
        self._without_effect[name] = why

    def check_names(self, known: Iterable[str]) -> None:
        """Refuses a name that no use knows, with the nearest one; what only other uses know has no effect.

        Properties with `kafka.` are judged by the table of their client. The options of a CREATE TABLE are refused.
        """
        own = {name.lower(): name for name in known}
        if _OF_A_TABLE in self._given:
            raise ConfigError(
                "A table of this source cannot be made: when Spark reads a table, it does not pass a Python source the "
                "table's options. Use CREATE TEMPORARY VIEW ... USING ... OPTIONS (...), or spark.read"
            )
        unknown = [name for name in self._given if name not in own and not name.startswith(CLIENT_PREFIX)]
        foreign = {name.lower(): name for name in names_of_all_uses()} if unknown else {}
        for name in unknown:
            if name not in foreign:
                raise ConfigError(f"Unknown option '{name}'{_nearest(name, own, foreign)}")
            self.has_no_effect(foreign[name], "it is for another kind of query")

    def warn_once(self) -> None:
        """Warns of all options without an effect in one line."""
        if self._without_effect:
            by_reason: dict[str, list[str]] = {}
            for name, why in self._without_effect.items():
                by_reason.setdefault(why, []).append(name)
            shown = [f"{', '.join(names)} ({why})" for why, names in by_reason.items()]
            _log.warning("Options without an effect here: %s", "; ".join(shown))
            self._without_effect = {}


def names_of_all_uses() -> frozenset[str]:
    """Every option of this package."""
    names: frozenset[str] = frozenset()
    for use in _USES:
        names |= importlib.import_module(f"kwire.spark.{use}").NAMES
    return names


def _is_property(name: str) -> bool:
    """Whether a client of Kafka has a setting of that name; a job without a typo asks for no table of settings."""
    rows = importlib.import_module(f"{__package__}.java_properties").ROWS
    return any(name in of_client for of_client in rows.values())


def _nearest(name: str, known: Mapping[str, str], foreign: Mapping[str, str]) -> str:
    """The nearest of the known names, or of other words for them, or else of those of another kind of query."""
    if _is_property(name):
        return f"; did you mean '{CLIENT_PREFIX}{name}'?"
    shown = {**known, SERVERS: SERVERS}
    meant = {word.lower(): option for word, option in _MEANT.items() if option.lower() in known}
    for names in (shown, meant, foreign):
        candidates = {**names, **{each.removeprefix(CLIENT_PREFIX): written for each, written in names.items()}}
        close = difflib.get_close_matches(name, candidates, n=1)
        if close:
            return f"; did you mean '{candidates[close[0]]}'?"
    heads = {name.partition(".")[0] + ".*" if "ecoder." in name else name for name in shown.values()}
    options = ", ".join(sorted(heads, key=str.lower))
    return f"; the options are {options}, and Kafka's properties with the prefix 'kafka.'"
