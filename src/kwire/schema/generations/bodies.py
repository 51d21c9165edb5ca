"""What the messages of the old generations share: each has one layout, so `encode` and `decode` need no version.

No layout is here.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from kwire.schema.messages import Message

__all__ = ["Body"]


class Body(Message, abstract=True):
    """A request or response without its frame."""

    __api_key__: ClassVar[int]

    def encode(self, version: int = 0) -> bytes:
        """The body alone, without size and header. CodecError names the field whose value does not fit."""
        return super().encode(version)

    @classmethod
    def decode(cls, data: Any, version: int = 0, *, strict: bool = True) -> Self:
        """The message whose body is `data` (bytes-like). `strict` refuses bytes left over.

        Raises one of the CodecErrors, with field and byte offset. What holds messages shares the bytes of `data`.
        """
        return super().decode(data, version, strict=strict)
