"""The clients' warnings (a broker is unreachable, or reachable again) as lines on standard error.

A warning about a refused login or certificate waits a moment: mostly it is followed by the error that ends the command
with the same words, and then is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer

from kwire.cli.settings import in_dots
from kwire.cli.terminal import print_note
from kwire.engine.common.outage import RefusalWarning
from kwire.errors import DeliveryError, KafkaError
from kwire.errors.wording import Wording

CLIENTS = ("kwire.drivers", "kwire.clients")
_HELD_BACK_S = 1.0


@contextmanager
def trouble_on_stderr(command: str) -> Iterator[None]:
    """While the block runs, warnings of the clients are lines of `command` on stderr."""
    handler = _Handler(command)
    loggers = [logging.getLogger(name) for name in CLIENTS]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    except KafkaError as error:
        handler.leave_out(error_text(error))
        raise
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.tell_now()


def error_text(error: KafkaError) -> str:
    """The error as users of the shell see it: str() of an exception group counts its exceptions, which they do not."""
    return error.message if isinstance(error, DeliveryError) else str(error)


class _Handler(logging.Handler):
    """`kwire COMMAND: text`."""

    def __init__(self, command: str) -> None:
        super().__init__(logging.WARNING)
        self._command = command
        self._held: list[RefusalWarning] = []
        self._holding = Lock()

    def emit(self, record: logging.LogRecord) -> None:
        said = record.args[0] if isinstance(record.args, tuple) and record.args else record.msg
        if not isinstance(said, RefusalWarning):
            self._print(said if isinstance(said, Wording) else record.getMessage())
            return
        with self._holding:
            self._held.append(said)
        timer = Timer(_HELD_BACK_S, self.tell_now)
        timer.daemon = True
        timer.start()

    def tell_now(self) -> None:
        """Prints what is held back."""
        with self._holding:
            texts, self._held = self._held, []
        for text in texts:
            self._print(text)

    def leave_out(self, error: str) -> None:
        """Drops what is held back where the error says it, too."""
        with self._holding:
            self._held = [text for text in self._held if text.reason not in error]

    def _print(self, text: str) -> None:
        print_note(f"kwire {self._command}: {in_dots(text)}")
