"""A bounds-checked reader that knows its place in the whole buffer, and leaves it there when a read fails.

The types and their faults are those of the codec's primitives: the same bytes fail at the same offset with the same
class of error. Every read either moves `at` past what it returns, or raises `Damage` and moves nothing.

    int8 .. int64, uint16, uint32, float64   big-endian
    uvarint                                  base 128, least significant group first, at most 5 bytes and 32 bits
    varint, varlong                          zigzag of an int32 (5 bytes), of an int64 (10 bytes)
Source: the protocol guide ("Protocol Primitive Types"), KIP-482.
"""

from __future__ import annotations

import struct
from uuid import UUID

from kwire import errors

__all__ = ["Cursor", "Damage"]

_FIXED = {
    "bool": struct.Struct(">?"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "uint16": struct.Struct(">H"),
    "uint32": struct.Struct(">I"),
    "float64": struct.Struct(">d"),
}
_MAX_STRING = 0x7FFF


class Damage(Exception):  # noqa: N818 - it never leaves the describer
    """Bytes that are not what they should be. `steps` are the names of the fields around them, innermost first."""

    def __init__(self, kind: type[errors.CodecError], text: str, at: int, field: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.at = at
        self.steps: list[str] = [field] if field else []

    def within(self, name: str) -> None:
        """Notes that the field `name` is where it happened."""
        self.steps.append(name)

    def as_error(self) -> errors.CodecError:
        """The error as the decoder would raise it."""
        return self.kind(self.text, ".".join(reversed(self.steps)) or None, self.at)


class Cursor:
    """Reads `data` from `at` up to `end`; positions count in `data`."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: memoryview, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def left(self) -> int:
        return self.end - self.at

    def span(self, size: int) -> memoryview:
        """The next `size` bytes."""
        begin = self.at
        if size > self.end - begin:
            raise Damage(errors.TruncatedError, "the bytes end before the field does", begin)
        self.at = begin + size
        return self.data[begin : self.at]

    def fixed(self, kind: str) -> int | float | bool:
        """A number of the fixed size that `kind` has."""
        form = _FIXED[kind]
        begin = self.at
        if form.size > self.end - begin:
            raise Damage(errors.TruncatedError, "the bytes end before the field does", begin)
        self.at = begin + form.size
        value: int | float | bool = form.unpack_from(self.data, begin)[0]
        return value

    def integer(self, kind: str) -> int:
        return int(self.fixed(kind))

    def uuid(self) -> UUID:
        return UUID(bytes=bytes(self.span(16)))

    def uvarint(self) -> int:
        return self._base_128(5, 0x0F)

    def varint(self) -> int:
        raw = self._base_128(5, 0x0F)
        return (raw >> 1) ^ -(raw & 1)

    def varlong(self) -> int:
        raw = self._base_128(10, 0x01)
        return (raw >> 1) ^ -(raw & 1)

    def _base_128(self, max_bytes: int, max_last_byte: int) -> int:
        value = 0
        for i in range(max_bytes):
            at = self.at + i
            if at >= self.end:
                raise Damage(errors.TruncatedError, "the bytes end before the varint does", self.at)
            byte = self.data[at]
            if i == max_bytes - 1 and byte > max_last_byte:
                break
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                self.at = at + 1
                return value
        raise Damage(errors.InvalidLengthError, "a varint with too many bytes or bits", self.at)

    def length(self, kind: str, *, compact: bool = False, nullable: bool = False) -> int | None:
        """The length in front of a string (`kind` "int16"), bytes ("int32") or a record's parts ("varint").

        None for null. `compact` reads a uvarint of length + 1 instead.
        """
        begin = self.at
        length = self.uvarint() - 1 if compact else self.varint() if kind == "varint" else self.integer(kind)
        wrong = self._length_fault(length, nullable)
        if wrong is not None:
            self.at = begin
            raise Damage(*wrong, begin)
        return None if length < 0 else length

    def _length_fault(self, length: int, nullable: bool) -> tuple[type[errors.CodecError], str] | None:
        if length < -1:
            return errors.InvalidLengthError, f"a length of {length}"
        if length < 0 and not nullable:
            return errors.InvalidLengthError, "null in a field that is not nullable"
        if length > self.left:
            return errors.TruncatedError, f"a length of {length} with {self.left} bytes left"
        return None

    def count(self, kind: str, min_size: int, *, nullable: bool = False) -> int | None:
        """The count of an array whose elements take `min_size` bytes or more; None for null.

        `kind` is "int32", "int16", or "uvarint" for a count + 1.
        """
        begin = self.at
        count = self.uvarint() - 1 if kind == "uvarint" else self.integer(kind)
        text = None
        if count < -1:
            text = f"a count of {count}"
        elif count < 0 and not nullable:
            text = "null in a field that is not nullable"
        elif count > self.left // max(min_size, 1):
            text = f"{count} elements claimed, more than the {self.left} bytes left can hold"
        if text is not None:
            self.at = begin
            raise Damage(errors.InvalidLengthError, text, begin)
        return None if count < 0 else count

    def text(self, *, compact: bool = False, nullable: bool = False) -> str | None:
        """A string with its length in front."""
        begin = self.at
        length = self.length("int16", compact=compact, nullable=nullable)
        if length is None:
            return None
        if length > _MAX_STRING:
            self.at = begin
            raise Damage(errors.InvalidLengthError, f"a string of {length} bytes; {_MAX_STRING} is the most", begin)
        inside = self.at
        try:
            return str(self.span(length), "utf-8")
        except UnicodeDecodeError as cause:
            self.at = begin
            raise Damage(errors.CorruptError, f"text that is not UTF-8: {cause.reason}", inside + cause.start) from None
