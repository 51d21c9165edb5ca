"""The error of a call about several things (groups, partitions, topics) of which some failed. Layer 3.

The error of the first is raised, so that its class and code say what is wrong; it names the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from types import MappingProxyType

from kwire import errors
from kwire._typing import Any, TypeVar
from kwire.engine.calls.rows import by_key
from kwire.errors import BrokerError, KafkaError
from kwire.schema.api_keys import FIND_COORDINATOR

Name = TypeVar("Name")


def all_of(failed: Mapping[Any, KafkaError], results: Mapping[Any, Any] = MappingProxyType({})) -> KafkaError:
    """The error that tells of all these, of which there is one at least; `results` are those of the others."""
    first, *others = failed
    error = failed[first]
    if isinstance(error, BrokerError):
        names = ", ".join(f"{name_of(key)}: {_short(failed[key])}" for key in others)
        more = f" (and {len(others)} more: {names})" if others else ""
        error = errors.broker.error_for(error.code, error.context + more)
    else:
        error = copy(error)
    error.failures, error.results = dict(failed), results
    return error


def each_of(rows: Iterable[tuple[Name, int, str | None]], api: str) -> dict[Name, KafkaError | None]:
    """Of each (name, code, text): its error, None without a code."""
    told = (
        (name, errors.broker.error_for(code, said(f"{api} of {name_of(name)}", text)) if code else None)
        for name, code, text in rows
    )
    return by_key(told, api)


def where_missing(error: KafkaError, api_key: int, hint: str) -> KafkaError:
    """The error, with a hint if it says that a broker lacks that API, or FindCoordinator for it, or a version; so do
    its failures."""
    missing = {getattr(each, "api_key", None) for each in (*error.failures.values(), error)}
    found = missing.intersection((api_key, FIND_COORDINATOR))
    if not isinstance(error, BrokerError) or not found:
        return error
    hinted = errors.broker.error_for(error.code, f"{error.context}; {hint}")
    hinted.api_key = found.pop()
    hinted.failures = {key: where_missing(each, api_key, hint) for key, each in error.failures.items()}
    return hinted


def said(what: str, text: str | None) -> str:
    """What failed, and what the broker says about it."""
    return f"{what}: {text}" if text else what


def name_of(key: object) -> str:
    """A key, as errors have it."""
    return repr(key) if isinstance(key, str) else str(key)


def _short(error: KafkaError) -> str:
    return error.name if isinstance(error, BrokerError) else str(error)
