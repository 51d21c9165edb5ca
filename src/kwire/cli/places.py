"""Places in a partition as the shell spells them: its ends, and times. Durations, too."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

ENDS = {
    **dict.fromkeys(("earliest", "beginning", "smallest"), "earliest"),
    **dict.fromkeys(("latest", "end", "largest"), "latest"),
}
AGO = re.compile(r"-(\d{1,9})([smhd])")
_DURATION = re.compile(r"(\d{1,9})([smhd])")
_SINCE_1970 = re.compile(r"[se]?@(\d{1,14})")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def moment(text: str) -> datetime | None:
    """The time that a text means: -1h (an hour ago), 2024-05-01T12:00:00+00:00 (local time without an offset), or
    @1714564800000, milliseconds since 1970, before which kcat has an s or e. None for anything else."""
    ago, since = AGO.fullmatch(text), _SINCE_1970.fullmatch(text)
    try:
        if since is not None:
            return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(since[1]))
        if ago is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text)
        return found.astimezone() if found.tzinfo is None else found
    except (ValueError, OverflowError):
        return None


def duration(text: str) -> int:
    """The milliseconds of 90s, 12h or 7d, as an argparse type."""
    found = _DURATION.fullmatch(text)
    if found is None or not int(found[1]):
        raise ArgumentTypeError(f"{text!r}: write 90s, 30m, 12h or 7d")
    return int(timedelta(**{_UNITS[found[2]]: int(found[1])}) / timedelta(milliseconds=1))
