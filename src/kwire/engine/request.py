"""What components hand to the core: a Request, where it may go, and the kinds of its callbacks.

Layer 3, no I/O. The class itself is compiled, together with the matching of answers.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._codec import Request
from kwire._typing import Any
from kwire.errors import KafkaError

__all__ = ["ANY", "CONTROLLER", "Message", "MessageOrBuilder", "OnError", "OnResponse", "Request"]

ANY = -1001
"""Send to whichever broker can be reached."""

CONTROLLER = -1002
"""Send to the controller, where one is known; else as ANY."""

Message = Any
MessageOrBuilder = Message | Callable[[int], Message]
OnResponse = Callable[[Message, int, float], None]
OnError = Callable[[KafkaError, float], None]
