"""Every request and response of the schema with the versions that this run tries, and how much it tries of each."""

from __future__ import annotations

from kwire import protocol
from kwire.schema.messages import Message
from tests.thorough import THOROUGH

EXAMPLES = 6 if THOROUGH else 3
DAMAGED_PER_EXAMPLE = 240 if THOROUGH else 60


def _tested_versions(message: type[Message]) -> list[int]:
    every = list(message.__versions__)
    return every if THOROUGH else sorted({*every[:1], *every[-1:]})


MESSAGES: list[tuple[type[Message], int]] = [
    (message, version)
    for key in protocol.APIS
    for message in (protocol.APIS[key].request, protocol.APIS[key].response)
    for version in _tested_versions(message)
]


def api_name(message: type[Message]) -> str:
    """The name of the API that a request or a response is of."""
    return message.__name__.removesuffix("Request").removesuffix("Response")
