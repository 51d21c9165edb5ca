"""What a call about transactions waits for. It has no deadline of its own: a call that waited in vain may wait again.

Layer 3, no I/O.
"""

from __future__ import annotations

from kwire._typing import Any
from kwire.errors import ClientClosedError, KafkaError


class Outcome:
    """Ends once, with `result` or `error`; `taken`: some call has returned it."""

    __slots__ = ("done", "error", "result", "taken", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.done = False
        self.taken = False
        self.error: KafkaError | None = None
        self.result: Any = None

    def succeed(self, result: Any = None) -> None:
        """Ends with a result, unless it has ended."""
        if not self.done:
            self.result = result
            self.done = True

    def fail(self, error: KafkaError) -> None:
        """Ends with an error, unless it has ended."""
        if not self.done:
            self.error = error
            self.done = True

    def value(self) -> Any:
        """The result; raises the error."""
        if not self.done:
            raise ClientClosedError("the client was closed")
        self.taken = True
        if self.error is not None:
            raise self.error
        return self.result
