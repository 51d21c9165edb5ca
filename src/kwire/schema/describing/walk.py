"""The fields of a message, one after the other, by the specifiers of its class.

The wire forms are those of the codec's plans (structs, arrays, tagged fields of KIP-482, nullable structs of KIP-893).
Containers take their parts as these are read, so that after damage everything before it is in the tree. A tagged field
or a record set that is damaged ends at a known place: what follows it is described all the same.

May not know frames or headers: `frames` does. What stands inside bytes is asked of `record_sets` and `blobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from kwire import errors
from kwire.schema import fields as f
from kwire.schema.api_keys import JOIN_GROUP
from kwire.schema.describing.blobs import GroupBlob, group_blob
from kwire.schema.describing.cursor import Cursor, Damage
from kwire.schema.describing.meanings import meaning_of
from kwire.schema.describing.messages_0_7 import Messages07
from kwire.schema.describing.record_sets import RecordSets
from kwire.schema.describing.shared import Options, close_after
from kwire.schema.describing.tree import Field
from kwire.schema.group_blobs import decode_user_data
from kwire.schema.logs.lookup import decode_log_record
from kwire.schema.logs.parts import LogPart
from kwire.schema.messages import StructMeta

__all__ = ["MessageKind", "Walk", "log_expander"]

_SIZES = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8, "uuid": 16}
_ONE_LINE = {"bool", "int8", "int16", "int32", "int64", "uint16", "uint32", "float64"}
_MAX_TAG = 0x7FFFFFFE
# What later fields are read by: the topic whose records follow, the kind of group whose blobs follow.
_REMEMBERED = {
    "topic": "topic",
    "name": "topic",
    "protocol_type": "protocol_type",
    "protocol_name": "assignor",
    "protocol_data": "assignor",
}

_WITH_SECRETS = "__cluster_metadata"
_OWN_IDS = {UUID(int=1): _WITH_SECRETS}


class MessageKind(NamedTuple):
    """The current message: meanings differ by it."""

    api_key: int
    direction: str
    version: int
    flexible: bool
    generation: str = ""


@lru_cache(maxsize=1024)
def _fields_of(cls: StructMeta, version: int) -> tuple[f.Field, ...]:
    return tuple(field for field in cls.__fields__ if field.tag is None and field.versions.has(version))


def _tags_of(cls: StructMeta, version: int) -> dict[int, f.Field]:
    return {field.tag: field for field in cls.__fields__ if field.tag is not None and field.versions.has(version)}


@lru_cache(maxsize=1024)
def _tells_sensitivity(cls: StructMeta) -> bool:
    return any(field.name == "is_sensitive" for field in cls.__fields__)


def _mask_sensitive(setting: Field) -> None:
    """Masks the value of a setting, and of its synonyms, unless the broker says that it is not sensitive."""
    said = setting.find("is_sensitive")
    if said is not None and not said.value:
        return
    synonyms = setting.find("synonyms")
    for each in (setting, *(() if synonyms is None else synonyms.children)):
        value = each.find("value")
        if value is not None and value.value is not None:
            value.value, value.meaning, value.secret = None, "", True


class Walk:
    """Reads one message from `cursor` into a tree; `found` takes the damages that did not end the walk."""

    def __init__(self, cursor: Cursor, where: MessageKind, options: Options, found: list[errors.CodecError]) -> None:
        self.cursor = cursor
        self.where = where
        self.options = options
        self.found = found
        self.path: list[str] = []
        self.said: dict[str, str | None] = {}

    def message(self, cls: Any, into: Field) -> None:
        """All fields of `cls` at the current version. Raises Damage where the bytes stop making sense."""
        cls.plan(self.where.version)
        try:
            self._struct(cls, into)
        except Damage as damage:
            damage.within(".".join(self.path))
            raise

    def _struct(self, cls: StructMeta, into: Field) -> None:
        path = self.path
        try:
            for field in _fields_of(cls, self.where.version):
                path.append(field.name)
                self._field(field, into)
                path.pop()
            if self.where.flexible:
                self._tagged_fields(cls, into)
        finally:
            into.end = self.cursor.at
            if _tells_sensitivity(cls) and not self.options.secrets:
                _mask_sensitive(into)

    def _field(self, field: f.Field, into: Field) -> None:
        kind = field.kind
        nullable = field.nullable.has(self.where.version)
        if kind == "array":
            self._array(field, nullable, into)
        elif kind == "struct":
            self._nested(field, nullable, into)
        elif kind == "records" or kind == "bytes":
            self._bytes(field, nullable, into)
        elif kind == "rest":
            self._rest(field, into)
        else:
            self._scalar(field, kind, field.name, nullable, into)

    def _scalar(self, field: f.Field, kind: str, name: str, nullable: bool, into: Field) -> None:
        cursor = self.cursor
        begin = cursor.at
        value: Any
        shown = kind
        if kind == "string":
            compact = self.where.flexible and field.compact
            value = cursor.text(compact=compact, nullable=nullable)
            if field.name in _REMEMBERED:
                self.said[_REMEMBERED[field.name]] = value
            shown = "compact string" if compact else "string"
        elif kind == "uuid":
            value = cursor.uuid()
            if field.name == "topic_id":
                self.said["topic"] = self.options.topic_names.get(value, _OWN_IDS.get(value))
        else:
            value = cursor.fixed(kind)
        leaf = Field(name, shown, begin, cursor.at, value)
        if field.secret and value is not None and not self.options.secrets:
            leaf.value, leaf.secret = None, True
        else:
            leaf.meaning = meaning_of(self.where.api_key, self.where.direction, field.name, kind, value)
            if kind == "uuid" and field.name == "topic_id":
                leaf.meaning = self.said["topic"] or leaf.meaning
        into.children.append(leaf)

    def _bytes(self, field: f.Field, nullable: bool, into: Field) -> None:
        cursor = self.cursor
        begin = cursor.at
        compact = self.where.flexible and field.compact
        shown = f"compact {field.kind}" if compact else field.kind
        length = cursor.length("int32", compact=compact, nullable=nullable)
        inside = cursor.at
        if length is None or length == 0:
            into.children.append(Field(field.name, shown, begin, inside, None if length is None else b""))
            return
        held = cursor.span(length)
        node = Field(field.name, shown, begin, cursor.at)
        into.children.append(node)
        if field.secret and not self.options.secrets:
            node.secret = True
        elif field.kind == "records":
            node.children.append(Field("length", "uvarint" if compact else "int32", begin, inside, length))
            self._records(node, inside, length)
        else:
            node.value = bytes(held)
            blob = group_blob(self.where.api_key, field.name, held, self.said.get("protocol_type"))
            if field.name == "user_data" and self.said.get("assignor"):
                self._user_data(node, inside)
            if blob is not None:
                self._blob(blob, Field("length", "uvarint" if compact else "int32", begin, inside, length), node)

    def _blob(self, blob: GroupBlob, length: Field, node: Field) -> None:
        """Puts the fields of the message in a bytes field below it, unless the bytes are no such message after all."""
        cursor = Cursor(self.cursor.data, length.end, node.end)
        parts = Field(node.name, node.type, node.start, node.end)
        version = Field("version", "int16", cursor.at, cursor.at + 2, cursor.integer("int16"))
        parts.children = [length, version]
        found: list[errors.CodecError] = []
        inner = Walk(cursor, MessageKind(-1, "blob", blob.version, False), self.options, found)
        asks = self.where.api_key == JOIN_GROUP and self.where.direction == "request"
        inner.said["assignor"] = self.said.get("topic" if asks else "assignor")
        try:
            inner.message(blob.message, parts)
        except Damage:
            return
        if cursor.left and version.value == blob.version:
            return
        if cursor.left:
            newer = Field("newer fields", "bytes", cursor.at, cursor.end, bytes(cursor.span(cursor.left)))
            newer.meaning = f"of a version after {blob.version}, the newest that kwire knows"
            parts.children.append(newer)
        node.children = parts.children
        node.meaning = blob.message.__name__

    def _user_data(self, node: Field, inside: int) -> None:
        """What an assignor that kwire knows remembers with its member."""
        part = decode_user_data(node.value, self.said.get("assignor") or "")
        if part is not None and part.message is not None:
            _expand_part(part, node, Cursor(self.cursor.data, inside, node.end), self.options, "int32")

    @property
    def _may_be_cut(self) -> bool:
        return self.where.direction == "response"

    def _rest(self, field: f.Field, into: Field) -> None:
        """Messages of Kafka 0.7, up to the end: no other generation has such a field."""
        cursor = self.cursor
        node = Field(field.name, "messages up to the end", cursor.at, cursor.end, cursor.left)
        into.children.append(node)
        Messages07(cursor, self.options, self.found, ".".join(self.path), self._may_be_cut).walk(node)

    def _records(self, node: Field, inside: int, length: int) -> None:
        node.value = length
        part = Cursor(self.cursor.data, inside, inside + length)
        if self.where.generation:
            Messages07(part, self.options, self.found, ".".join(self.path), self._may_be_cut).walk(node)
            return
        sets = RecordSets(part, self.options, self.found, ".".join(self.path), self._may_be_cut)
        sets.expand = log_expander(self.said.get("topic") or "", self.options)
        sets.walk(node)

    def _nested(self, field: f.Field, nullable: bool, into: Field) -> None:
        cursor = self.cursor
        struct: Any = field.struct
        node = Field(field.name, struct.__name__, cursor.at, cursor.at)
        if nullable:
            begin = cursor.at
            kind = "uvarint" if field.tag is not None else "int8"
            present = cursor.uvarint() if field.tag is not None else cursor.integer("int8")
            if present < (0 if field.tag is None else 1):
                into.children.append(Field(field.name, f"nullable {struct.__name__}", begin, cursor.at, None, "null"))
                return
            node.type = f"nullable {struct.__name__}"
            node.children.append(Field("present", kind, begin, cursor.at, present))
        into.children.append(node)
        self._struct(struct, node)

    def _array(self, field: f.Field, nullable: bool, into: Field) -> None:
        cursor = self.cursor
        begin = cursor.at
        compact = self.where.flexible and field.compact
        element = field.element or ""
        label = field.struct.__name__ if field.struct is not None else element
        shown = f"{'compact ' if compact else ''}array of {label}"
        counted = "uvarint" if compact else "int16" if field.short else "int32"
        count = cursor.count(counted, self._min_size(field, compact), nullable=nullable)
        node = Field(field.name, shown, begin, cursor.at, count)
        if count is None or (count == 0 and element not in _ONE_LINE):
            node.meaning = "null" if count is None else "empty"
            into.children.append(node)
        elif element in _ONE_LINE:
            self._numbers(field, element, count, node, into)
        else:
            node.children.append(Field("count", counted, begin, cursor.at, count))
            into.children.append(node)
            self._elements(field, element, count, node)

    def _min_size(self, field: f.Field, compact: bool) -> int:
        if field.struct is not None:
            return max(int(field.struct.__plans__[self.where.version, self.where.flexible].min_size), 1)
        return _SIZES.get(field.element or "", 1 if compact else 2)

    def _numbers(self, field: f.Field, element: str, count: int, node: Field, into: Field) -> None:
        """An array of numbers is one line: its elements are of one size and easily counted."""
        values = []
        for _ in range(count):
            values.append(self.cursor.fixed(element))
        node.value, node.end = tuple(values), self.cursor.at
        if field.secret and not self.options.secrets:
            node.value, node.secret = None, True
        else:
            node.meaning = meaning_of(self.where.api_key, self.where.direction, field.name, "array", node.value)
        into.children.append(node)

    def _elements(self, field: f.Field, element: str, count: int, node: Field) -> None:
        shown = count if self.options.max_items is None else min(count, self.options.max_items)
        struct: Any = field.struct
        path, array_name = self.path, self.path[-1]
        try:
            for i in range(shown):
                name = f"[{i}]"
                path[-1] = array_name + name
                if struct is not None:
                    part = Field(name, struct.__name__, self.cursor.at, self.cursor.at)
                    node.children.append(part)
                    self._struct(struct, part)
                else:
                    self._scalar(field, element, name, False, node)
            for i in range(shown, count):
                path[-1] = f"{array_name}[{i}]"
                self._skip_element(field, element, i - shown, node)
            path[-1] = array_name
        finally:
            node.end = self.cursor.at

    def _skip_element(self, field: f.Field, element: str, number: int, node: Field) -> None:
        """Reads an element that is not wanted in the tree; one leaf stands for all of them."""
        passed = Field("", "", 0, 0)
        begin = self.cursor.at
        if field.struct is not None:
            self._struct(field.struct, passed)  # type: ignore[arg-type]
        else:
            self._scalar(field, element, "", False, passed)
        if number == 0:
            node.children.append(Field("more", node.type.split("array of ")[-1], begin, begin))
        rest = node.children[-1]
        rest.end = self.cursor.at
        rest.meaning = f"{number + 1} more, not shown"

    def _tagged_fields(self, cls: StructMeta, into: Field) -> None:
        cursor = self.cursor
        begin = cursor.at
        node = Field("tagged fields", "uvarint", begin, begin, 0)
        self.path.append("tagged fields")
        count = self._tag_count()
        node.end, node.value = cursor.at, count
        into.children.append(node)
        if count == 0:
            node.meaning = "none"
        else:
            node.type = "tagged fields"
            node.children.append(Field("count", "uvarint", begin, cursor.at, count))
            known = _tags_of(cls, self.where.version)
            before = -1
            try:
                for _ in range(count):
                    before = self._tagged_field(known, before, node)
            finally:
                node.end = cursor.at
        self.path.pop()

    def _tag_count(self) -> int:
        cursor = self.cursor
        begin = cursor.at
        count = cursor.uvarint()
        if count > cursor.left // 2:
            text = f"{count} elements claimed, more than the {cursor.left} bytes left can hold"
            cursor.at = begin
            raise Damage(errors.InvalidLengthError, text, begin)
        return count

    def _tagged_field(self, known: dict[int, f.Field], before: int, node: Field) -> int:
        cursor = self.cursor
        begin = cursor.at
        try:
            tag, size_at, size = self._tag_and_size(before)
        except Damage:
            cursor.at = begin
            raise
        after = cursor.at
        field = known.get(tag)
        part = Field(f"tag {tag}", "tagged field", begin, after + size)
        part.children = [Field("tag", "uvarint", begin, size_at, tag), Field("size", "uvarint", size_at, after, size)]
        node.children.append(part)
        if field is None:
            part.meaning = "not known to kwire"
            if size:
                part.children.append(Field("value", "bytes", after, after + size, bytes(cursor.span(size))))
        else:
            self._known_tag(field, size, part)
        return tag

    def _tag_and_size(self, before: int) -> tuple[int, int, int]:
        """(tag, where its size stands, its size)."""
        cursor = self.cursor
        begin = cursor.at
        tag = cursor.uvarint()
        if tag <= before or tag > _MAX_TAG:
            raise Damage(errors.InvalidLengthError, "tagged fields out of order or repeated", begin)
        size_at = cursor.at
        size = cursor.uvarint()
        if size > cursor.left:
            raise Damage(errors.TruncatedError, f"a size of {size} with {cursor.left} bytes left", cursor.at)
        return tag, size_at, size

    def _known_tag(self, field: f.Field, size: int, part: Field) -> None:
        cursor = self.cursor
        whole_end, cursor.end = cursor.end, cursor.at + size
        path = self.path
        depth = len(path)
        path[-1] = field.name
        try:
            self._field(field, part)
            if cursor.left:
                raise Damage(
                    errors.InvalidLengthError, "a tagged field whose size does not match its content", cursor.at
                )
        except Damage as damage:
            damage.within(".".join(path))
            self.found.append(close_after(part, cursor, damage))
        finally:
            cursor.end = whole_end
            del path[depth:]
            path[-1] = "tagged fields"


def log_expander(topic: str, options: Options) -> Callable[[Cursor, Field, Field, bool], None]:
    """What shows the messages in the keys and values of one of Kafka's own topics, and of control batches."""

    def expand(cursor: Cursor, key: Field, value: Field, is_control: bool) -> None:
        parts = decode_log_record(topic, key.value, value.value, is_control=is_control)
        if parts is not None:
            for part, field in ((parts.key, key), (parts.value, value)):
                if part is not None:
                    _expand_part(part, field, Cursor(cursor.data, field.end - len(part.data), field.end), options)
            if topic == _WITH_SECRETS and not (options.secrets or value.children or value.value is None):
                value.value, value.secret = None, True

    return expand


def _expand_part(part: LogPart, field: Field, cursor: Cursor, options: Options, length_kind: str = "varint") -> None:
    """Puts the words and fields of one half of a record below it."""
    base = cursor.at
    if part.message is None or part.version is None:
        field.meaning = str(part.problem)
        return
    parts = Field(field.name, field.type, field.start, field.end)
    parts.children = [Field("length", length_kind, field.start, base, len(part.data))]
    parts.children += [Field(w.name, w.kind, base + w.start, base + w.end, w.value) for w in part.words]
    cursor.at = base + part.start
    cls = type(part.message)
    where = MessageKind(-1, "log", part.version, cls.__flexible__.has(part.version))
    found: list[errors.CodecError] = []
    try:
        Walk(cursor, where, options, found).message(cls, parts)
    except Damage:
        return
    if cursor.left:
        more = Field("more", "bytes", cursor.at, cursor.end, bytes(cursor.span(cursor.left)))
        more.meaning = "belongs to nothing that kwire knows"
        parts.children.append(more)
    field.children = parts.children
    field.meaning = f"{part.name} v{part.version}"
    if any(leaf.secret for leaf in field.leaves()):
        field.value = None
