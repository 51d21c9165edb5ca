"""What becomes of a name of another client: the same, renamed, not needed, different, or missing.

Asks what the clients themselves ask: their methods, the hints of `absent`, the tables of settings and `foreign`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

import kwire
from kwire.cli.migrating.other_names import ATTRIBUTES, CODE_SPELLINGS, CODES, NAMES
from kwire.cli.migrating.peers import AIOKAFKA, CONFLUENT, LISTENERS, Made
from kwire.cli.migrating.registries import CALLS, SERIALIZER_SETTINGS, SERIALIZERS, SETTINGS
from kwire.cli.migrating.same_names import DEFAULTS, DIFFERENT
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
RENAMED = "renamed"
NOT_NEEDED = "not needed"
DIFFERS = "differs"
MISSING = "missing"
UNSEEN = "unseen"
UNREADABLE = "unreadable"

OUTCOMES = {
    SAME: "it stays as it is",
    RENAMED: "another name for the same, and which",
    NOT_NEEDED: "to be left out, and why",
    DIFFERS: "done in another way, or different under the same name or by default, and how",
    MISSING: "kwire has no counterpart: why, or what to do without it",
    UNSEEN: "settings that are made where reading the program does not tell",
    UNREADABLE: "a file that is no Python, no properties or no JSON",
}

UNKNOWN = "kwire has no such name"
UNKNOWN_VALUE = object()
"""Stands for the value of a setting that only the run of the program can tell."""

TABLES: Mapping[str, type[ClientSettings]] = {
    "Admin": AdminSettings,
    "Consumer": ConsumerSettings,
    "Producer": ProducerSettings,
    "ShareConsumer": ShareConsumerSettings,
}
_ABSENT: Mapping[str, Mapping[str, str]] = {
    **ATTRIBUTES,
    "Admin": absent.ADMIN,
    "Batch": absent.RECORDS,
    "ByPartition": absent.RECORDS,
    "Consumer": absent.CONSUMER,
    "Delivery": absent.DELIVERY,
    "Producer": absent.PRODUCER,
    "Registry": CALLS,
    "ShareConsumer": absent.SHARE_CONSUMER,
}
_HAS = {
    "Admin": "Admin",
    "Batch": "ConsumerRecords",
    "ByPartition": "ConsumerRecords",
    "Consumer": "Consumer",
    "Delivery": "Delivery",
    "Metadata": "RecordMetadata",
    "Producer": "Producer",
    "Record": "ConsumerRecord",
    "ShareConsumer": "ShareConsumer",
}
_ON_DELIVERY = absent.Differs("send(...).add_done_callback(f): f(delivery), with .exception() and .result()")
_SENT = {"callback": _ON_DELIVERY, "on_delivery": _ON_DELIVERY}
_TIMESTAMP = {"timestamp_ms": "it is timestamp= here"}
_KEYWORDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("Consumer", "commit"): absent.COMMIT_KEYWORDS,
    ("Consumer", "commit_async"): absent.COMMIT_KEYWORDS,
    ("Consumer", "poll"): absent.POLL_KEYWORDS,
    ("Consumer", "subscribe"): absent.SUBSCRIBE_KEYWORDS,
    ("Producer", "produce"): _SENT,
    ("Producer", "produce_batch"): _SENT,
    ("Producer", "send"): _TIMESTAMP,
    ("Producer", "send_and_wait"): _TIMESTAMP,
}

_EACH_CALL = {"timeout_ms": absent.POLL_KEYWORDS["timeout_ms"]}
_TAKEN_BY_WORKERS = absent.NotNeeded("kwire.aio works on the event loop, without threads")
_OF_WORKERS = dict.fromkeys(("buffer_timeout", "executor", "max_workers"), _TAKEN_BY_WORKERS)


class Judgment(NamedTuple):
    """What becomes of a name, and what to write or why; nothing is said of what stays."""

    outcome: str
    text: str = ""


def judge_method(made: Made, name: str) -> Judgment:
    """Of a method or attribute of an object of theirs."""
    different = DIFFERENT.get(made.peer, {}).get(made.kind, {})
    if name in different:
        return Judgment(DIFFERS, different[name])
    if _has(made.kind, name):
        if made.is_aio and made.kind in TABLES and not _is_coroutine(made.kind, name):
            return Judgment(DIFFERS, "no coroutine in kwire.aio: call it without await")
        return Judgment(SAME)
    return hinted(_ABSENT.get(made.kind, {}), name)


def judge_keyword(made: Made, method: str, keyword: str) -> Judgment | None:
    """Of an argument of a method; None where nothing is known of it."""
    hints = _KEYWORDS.get((made.kind, method), _EACH_CALL if made.kind in TABLES else {})
    return hinted(hints, keyword) if keyword in hints else None


def judge_import(peer: str, module: str, name: str) -> Judgment:
    """Of a name that a program takes from a module of theirs."""
    if name in NAMES[peer]:
        return hinted(NAMES[peer], name)
    if name.removeprefix("Async") in SERIALIZERS:
        return Judgment(RENAMED, f"it is kwire.registry.{SERIALIZERS[name.removeprefix('Async')]} here")
    if name == "AsyncSchemaRegistryClient":
        return Judgment(RENAMED, "it is kwire.aio.Registry(url) here")
    if name in absent.MODULE:
        return hinted(absent.MODULE, name)
    if name == "*":
        return Judgment(UNSEEN, "name what you import: what these names are is not seen")
    if ".schema_registry.rules" in module:
        return hinted(NAMES[CONFLUENT], "Rule")
    if peer == CONFLUENT and name.startswith(("RESOURCE_", "CONFIG_SOURCE_", "ACL_", "ALTER_CONFIG_OP_")):
        return Judgment(DIFFERS, "a word instead, in any spelling")
    home = _home(name, is_aio=peer == AIOKAFKA or module.endswith(".aio"))
    return Judgment(MISSING, UNKNOWN) if home is None else Judgment(RENAMED, f"it is {home} here")


def judge_code(name: str) -> Judgment:
    """Of an error code of confluent-kafka's KafkaError."""
    from kwire.errors import broker

    if name in CODES:
        return Judgment(DIFFERS, CODES[name])
    found = CODE_SPELLINGS.get(name, name).lower().replace("_error", "").replace("_exception", "")
    error = f"{''.join(word.capitalize() for word in found.split('_'))}Error"
    if hasattr(broker, error):
        return Judgment(DIFFERS, f"errors are raised: kwire.errors.broker.{error}")
    return Judgment(MISSING, "no error of kwire stands for it alone; errors are raised, and kwire.errors has them all")


def judge_listener(name: str) -> Judgment | None:
    """Of a method of a listener's class; None for one of the program's own."""
    here = absent.LISTENER_METHODS.get(name)
    return None if here is None else Judgment(RENAMED, f"it is {here}(partitions) here")


def judge_constructor(made: Made) -> Judgment | None:
    """Of the way in which an object is made, beside its settings; None where there is nothing to say."""
    if made.peer == CONFLUENT and made.kind in TABLES:
        aio = "aio." if made.is_aio else ""
        return Judgment(RENAMED, f"{aio}{made.kind}.from_config(settings) takes the mapping as it is")
    return None


def judge_unset(made: Made, given: set[str]) -> Mapping[str, Judgment]:
    """Of settings that a program leaves at a default which means something else in kwire, by keyword."""
    keywords = {row.keyword for name in given if (row := _row(made.kind, name)) is not None}
    defaults = DEFAULTS.get(made.peer, {}).get(made.kind, {})
    return {name: Judgment(DIFFERS, text) for name, text in defaults.items() if name not in keywords}


def judge_setting(kind: str, name: str, value: Any = UNKNOWN_VALUE, *, is_keyword: bool) -> Judgment:
    """Of a setting: a keyword of a constructor, or a name in a mapping or a file, which from_config() takes."""
    if kind in ("Deserializer", "Registry", "Serializer"):
        return _hinted_setting(SETTINGS if kind == "Registry" else SERIALIZER_SETTINGS, name, value)
    row = _row(kind, name)
    if row is not None:
        if value is not UNKNOWN_VALUE:
            try:
                row.check(value)
            except ConfigError as error:
                return Judgment(DIFFERS, str(error))
        if is_keyword and name != row.keyword:
            return Judgment(RENAMED, f"it is {row.keyword}= here")
        return Judgment(SAME)
    owners = owners_of(name)
    if owners and kind not in owners:
        return Judgment(NOT_NEEDED, f"it is a setting of {' and '.join(owners)}")
    if name in _OF_WORKERS:
        return hinted(_OF_WORKERS, name)
    judged = verdict(name, value)
    if judged is None:
        return Judgment(SAME) if owners else Judgment(MISSING, "kwire has no such setting")
    if judged.refusal is None:
        return Judgment(NOT_NEEDED, "it makes no difference here")
    return Judgment(DIFFERS if judged.has_counterpart else MISSING, judged.refusal)


def judge_property(name: str, value: Any) -> Judgment:
    """Of a line of a properties file, which may be for any client."""
    plain = name if is_known_setting(name) else name.removeprefix("kafka.")
    return judge_setting((*owners_of(plain), "Consumer")[0], plain, value, is_keyword=False)


def is_known_setting(name: str) -> bool:
    """Whether any client has a setting of this name."""
    return bool(owners_of(name)) or verdict(name, UNKNOWN_VALUE) is not None


def hinted(hints: Mapping[str, str], name: str) -> Judgment:
    """The judgment that a table has of a name."""
    text = hints.get(name)
    if text is None:
        return Judgment(MISSING, UNKNOWN)
    if isinstance(text, absent.NotNeeded):
        return Judgment(NOT_NEEDED, text.removeprefix("not needed: "))
    if isinstance(text, absent.Missing):
        return Judgment(MISSING, str(text))
    return Judgment(DIFFERS if isinstance(text, absent.Differs) else RENAMED, str(text))


def is_listener(name: str) -> bool:
    """Whether it is a class that listeners are made of."""
    return name in LISTENERS


def _hinted_setting(hints: Mapping[str, str], name: str, value: Any) -> Judgment:
    found = hinted(hints, name)
    if found.outcome == MISSING and (value is None or value is False):
        return Judgment(NOT_NEEDED, "it is what is done anyway")
    return found._replace(text=f"it is {found.text} here") if found.outcome == RENAMED else found


def _has(kind: str, name: str) -> bool:
    if kind == "Registry":
        from kwire.registry import Registry

        return hasattr(Registry, name)
    return kind in _HAS and name not in _ABSENT.get(kind, {}) and hasattr(getattr(kwire, _HAS[kind]), name)


def _is_coroutine(kind: str, name: str) -> bool:
    from kwire import aio

    return iscoroutinefunction(getattr(getattr(aio, kind), name, None))


def _home(name: str, *, is_aio: bool) -> str | None:
    """Where kwire has a public name."""
    from kwire import admin, aio, errors, registry
    from kwire.errors import broker

    modules = {"kwire.aio": aio} if is_aio else {}
    modules |= {"kwire": kwire, "kwire.admin": admin, "kwire.registry": registry}
    modules |= {"kwire.errors": errors, "kwire.errors.broker": broker}
    for spelling in (name, f"{name}Error"):
        for module, content in modules.items():
            if hasattr(content, spelling):
                return f"{module}.{spelling}"
    return None


def _row(kind: str, name: str) -> Any:
    if kind not in TABLES:
        return None
    return _rows(kind).get(name) or _rows(kind).get(key_of(name))


@cache
def _rows(kind: str) -> dict[str, Any]:
    return dict(names_of(TABLES[kind]))
