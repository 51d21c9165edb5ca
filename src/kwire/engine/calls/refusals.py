"""The error of a call about several things (groups, partitions, topics) of which some failed. Layer 3.

The error of the first is raised, so that its class and code say what is wrong; it names the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy

from kwire import errors
from kwire._typing import Any
from kwire.errors import BrokerError, KafkaError


def all_of(failed: Mapping[Any, KafkaError]) -> KafkaError:
    """The error that tells of all these, of which there is one at least."""
    first, *others = failed
    error = failed[first]
    if isinstance(error, BrokerError):
        names = ", ".join(f"{name_of(key)}: {_short(failed[key])}" for key in others)
        more = f" (and {len(others)} more: {names})" if others else ""
        error = errors.broker.error_for(error.code, error.context + more)
    else:
        error = copy(error)
    error.failures = dict(failed)
    return error


def with_advice(error: KafkaError, advice: str) -> KafkaError:
    """The error, with what to do instead where it says that a broker is too old. One that a broker has answered says
    by itself what is wrong."""
    if not advice or not isinstance(error, BrokerError):
        return error
    missing = [each.api_key for each in (*error.failures.values(), error) if isinstance(each, BrokerError)]
    api_key = next((key for key in missing if key is not None), None)
    if api_key is None:
        return error
    told = errors.broker.error_for(error.code, f"{error.context}; {advice}")
    told.api_key, told.failures = api_key, error.failures
    return told


def raise_all(rows: Iterable[tuple[str | None, int, str | None]], api: str) -> None:
    """Raises the error of those (name, code, text) that have a code."""
    failed = {
        name: errors.broker.error_for(code, said(f"{api} of {name!r}", text)) for name, code, text in rows if code
    }
    if failed:
        raise all_of(failed)


def said(what: str, text: str | None) -> str:
    """What failed, and what the broker says about it."""
    return f"{what}: {text}" if text else what


def name_of(key: object) -> str:
    """A key, as errors have it."""
    return repr(key) if isinstance(key, str) else str(key)


def _short(error: KafkaError) -> str:
    return error.name if isinstance(error, BrokerError) else str(error)
