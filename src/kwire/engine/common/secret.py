"""Text that is used and never shown: passwords, private keys, client secrets.

Layer 3, no I/O. Every setting that holds one makes its value a `Secret`, so that a dump of the settings' attributes,
JSON of them, a traceback with local variables, or a line of a log cannot show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from sys import exception

from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, cast, override
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from types import TracebackType

Function = TypeVar("Function", bound=Callable[..., Any])

HIDDEN = "[hidden]"
_MIN_HIDDEN = 4
"""A shorter secret may well be in a text by chance."""
_CO_COROUTINE = 0x80
"""The flag of code of an `async def`: `inspect` has it, too, and is slow to import."""
_TELLING = 8
"""So many first characters of a secret are taken for the secret."""


def is_pem(text: str) -> bool:
    """Whether a text is that of certificates or keys, and no path of a file."""
    return "-----BEGIN " in text


def shown_path(path: str) -> str:
    """What an error may show of the path of a file: all of it, unless the text of a key was given in its place."""
    return f"{HIDDEN} (PEM text, where a path is meant)" if is_pem(path) else path


class Secret(str):
    """A text that only `reveal()` and `encode()` give away. It compares, hashes and pickles as that text.

    As a str it is `[hidden]`, and empty where the text is: so is what `repr()`, formatting, JSON, slices and sums make
    of it.
    """

    __slots__ = ("_text",)

    _text: Callable[[], str]  # not the text itself, which a dump of attributes would show

    def __new__(cls, text: str = "") -> Self:
        made = super().__new__(cls, HIDDEN if text else "")
        plain = text.reveal() if isinstance(text, Secret) else text
        made._text = lambda: plain
        return made

    @override
    def __repr__(self) -> str:
        return f"'{HIDDEN}'"

    @override
    def __format__(self, specification: str) -> str:
        return HIDDEN

    @override
    def __eq__(self, other: object) -> bool:
        return self.reveal() == (other.reveal() if isinstance(other, Secret) else other)

    @override
    def __ne__(self, other: object) -> bool:
        return not self == other

    @override
    def __hash__(self) -> int:
        return hash(self.reveal())

    @override
    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return self.reveal().encode(encoding, errors)

    def reveal(self) -> str:
        """The text as a plain str."""
        return self._text()

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reveal(),)


def hiding_arguments(call: Function) -> Function:
    """A decorator for what people call with secrets, coroutines too: none of its errors has a frame with an argument.

    What shows local variables beside a traceback shows those of every frame, and the texts of passwords and keys have
    been through many by then. A ConfigError, and a warning that is made an error, leave as if raised here.
    """

    @wraps(call)
    def guarded(first: object, *arguments: object, **options: object) -> object:
        before = exception()
        try:
            return call(first, *arguments, **options)
        except BaseException as error:
            refusal = error
        arguments, options = (), {}
        first = None
        raise _without_arguments(refusal, before)

    @wraps(call)
    async def guarded_coroutine(first: object, *arguments: object, **options: object) -> object:
        before = exception()
        try:
            return await call(first, *arguments, **options)
        except BaseException as error:
            refusal = error
        arguments, options = (), {}
        first = None
        raise _without_arguments(refusal, before)

    code = getattr(call, "__code__", None)
    is_coroutine = code is not None and code.co_flags & _CO_COROUTINE
    return cast("Function", guarded_coroutine if is_coroutine else guarded)


def _without_arguments(error: BaseException, before: BaseException | None) -> BaseException:
    """The error, and each that led to it up to the one that was handled `before` the call: refusals without frames,
    others with frames that have no variables."""
    is_refusal = isinstance(error, ConfigError | Warning)
    for each in _led_to(error, before):
        if is_refusal:
            each.__traceback__ = None
        else:
            _clear(each.__traceback__)
    return error


def _led_to(error: BaseException, before: BaseException | None) -> list[BaseException]:
    """The error, and each that led to it, without what led to `before`."""
    waiting: list[BaseException | None] = [error]
    found: list[BaseException] = []
    while waiting:
        each = waiting.pop()
        if each is None or each is before or any(each is one for one in found):
            continue
        found.append(each)
        waiting += [each.__cause__, each.__context__]
        waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
    return found


def _clear(trace: TracebackType | None) -> None:
    while trace is not None:
        try:
            trace.tb_frame.clear()
        except RuntimeError:
            pass  # it still runs, so it is not of the call
        trace = trace.tb_next


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """What someone else said, without the secrets, and without the beginning of one where the text was cut."""
    from kwire.errors.wording import Wording  # late: most who import secrets have no use for it

    if isinstance(text, Wording):
        return text.changed(lambda said: without_secrets(said, secrets))
    for secret in map(_revealed, secrets):
        beginning = secret[:_TELLING]
        at = text.find(beginning) if len(secret) >= _MIN_HIDDEN else -1
        while at >= 0:
            end = at + len(beginning)
            while end < len(text) and text.startswith(secret[: end + 1 - at], at) and end - at < len(secret):
                end += 1
            text = text[:at] + HIDDEN + text[end:]
            at = text.find(beginning, at + len(HIDDEN))
    return text


def _revealed(secret: str) -> str:
    return secret.reveal() if isinstance(secret, Secret) else secret


def shown(argument: object) -> str:
    """An argument in an error: a mapping or an object may hold a password, and is shown by its type alone."""
    plain = str | int | float | None
    items = argument if isinstance(argument, list | tuple) else [argument]
    if any(isinstance(item, str) and "@" in item for item in items):
        return f"'{HIDDEN}'"  # a user and a password, it may be
    return repr(argument) if all(isinstance(item, plain) for item in items) else f"<{type(argument).__name__}>"
