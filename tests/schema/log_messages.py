"""Every message that is no request and no response: of Kafka's own topics, of control records, of group members."""

from __future__ import annotations

import importlib
from typing import Any

from kwire.schema import logs
from tests.thorough import THOROUGH

ROOMS = ("control_records", "group_blobs", *(f"logs.{room}" for room in logs.ROOMS))
"""The modules below kwire.schema that define them."""


def messages_of(room: str) -> list[Any]:
    """The message classes of one module, in the order of its `__all__`."""
    module = importlib.import_module(f"kwire.schema.{room}")
    found = [getattr(module, name) for name in module.__all__]
    return [cls for cls in found if hasattr(cls, "__versions__")]


CLASSES = [cls for room in ROOMS for cls in messages_of(room)]
LOG_MESSAGES = [(cls, version) for cls in CLASSES for version in cls.__versions__][:: 1 if THOROUGH else 8]
"""All with their versions in `make test-all`, one of eight in `make test`."""
IDS = [f"{cls.__name__}-{version}" for cls, version in LOG_MESSAGES]
