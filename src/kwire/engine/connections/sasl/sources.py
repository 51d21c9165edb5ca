"""What a callable of the user returns for a login: asked apart from the driver, once for all who ask at the same time.

Layer 3, no I/O. A callable may raise whatever it likes: an OSError is a ConnectError here, which may pass; all else is
an AuthError with the step.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._typing import Any, TypeVar
from kwire.engine.connections.flows import Apart, Flow, SharedCalls
from kwire.engine.connections.sasl.exchange import quoted
from kwire.errors import AuthError, ConnectError
from kwire.errors.wording import Wording

Source = Callable[[], Any]
Kept = TypeVar("Kept")


class UnusableError(Exception):
    """Why what a source returned cannot be used. It does not show it."""


def asked(source: Source, step: str, calls: SharedCalls, keep: Callable[[Any, float], Kept]) -> Flow[Kept]:
    """What `keep` makes of what the source returns, and when."""
    try:
        returned, now = yield Apart(source, step, calls)
        return keep(returned, now)
    except (AuthError, ConnectError):
        raise
    except OSError as error:
        words = Wording("{step} could not be obtained: {why}", step=step, why=_words(error))
        raise ConnectError(words) from error
    except Exception as error:
        raise AuthError(step=step, reason=_words(error)) from error


def items_of(returned: object, wanted: str, *counts: int) -> tuple[Any, ...]:
    """The items of what a source returned, of which there are as many as one of `counts`."""
    if isinstance(returned, tuple | list) and len(returned) in counts:
        return tuple(returned)
    close = getattr(returned, "close", None)
    if close is not None and hasattr(returned, "cr_code"):
        close()
        raise UnusableError("it is a coroutine: an `async def` needs a client of kwire.aio")
    raise UnusableError(f"it is not {wanted}")


def _words(error: Exception) -> str:
    name = type(error).__name__
    try:
        said = quoted(str(error))
    except Exception:  # an error of the user's code may fail in its words, too
        return name
    return f"{name}: {said}" if said else name
