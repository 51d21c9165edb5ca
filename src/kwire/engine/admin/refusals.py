"""The error of an API that refuses topics one by one, when the caller wants all of them or an error. Layer 3."""

from __future__ import annotations

from collections.abc import Iterable

from kwire import errors


def raise_first(rows: Iterable[tuple[str | None, int, str | None]], api: str) -> None:
    """Raises the error of the first (name, code, text) that has a code; it names the others."""
    failed = [row for row in rows if row[1]]
    if not failed:
        return
    name, code, text = failed[0]
    others = f" (and {len(failed) - 1} more: {', '.join(repr(row[0]) for row in failed[1:])})" if failed[1:] else ""
    raise errors.broker.error_for(code, f"{api} of {name!r}{others}" + (f": {text}" if text else ""))
