"""Blocks and loops as clients of the other kind have them, `with` for those of asyncio and `async with` for those of
threads: the errors that say what to write. Layer 3, no I/O.

Python looks the methods up on the class. That of a block is an attribute that raises when it is read, so `hasattr` is
False; that of a loop raises when it is called, since Python replaces an error of reading it by its own.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire._typing import Never
from kwire.errors import UnsupportedError


class OtherBlock:
    """Stands for `__enter__` or `__aenter__`; `name` of the class is filled into the text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __get__(self, instance: object, owner: type) -> Never:
        raise UnsupportedError(self._text.format(name=owner.__name__))


def other_loop(text: str) -> Callable[[object], Never]:
    """Stands for `__iter__` or `__aiter__`."""

    def refuse(self: object) -> Never:
        raise UnsupportedError(text.format(name=type(self).__name__))

    return refuse


ASYNC_WITH = OtherBlock("write `async with` for a kwire.aio.{name}; `with` is for a kwire.{name}, without asyncio")
WITH = OtherBlock("write `with` for a kwire.{name}; `async with` is for a kwire.aio.{name}")
ASYNC_WITH_TRANSACTION = OtherBlock("write `async with` for the transaction of a kwire.aio.Producer")
WITH_TRANSACTION = OtherBlock("write `with` for the transaction of a kwire.Producer")
WITH_BROKER = OtherBlock("write `with` for a {name}, in a coroutine, too: it runs in threads of its own")
ASYNC_FOR = other_loop("write `async for` over a kwire.aio.{name}; `for` is for a kwire.{name}, without asyncio")
FOR = other_loop("write `for` over a kwire.{name}; `async for` is for a kwire.aio.{name}")
