"""Durations as `java.time.Duration` writes them: P2DT3H4M5.5S, in milliseconds."""

from __future__ import annotations

import re

from kwire.errors import broker as codes

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1_000)


def milliseconds_of(text: str) -> int:
    """Raises BrokerError (INVALID_CONFIG) for what is no duration."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise codes.INVALID_CONFIG(f"{text!r} is not a duration")
    return round(sum(float(part or 0) * unit for part, unit in zip(found.groups(), _UNITS_MS, strict=True)))
