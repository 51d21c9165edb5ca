"""Messages of Kafka 0.7, field by field; compressed ones once more after decompression.

    length int32 (of what follows), magic int8, attributes int8 (magic 1: bits 0-1 codec), crc uint32 (CRC-32 of the
    payload alone), payload
A compressed message has magic 1, and its payload is a gzip or snappy stream of messages.
Source: the page "Wire Format" of Kafka 0.7.
"""

from __future__ import annotations

from kwire import errors
from kwire._codec import crc32
from kwire.compression import CODECS
from kwire.schema.describing.cursor import Cursor, Damage
from kwire.schema.describing.record_sets import Part, RecordSets
from kwire.schema.describing.tree import Field

__all__ = ["Messages07"]

_LENGTH = 4
_MIN_LENGTHS = {0: 5, 1: 6}
_CODEC = 0x03


class Messages07(RecordSets):
    """Walks the messages that `cursor` bounds."""

    def _end_of_batch(self) -> int | None:
        cursor = self.cursor
        if cursor.left <= _LENGTH:
            return None
        length = Cursor(cursor.data, cursor.at, cursor.end).integer("int32")
        magic = cursor.data[cursor.at + _LENGTH]
        if magic not in _MIN_LENGTHS:
            raise Damage(errors.UnknownVersionError, f"magic {magic} is not of Kafka 0.7", cursor.at + _LENGTH, "magic")
        if length < _MIN_LENGTHS[magic]:
            text = f"a length of {length}; the least of magic {magic} is {_MIN_LENGTHS[magic]}"
            raise Damage(errors.InvalidLengthError, text, cursor.at, "length")
        end = cursor.at + _LENGTH + length
        return None if end > cursor.end else end

    def _magic(self) -> int:
        return self.cursor.data[self.cursor.at + _LENGTH]

    def _walk_one(self, part: Cursor, magic: int, node: Field) -> None:
        node.type = f"message of 0.7, magic {magic}"
        _Message07(part, self, node).walk(magic)


class _Message07(Part):
    """One message, which may hold a compressed set of others."""

    def walk(self, magic: int) -> None:
        cursor = self.cursor
        self.number("length", "int32").meaning = "bytes follow this field"
        self.number("magic", "int8")
        codec = 0
        if magic:
            attributes = self.number("attributes", "int8")
            codec = attributes.value & _CODEC
            attributes.meaning = CODECS[codec] if codec < 3 else f"codec {codec}"
        crc = self.number("crc", "uint32")
        self.check(crc, crc32(cursor.data[cursor.at : cursor.end]))
        if codec:
            self._compressed(codec)
        else:
            begin = cursor.at
            payload = bytes(cursor.span(cursor.left))
            self.node.children.append(Field("payload", "bytes", begin, cursor.at, payload))

    def _compressed(self, codec: int) -> None:
        if codec > 2:
            raise Damage(errors.UnknownCodecError, f"codec {codec} is not of Kafka 0.7", self.cursor.at, "attributes")
        if self.owner.depth:
            raise Damage(errors.CorruptError, "a compressed message inside a compressed message", self.cursor.at)
        opened = self.compressed(codec, 0, "payload")
        if opened is not None:
            inner, inside = opened
            path = f"{self.owner.path}{self.node.name}.payload"
            Messages07(inside, self.owner.options, self.owner.found, path, False, 1).walk(inner)
