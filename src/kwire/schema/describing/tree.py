"""What a description is: a tree of fields, each with the bytes it takes.

Every byte that was described belongs to exactly one leaf, a field without `children`. Bytes that had to be decompressed
first have positions of their own: they stand in `decompressed`, not in `children`. No reading of bytes here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwire.errors import CodecError

__all__ = ["Description", "Field"]


class Field:
    """The bytes from `start` up to `end`, counted in the frame, or in the decompressed bytes around it.

    `type` is the wire type in the words of the protocol guide, `value` what the bytes hold (None for a struct, the
    count for an array, the length for bytes that are shown in their parts), `meaning` what that stands for, "" when it
    speaks for itself. A secret has no `value` unless it was asked for. `error` is set where the bytes are damaged.
    """

    __slots__ = ("children", "decompressed", "end", "error", "meaning", "name", "secret", "start", "type", "value")

    def __init__(self, name: str, kind: str, start: int, end: int, value: Any = None, meaning: str = "") -> None:
        self.name: str = name
        self.type: str = kind
        self.start: int = start
        self.end: int = end
        self.value: Any = value
        self.meaning: str = meaning
        self.secret: bool = False
        self.error: CodecError | None = None
        self.children: list[Field] = []
        self.decompressed: Field | None = None

    @property
    def size(self) -> int:
        return self.end - self.start

    def leaves(self) -> Iterator[Field]:
        """The fields that have no parts, in the order of their bytes; none of decompressed content."""
        waiting = [self]
        while waiting:
            field = waiting.pop()
            if field.children:
                waiting.extend(reversed(field.children))
            else:
                yield field

    def find(self, name: str) -> Field | None:
        """The part called `name`, or None."""
        return next((field for field in self.children if field.name == name), None)

    def __getitem__(self, name: str) -> Field:
        """The part called `name`; KeyError with the names there are."""
        found = self.find(name)
        if found is None:
            raise KeyError(f"{self.name} has no {name}; it has {', '.join(field.name for field in self.children)}")
        return found

    def __repr__(self) -> str:
        shown = "<secret>" if self.secret else repr(self.value)
        return f"<Field {self.name} [{self.start}, {self.end}) {self.type} {shown}>"


class Description:
    """A frame, or a record set, field by field. `str()` is the text of it.

    `root` is the whole; `direction` is "request", "response" or "records"; `errors` are all damages found, in the order
    of their bytes. `api_key`, `version` and `correlation_id` are None where the bytes do not say.
    """

    def __init__(self, root: Field, direction: str) -> None:
        self.root = root
        self.direction = direction
        self.api_key: int | None = None
        self.api_name: str | None = None
        self.version: int | None = None
        self.correlation_id: int | None = None
        self.client_id: str | None = None
        self.errors: list[CodecError] = []
        self.notes: list[str] = []

    @property
    def title(self) -> str:
        """One line: what it is, which version, how large."""
        if self.direction == "records":
            return f"records, {self.root.size} bytes"
        name = self.api_name or ("unknown API" if self.api_key is None else f"API key {self.api_key}")
        version = "" if self.version is None else f" v{self.version}"
        correlation = "" if self.correlation_id is None else f", correlation id {self.correlation_id}"
        client = "" if self.client_id is None else f", client {self.client_id!r}"
        return f"{name} {self.direction}{version}{correlation}{client}, {self.root.size} bytes"

    @property
    def fields(self) -> list[Field]:
        return self.root.children

    def __getitem__(self, name: str) -> Field:
        return self.root[name]

    def leaves(self) -> Iterator[Field]:
        """Every field without parts: each byte is in exactly one of them."""
        return self.root.leaves()

    def at(self, offset: int) -> list[Field]:
        """The fields that the byte at `offset` belongs to, from the whole to the leaf; empty when there is none."""
        path: list[Field] = []
        level = [self.root]
        while True:
            held = next((field for field in level if field.start <= offset < field.end), None)
            if held is None:
                return path
            path.append(held)
            level = held.children

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can carry: bytes as text or {"base64": ...}, topic ids as Kafka prints them."""
        from kwire.schema.describing.rendering import as_dict

        return as_dict(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON, on one line unless `indent` is given."""
        from kwire.schema.describing.rendering import as_json

        return as_json(self, indent)

    def to_text(self, *, color: bool = False, at: int | None = None) -> str:
        """A line per field: start, end, name, type, value, meaning. `color` adds ANSI colours.

        With `at`, only the lines that the byte at that offset belongs to.
        """
        from kwire.schema.describing.rendering import as_text

        return as_text(self, color=color, at=at)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Description of {self.title}>"
