"""Answers of HTTP endpoints, read with a limit: for whoever asks one with a time in which to have the answer.

Layer 4. What asks knows the endpoint, its errors and its secrets; here are the bytes of a body, and which failures may
go better at the next try. Imports nothing of urllib.
"""

from __future__ import annotations

import json
import time

from kwire._typing import Any

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may be answered."""


class TransientError(Exception):
    """Something that may go better at the next try."""


def whole_body(response: Any, end: float, max_size: int) -> bytes:
    """The body, whole; slow ones and long ones are refused with a TransientError. `end` is by time.monotonic()."""
    parts: list[bytes] = []
    size = 0
    while part := response.read1(65536):
        size += len(part)
        if size > max_size:
            raise TransientError(f"its answer is longer than {max_size} bytes")
        if time.monotonic() > end:
            raise TransientError("its answer takes too long")
        parts.append(part)
    return b"".join(parts)


def told_by_refusal(response: Any, end: float, max_size: int) -> dict[str, Any]:
    """The JSON object in the body of a refusal; {} without one that can be read: then the status says enough."""
    from http.client import HTTPException

    try:
        told = json.loads(whole_body(response, end, max_size))
    except (OSError, HTTPException, TransientError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
