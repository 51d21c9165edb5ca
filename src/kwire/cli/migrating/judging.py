"""What becomes of a name of another client: the same, written otherwise, not needed, or not there.

Asks what the clients themselves ask: their methods, the hints of `absent`, the tables of settings and `foreign`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import kwire
from kwire.cli.migrating.peers import AIOKAFKA, DIFFERENT, EACH_CALL, NAMES, Made
from kwire.engine.common import absent
from kwire.engine.settings.clients import (
    AdminSettings,
    ClientSettings,
    ConsumerSettings,
    ProducerSettings,
    ShareConsumerSettings,
    names_of,
    owners_of,
)
from kwire.engine.settings.foreign import key_of, verdict
from kwire.errors import ConfigError

SAME = "same"
CHANGE = "change"
NOT_NEEDED = "not needed"
NOT_THERE = "not there"
UNSEEN = "unseen"

UNKNOWN_VALUE = object()
"""Stands for the value of a setting that only the run of the program can tell."""

TABLES: Mapping[str, type[ClientSettings]] = {
    "Admin": AdminSettings,
    "Consumer": ConsumerSettings,
    "Producer": ProducerSettings,
    "ShareConsumer": ShareConsumerSettings,
}
_ABSENT: Mapping[str, Mapping[str, str]] = {
    "Admin": absent.ADMIN,
    "Consumer": absent.CONSUMER,
    "Delivery": absent.DELIVERY,
    "Producer": absent.PRODUCER,
    "Records": absent.RECORDS,
    "ShareConsumer": absent.SHARE_CONSUMER,
}
_HAS = {
    "Admin": "Admin",
    "Consumer": "Consumer",
    "Delivery": "Delivery",
    "Producer": "Producer",
    "Record": "ConsumerRecord",
    "Records": "ConsumerRecords",
    "ShareConsumer": "ShareConsumer",
}
_KEYWORDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("Consumer", "commit"): absent.COMMIT_KEYWORDS,
    ("Consumer", "commit_async"): absent.COMMIT_KEYWORDS,
    ("Consumer", "poll"): absent.POLL_KEYWORDS,
    ("Consumer", "subscribe"): absent.SUBSCRIBE_KEYWORDS,
}

_EACH_CALL = {"timeout_ms": absent.POLL_KEYWORDS["timeout_ms"]}


class Judgment(NamedTuple):
    """What becomes of a name, and what to write or why; nothing is said of what stays."""

    outcome: str
    text: str = ""


def judge_method(made: Made, name: str) -> Judgment:
    """Of a method or attribute of an object of theirs."""
    different = DIFFERENT.get(made.peer, {}).get(made.kind, {})
    if name in different:
        return Judgment(CHANGE, different[name])
    if hasattr(getattr(kwire, _HAS[made.kind]), name) and name not in absent.RECORDS:
        each = EACH_CALL.get(made.kind)
        return Judgment(SAME) if each is None or name == "close" else Judgment(CHANGE, each)
    return _hinted(_ABSENT.get(made.kind, {}), name)


def judge_keyword(made: Made, method: str, keyword: str) -> Judgment | None:
    """Of an argument of a method; None where nothing is known of it."""
    hints = _KEYWORDS.get((made.kind, method), _EACH_CALL)
    return _hinted(hints, keyword) if keyword in hints else None


def judge_import(peer: str, module: str, name: str) -> Judgment:
    """Of a name that a program takes from a module of theirs."""
    if name in NAMES.get(peer, {}):
        return Judgment(CHANGE, NAMES[peer][name])
    if ".schema_registry" in module or "schema_registry" in name:
        return Judgment(CHANGE, f"kwire.registry has registries and serializers{_of_registry(name)}")
    if ".serialization" in module:
        return Judgment(SAME, "their serializers are taken as they are by value_serializer= and the like")
    if name in absent.MODULE:
        return _hinted(absent.MODULE, name)
    home = _home(name, is_aio=peer == AIOKAFKA or module.endswith(".aio"))
    return Judgment(NOT_THERE, "kwire has no such name") if home is None else Judgment(CHANGE, f"it is {home} here")


def judge_setting(kind: str, name: str, value: Any = UNKNOWN_VALUE, *, is_keyword: bool) -> Judgment:
    """Of a setting: a keyword of a constructor, or a name in a mapping or a file, which from_config() takes."""
    row = _rows(kind).get(name) or _rows(kind).get(key_of(name))
    if row is not None:
        if value is not UNKNOWN_VALUE:
            try:
                row.check(value)
            except ConfigError as error:
                return Judgment(CHANGE, str(error))
        if is_keyword and name != row.keyword:
            return Judgment(CHANGE, f"it is {row.keyword}= here")
        return Judgment(SAME)
    owners = owners_of(name)
    if owners and kind not in owners:
        return Judgment(NOT_NEEDED, f"it is a setting of {' and '.join(owners)}")
    judged = verdict(name, value)
    if judged is None:
        return Judgment(SAME) if owners else Judgment(NOT_THERE, "kwire has no such setting")
    if judged.refusal is None:
        return Judgment(NOT_NEEDED, "it makes no difference here")
    return Judgment(CHANGE if judged.has_counterpart else NOT_THERE, judged.refusal)


def judge_property(name: str, value: str) -> Judgment:
    """Of a line of a properties file, which may be for any client."""
    plain = name.removeprefix("kafka.")
    return judge_setting((*owners_of(plain), "Consumer")[0], plain, value, is_keyword=False)


def _hinted(hints: Mapping[str, str], name: str) -> Judgment:
    text = hints.get(name)
    if text is None:
        return Judgment(NOT_THERE, "kwire has no such name")
    if isinstance(text, absent.NotNeeded):
        return Judgment(NOT_NEEDED, text.removeprefix("not needed: "))
    return Judgment(NOT_THERE if isinstance(text, absent.NotThere) else CHANGE, str(text))


def _of_registry(name: str) -> str:
    from kwire import registry

    same = {"JSONSerializer": "JsonSchemaSerializer", "JSONDeserializer": "JsonSchemaDeserializer"}
    here = {"SchemaRegistryClient": "Registry", **same}.get(name, name)
    return f": kwire.registry.{here}" if hasattr(registry, here) else ""


def _home(name: str, *, is_aio: bool) -> str | None:
    """Where kwire has a public name."""
    from kwire import admin, aio, errors
    from kwire.errors import broker

    modules = {"kwire.aio": aio} if is_aio else {}
    modules |= {"kwire": kwire, "kwire.admin": admin, "kwire.errors": errors, "kwire.errors.broker": broker}
    for spelling in (name, f"{name}Error"):
        for module, content in modules.items():
            if hasattr(content, spelling):
                return f"{module}.{spelling}"
    return None


@cache
def _rows(kind: str) -> dict[str, Any]:
    return dict(names_of(TABLES[kind]))
