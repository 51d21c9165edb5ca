"""The one exception of the broker launcher, and the part of a log that goes into it."""

from pathlib import Path

_TAIL_BYTES = 6000


class BrokerError(Exception):
    """A release could not be resolved, or a process of a cluster did not come up; the text holds the reason."""


def log_tail(path: Path) -> str:
    """The end of a log, cut at a line, for an error text; a missing log is said to be missing."""
    if not path.exists():
        return f"({path} was never written)"
    size = path.stat().st_size
    with path.open("rb") as log:
        log.seek(max(0, size - _TAIL_BYTES))
        text = log.read().decode("utf-8", "replace")
    return text if size <= _TAIL_BYTES else text.partition("\n")[2]
