"""Record batches and message sets, field by field, whatever the magic; compressed ones once more after decompression.

    0  base_offset int64, length int32 (of what follows), then by the magic at byte 16:
    magic 2     partition_leader_epoch int32, magic int8, crc uint32 (CRC-32C from attributes on), attributes int16,
                last_offset_delta int32, base_timestamp int64, max_timestamp int64, producer_id int64,
                producer_epoch int16, base_sequence int32, count int32, records
    magic 0, 1  crc uint32 (CRC-32 from magic on), magic int8, attributes int8, timestamp int64 (magic 1), key, value
    record      length varint, attributes int8, timestamp_delta varlong, offset_delta varint, key, value, headers
Sources: KIP-98 (magic 2), KIP-82 (headers), KIP-31 and KIP-32 (magic 1), the protocol guide ("Messagesets").

A wrong checksum is said, and the walk goes on; a batch whose inside is damaged ends at its known length, and the walk
goes on after it. A last batch that is cut off is normal where a fetch's byte limit may have done it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kwire import errors
from kwire._codec import crc32, crc32c
from kwire.compression import CODECS, decompress
from kwire.schema.describing.cursor import Cursor, Damage
from kwire.schema.describing.meanings import date_of, meaning_of_control
from kwire.schema.describing.shared import Options, close_after
from kwire.schema.describing.tree import Field

__all__ = ["Part", "RecordSets"]

_LENGTH_ENDS = 12
_MAGIC_AT = 16
_HEADER_SIZE = 61
_MIN_LENGTHS = {0: 14, 1: 22, 2: 49}
_CODEC = 0x07
_APPEND_TIME = 0x08
_FLAGS = {0x10: "transactional", 0x20: "control", 0x40: "delete horizon"}
_CONTROL = 0x20
_RECORD_LEAST = 7
_MAX_OFFSET = 0x7FFF_FFFF_FFFF_FFFF
_HEADER_LEAST = 2


PARTIAL_BATCH = "partial batch"
"""The field that stands for a batch that is cut off."""


class RecordSets:
    """Walks what `cursor` bounds. `found` takes the damages that did not end the walk.

    `may_be_cut`: the last batch may end early without being wrong.
    """

    def __init__(
        self,
        cursor: Cursor,
        options: Options,
        found: list[errors.CodecError],
        path: str,
        may_be_cut: bool,
        depth: int = 0,
    ) -> None:
        self.cursor = cursor
        self.options = options
        self.found = found
        self.path = path
        self.may_be_cut = may_be_cut
        self.depth = depth
        self.expand: Callable[[Cursor, Field, Field, bool], None] | None = None

    def walk(self, into: Field) -> None:
        """Every batch and message up to the end, or to where no next one can be made out."""
        cursor = self.cursor
        number = 0
        while cursor.left:
            name = f"[{number}]"
            try:
                whole_end = self._end_of_batch()
            except Damage as damage:
                self.close(into, cursor, damage, name)
                return
            if whole_end is None:
                self._cut_off(name, into)
            else:
                self._whole(number, whole_end, into)
            number += 1

    def _whole(self, number: int, end: int, into: Field) -> None:
        max_items, only_at = self.options.max_items, self.options.only_at
        elsewhere = only_at is not None and not self.depth and not self.cursor.at <= only_at < end
        if elsewhere or (max_items is not None and number >= max_items):
            self._passed(into, end)
        else:
            self._batch(f"[{number}]", self._magic(), end, into)

    def _end_of_batch(self) -> int | None:
        """Where the batch at the cursor ends; None when it is cut off."""
        cursor = self.cursor
        if cursor.left < _LENGTH_ENDS:
            return None
        length = Cursor(cursor.data, cursor.at + _LENGTH_ENDS - 4, cursor.end).integer("int32")
        magic = cursor.data[cursor.at + _MAGIC_AT] if cursor.left > _MAGIC_AT else 0
        if magic not in _MIN_LENGTHS:
            raise Damage(
                errors.UnknownVersionError, f"magic {magic} is not a record format", cursor.at + _MAGIC_AT, "magic"
            )
        if length < _MIN_LENGTHS[magic]:
            text = f"a length of {length}; the least of magic {magic} is {_MIN_LENGTHS[magic]}"
            raise Damage(errors.InvalidLengthError, text, cursor.at + _LENGTH_ENDS - 4, "length")
        end = cursor.at + _LENGTH_ENDS + length
        return None if end > cursor.end else end

    def _cut_off(self, name: str, into: Field) -> None:
        cursor = self.cursor
        leaf = Field(PARTIAL_BATCH, "bytes", cursor.at, cursor.end)
        leaf.meaning = f"the first {cursor.left} bytes of a batch that is cut off here"
        if not self.may_be_cut:
            leaf.error = errors.TruncatedError("the last batch is cut off", self.path + name, cursor.at)
            self.found.append(leaf.error)
        into.children.append(leaf)
        cursor.at = cursor.end

    def _passed(self, into: Field, end: int) -> None:
        """A batch that is not looked into: one leaf stands for all of them in a row."""
        if not into.children or into.children[-1].name != "more":
            into.children.append(Field("more", "batches", self.cursor.at, end, 0))
        rest = into.children[-1]
        rest.end = self.cursor.at = end
        rest.value += 1
        rest.meaning = f"{rest.value} more, not shown"

    def _batch(self, name: str, magic: int, end: int, into: Field) -> None:
        cursor = self.cursor
        node = Field(name, "", cursor.at, end)
        into.children.append(node)
        part = Cursor(cursor.data, cursor.at, end)
        cursor.at = end
        try:
            self._walk_one(part, magic, node)
        except Damage as damage:
            self.close(node, part, damage, node.name)

    def _magic(self) -> int:
        return self.cursor.data[self.cursor.at + _MAGIC_AT]

    def _walk_one(self, part: Cursor, magic: int, node: Field) -> None:
        if magic == 2:
            node.type = "record batch"
            _RecordBatch(part, self, node).walk()
        else:
            node.type = f"message, magic {magic}"
            _Message(part, self, node).walk()

    def close(self, node: Field, part: Cursor, damage: Damage, name: str) -> None:
        """Ends a part whose end is known, in the batch or message `name`; the walk goes on after it."""
        damage.within(self.path + name)
        self.found.append(close_after(node, part, damage))


class Part:
    """The current batch or message: its fields become leaves of `node`."""

    def __init__(self, cursor: Cursor, owner: RecordSets, node: Field) -> None:
        self.cursor = cursor
        self.owner = owner
        self.node = node

    def number(self, name: str, kind: str, into: Field | None = None) -> Field:
        """A leaf with one number: of a fixed size, or a varint."""
        cursor = self.cursor
        begin = cursor.at
        try:
            if kind == "varint":
                value = cursor.varint()
            elif kind == "varlong":
                value = cursor.varlong()
            else:
                value = cursor.integer(kind)
        except Damage as damage:
            damage.within(name)
            raise
        leaf = Field(name, kind, begin, cursor.at, value)
        (into or self.node).children.append(leaf)
        return leaf

    def data(self, name: str, length_kind: str, into: Field, *, nullable: bool = True) -> Field:
        """A leaf with bytes and their length in front."""
        cursor = self.cursor
        begin = cursor.at
        try:
            length = cursor.length(length_kind, nullable=nullable)
        except Damage as damage:
            damage.within(name)
            raise
        value = None if length is None else bytes(cursor.span(length))
        shown = "varint bytes" if length_kind == "varint" else "bytes"
        leaf = Field(name, shown, begin, cursor.at, value, "null" if value is None else "")
        into.children.append(leaf)
        return leaf

    def check(self, leaf: Field, computed: int) -> None:
        """Says whether a checksum is right."""
        if not self.owner.options.check_crc:
            leaf.meaning = "not checked"
        elif leaf.value == computed:
            leaf.meaning = "right"
        else:
            leaf.meaning = f"WRONG: the bytes give {computed} (0x{computed:08x})"
            text = f"the checksum is {leaf.value}, the bytes give {computed}"
            leaf.error = errors.CorruptError(text, f"{self.owner.path}{self.node.name}.crc", leaf.start)
            self.owner.found.append(leaf.error)

    def wrong(self, leaf: Field, text: str, path: str = "") -> None:
        """Notes a value that no writer could have meant; the walk goes on after it."""
        leaf.meaning = text
        leaf.error = errors.CorruptError(text, f"{self.owner.path}{self.node.name}.{path}{leaf.name}", leaf.start)
        self.owner.found.append(leaf.error)

    def compressed(self, codec: int, magic: int, name: str) -> tuple[Field, Cursor] | None:
        """Makes the rest one leaf of compressed bytes; returns the root of what they decompress to, and a cursor there.

        None when they do not decompress.
        """
        cursor = self.cursor
        begin = cursor.at
        held = cursor.span(cursor.left)
        leaf = Field(name, f"{CODECS[codec]} bytes", begin, cursor.at, len(held))
        self.node.children.append(leaf)
        try:
            content = decompress(CODECS[codec], held, self.owner.options.max_decompressed_bytes, magic=magic)
        except errors.CodecError as error:
            text = error.message
            leaf.error = type(error)(text, f"{self.owner.path}{self.node.name}.{name}", begin)
            leaf.meaning = text
            self.owner.found.append(leaf.error)
            return None
        inner = memoryview(content)
        leaf.decompressed = Field(name, "decompressed", 0, len(inner), len(inner))
        leaf.meaning = f"{len(inner)} bytes when decompressed"
        return leaf.decompressed, Cursor(inner)


class _Place(NamedTuple):
    """What the records of a batch count from; `append_time` is None where each has a time of its own."""

    base_offset: int
    last_offset_delta: int
    base_timestamp: int
    append_time: int | None


class _RecordBatch(Part):
    """A batch of magic 2."""

    def walk(self) -> None:
        begin = self.cursor.at
        base_offset = self.number("base_offset", "int64").value
        self.number("length", "int32").meaning = "bytes follow this field"
        self.number("partition_leader_epoch", "int32")
        self.number("magic", "int8").meaning = "since Kafka 0.11"
        crc = self.number("crc", "uint32")
        self.check(crc, crc32c(self.cursor.data[self.cursor.at : self.cursor.end]))
        attributes = self.number("attributes", "int16")
        bits = attributes.value
        attributes.meaning = _attributes(bits)
        delta = self.number("last_offset_delta", "int32")
        delta.meaning = f"offset {base_offset + delta.value}"
        if delta.value < 0 or base_offset + delta.value > _MAX_OFFSET:
            self.wrong(delta, f"a last offset of {base_offset} + {delta.value}")
        base_timestamp = self.number("base_timestamp", "int64")
        base_timestamp.meaning = date_of(base_timestamp.value)
        max_timestamp = self.number("max_timestamp", "int64")
        max_timestamp.meaning = date_of(max_timestamp.value)
        self._producer()
        count = self.number("count", "int32").value
        self._check_count(count, begin, bool(bits & _CODEC))
        place = _Place(
            base_offset, delta.value, base_timestamp.value, max_timestamp.value if bits & _APPEND_TIME else None
        )
        codec = bits & _CODEC
        if codec >= len(CODECS):
            raise Damage(errors.UnknownCodecError, f"codec {codec} is not known", self.cursor.at, "attributes")
        if codec and count:
            self._compressed_records(bits, count, place)
        elif codec:
            left = Field("records", "bytes", self.cursor.at, self.cursor.end)
            left.meaning = "there are no records, and nothing reads these bytes"
            self.cursor.at = self.cursor.end
            self.node.children += [left] if left.size else []
        else:
            _Records(self.cursor, self.owner, self.node, place, bool(bits & _CONTROL)).walk(count, self.node)

    def _producer(self) -> None:
        producer = self.number("producer_id", "int64")
        epoch, sequence = self.number("producer_epoch", "int16"), self.number("base_sequence", "int32")
        if producer.value == -1:
            producer.meaning = "neither idempotent nor transactional"
        for leaf in (epoch, sequence):
            leaf.meaning = "none" if leaf.value == -1 else ""

    def _check_count(self, count: int, begin: int, is_compressed: bool) -> None:
        at = begin + _HEADER_SIZE - 4
        if count < 0:
            raise Damage(errors.InvalidLengthError, f"a count of {count}", at, "count")
        if not is_compressed and count > self.cursor.left // _RECORD_LEAST:
            text = f"{count} records claimed, more than the {self.cursor.left} bytes left can hold"
            raise Damage(errors.InvalidLengthError, text, at, "count")

    def _compressed_records(self, bits: int, count: int, place: _Place) -> None:
        opened = self.compressed(bits & _CODEC, 2, "records")
        if opened is None:
            return
        inner, cursor = opened
        try:
            _Records(cursor, self.owner, inner, place, bool(bits & _CONTROL)).walk(count, inner)
        except Damage as damage:
            self.owner.close(inner, cursor, damage, self.node.name)


class _Records(Part):
    """The records of a batch, which may have been decompressed."""

    def __init__(self, cursor: Cursor, owner: RecordSets, node: Field, place: _Place, control: bool) -> None:
        super().__init__(cursor, owner, node)
        self.place = place
        self.control = control
        self.previous = -1

    def walk(self, count: int, into: Field) -> None:
        max_items = self.owner.options.max_items
        for number in range(count):
            if max_items is not None and number >= max_items:
                self._passed(into, count - number)
                break
            node = Field(f"record[{number}]", "record", self.cursor.at, self.cursor.at)
            into.children.append(node)
            try:
                self._record(node)
            except Damage as damage:
                damage.within(node.name)
                raise
            finally:
                node.end = max(self.cursor.at, node.start)
        if self.cursor.left:
            raise Damage(errors.InvalidLengthError, "bytes left over after the last record", self.cursor.at)

    def _passed(self, into: Field, count: int) -> None:
        """The records beyond the most wanted: their bytes are one leaf, and not looked into."""
        leaf = Field("more", "records", self.cursor.at, self.cursor.end, None, f"{count} more, not shown")
        if leaf.size:
            into.children.append(leaf)
        self.cursor.at = self.cursor.end

    def _record(self, node: Field) -> None:
        cursor = self.cursor
        length = self.number("length", "varint", node)
        body = cursor.at
        if not 0 <= length.value <= cursor.left:
            cursor.at = length.start
            node.children.clear()
            text = f"a record length of {length.value} with {cursor.left} bytes left"
            raise Damage(errors.InvalidLengthError, text, cursor.at, "length")
        self.number("attributes", "int8", node)
        timestamp = self.number("timestamp_delta", "varlong", node)
        if self.place.append_time is not None:
            timestamp.meaning = f"not used; appended at {date_of(self.place.append_time)}"
        else:
            timestamp.meaning = date_of(self.place.base_timestamp + timestamp.value)
        self._offset(node)
        key = self.data("key", "varint", node)
        value = self.data("value", "varint", node)
        if self.owner.expand is not None:
            self.owner.expand(cursor, key, value, self.control)
        if self.control and key.value is not None:
            key.meaning = meaning_of_control(key.value)
        self._headers(node)
        if cursor.at - body != length.value:
            text = f"a record length of {length.value}, but its fields take {cursor.at - body}"
            raise Damage(errors.InvalidLengthError, text, length.start, "length")

    def _offset(self, node: Field) -> None:
        offset = self.number("offset_delta", "varint", node)
        offset.meaning = f"offset {self.place.base_offset + offset.value}"
        if not self.previous < offset.value <= self.place.last_offset_delta:
            text = f"an offset delta of {offset.value} after {self.previous}, up to {self.place.last_offset_delta}"
            self.wrong(offset, text, f"{node.name}.")
        self.previous = offset.value

    def _headers(self, node: Field) -> None:
        cursor = self.cursor
        count = self.number("header_count", "varint", node)
        if not 0 <= count.value <= cursor.left // _HEADER_LEAST:
            cursor.at = count.start
            node.children.pop()
            text = f"{count.value} headers claimed with {cursor.left} bytes left"
            raise Damage(errors.InvalidLengthError, text, cursor.at, "header_count")
        for number in range(count.value):
            part = Field(f"header[{number}]", "header", cursor.at, cursor.at)
            node.children.append(part)
            try:
                self.data("key", "varint", part, nullable=False)
                self.data("value", "varint", part)
            except Damage as damage:
                damage.within(part.name)
                raise
            finally:
                part.end = cursor.at


class _Message(Part):
    """A message of magic 0 or 1, which may wrap a compressed set of others."""

    def walk(self) -> None:
        cursor = self.cursor
        offset = self.number("offset", "int64")
        self.number("size", "int32").meaning = "bytes follow this field"
        crc = self.number("crc", "uint32")
        self.check(crc, crc32(cursor.data[cursor.at : cursor.end]))
        magic = self.number("magic", "int8")
        magic.meaning = "Kafka 0.8 and 0.9" if magic.value == 0 else "Kafka 0.10"
        attributes = self.number("attributes", "int8")
        codec = attributes.value & _CODEC
        attributes.meaning = _message_attributes(attributes.value, magic.value)
        if magic.value:
            timestamp = self.number("timestamp", "int64")
            timestamp.meaning = date_of(timestamp.value)
        self.data("key", "int32", self.node)
        if codec:
            self._wrapped(codec, magic.value, offset)
        else:
            self.data("value", "int32", self.node)
        if cursor.left:
            raise Damage(errors.InvalidLengthError, "bytes left over after the value", cursor.at)

    def _wrapped(self, codec: int, magic: int, offset: Field) -> None:
        cursor = self.cursor
        if codec >= len(CODECS) - 1:
            raise Damage(
                errors.UnknownCodecError, f"codec {codec} does not exist in magic {magic}", cursor.at, "attributes"
            )
        if self.owner.depth:
            raise Damage(errors.CorruptError, "a compressed message inside a compressed message", cursor.at)
        length_at = cursor.at
        length = cursor.length("int32")
        self.node.children.append(Field("value length", "int32", length_at, cursor.at, length))
        if length != cursor.left:
            raise Damage(errors.InvalidLengthError, "bytes left over after the value", cursor.at + (length or 0))
        opened = self.compressed(codec, magic, "value")
        if opened is None:
            return
        inner, inside = opened
        path = f"{self.owner.path}{self.node.name}.value"
        RecordSets(inside, self.owner.options, self.owner.found, path, False, 1).walk(inner)
        if magic and offset.value:
            self._check_offset(offset, inner)

    def _check_offset(self, offset: Field, inner: Field) -> None:
        """The offset of a wrapper of magic 1 is that of its last message; 0 comes from producers that set none."""
        last = inner.children[-1].find("offset") if inner.children else None
        if last is not None and not 0 <= last.value <= offset.value:
            self.wrong(offset, f"the last message inside has offset {last.value}, more than the {offset.value} here")


def _attributes(bits: int) -> str:
    codec = bits & _CODEC
    names = [CODECS[codec] if codec < len(CODECS) else f"codec {codec}", _time_name(bits)]
    names += [name for bit, name in _FLAGS.items() if bits & bit]
    if bits & ~0x7F:
        names.append(f"unknown bits 0x{bits & 0xFF80:x}")
    return ", ".join(names)


def _message_attributes(bits: int, magic: int) -> str:
    codec = CODECS[bits & _CODEC] if bits & _CODEC < len(CODECS) - 1 else f"codec {bits & _CODEC}"
    return f"{codec}, {_time_name(bits)}" if magic else codec


def _time_name(bits: int) -> str:
    return "log append time" if bits & _APPEND_TIME else "create time"
