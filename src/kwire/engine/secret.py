"""Text that is used and never shown: passwords, private keys, client secrets.

Layer 3, no I/O. Every setting that holds one makes its value a `Secret`, so that a dump of the settings' attributes, a
traceback with local variables, or a line of a log cannot show it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwire._typing import override

HIDDEN = "[hidden]"
_MIN_HIDDEN = 4
"""A shorter secret may well be in a text by chance."""
_TELLING = 8
"""So many first characters of a secret are taken for the secret."""


class Secret(str):
    """A str whose `repr()`, `str()` and formatting show `[hidden]`. It encodes, compares and pickles as its text."""

    __slots__ = ()

    @override
    def __repr__(self) -> str:
        return f"'{HIDDEN}'"

    @override
    def __str__(self) -> str:
        return HIDDEN

    @override
    def __format__(self, specification: str) -> str:
        return HIDDEN

    def reveal(self) -> str:
        """The text as a plain str."""
        return "".join((self,))


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """What someone else said, without the secrets, and without the beginning of one where the text was cut."""
    for secret in secrets:
        beginning = secret[:_TELLING]
        at = text.find(beginning) if len(secret) >= _MIN_HIDDEN else -1
        while at >= 0:
            end = at + len(beginning)
            while end < len(text) and text.startswith(secret[: end + 1 - at], at) and end - at < len(secret):
                end += 1
            text = text[:at] + HIDDEN + text[end:]
            at = text.find(beginning, at + len(HIDDEN))
    return text


def shown(argument: object) -> str:
    """An argument in an error: a mapping or an object may hold a password, and is told by its type alone."""
    plain = str | int | float | None
    if isinstance(argument, list | tuple) and all(isinstance(item, plain) for item in argument):
        return repr(argument)
    return repr(argument) if isinstance(argument, plain) else f"<{type(argument).__name__}>"
