"""One frame of Kafka 0.7, field by field.

    request    size int32, request_type int16, body
    response   size int32, error_code int16, body; that of MULTIFETCH: parts of size int32, error_code int16, messages
Source: `kwire.schema.generations.wire_0_7`, which has the messages.
"""

from __future__ import annotations

from typing import Any

from kwire import errors
from kwire.schema.describing.cursor import Cursor, Damage
from kwire.schema.describing.frame_walk import FrameWalk
from kwire.schema.describing.shared import close_after
from kwire.schema.describing.tree import Field
from kwire.schema.describing.walk import MessageKind, Walk
from kwire.schema.generations import wire_0_7

__all__ = ["FrameWalk07"]

_RESPONSES: dict[int, Any] = {
    1: wire_0_7.FetchResponse,
    2: wire_0_7.MultiFetchResponse,
    4: wire_0_7.OffsetsResponse,
}
_MULTI_FETCH = 2


class FrameWalk07(FrameWalk):
    """Its headers have neither version nor correlation id."""

    def _request(self) -> None:
        header = self._head(wire_0_7.RequestHeader, "request")
        kind = header["request_type"].value
        self._name(kind)
        message = wire_0_7.REQUESTS.get(kind)
        if message is None:
            raise Damage(errors.UnknownVersionError, f"Kafka 0.7 has no request type {kind}", self.cursor.at)
        header["request_type"].meaning = self.description.api_name or ""
        self._body(message, "request", kind)

    def _response(self, key: int, version: int) -> None:
        self._name(key)
        header = self._head(wire_0_7.ResponseHeader, "response")
        code = header["error_code"]
        code.meaning = wire_0_7.ERRORS.get(code.value, "not a code of Kafka 0.7")
        message = _RESPONSES.get(key)
        if code.value and not self.cursor.left:
            return
        if message is None:
            raise Damage(errors.UnknownVersionError, f"request type {key} of Kafka 0.7 has no answer", self.cursor.at)
        if key == _MULTI_FETCH:
            self._parts()
        else:
            self._body(message, "response", key)

    def _name(self, kind: int) -> None:
        message = wire_0_7.REQUESTS.get(kind)
        self.description.api_key, self.description.version = kind, None
        self.description.api_name = None if message is None else message.__name__.removesuffix("Request")
        self.description.notes = ["Kafka 0.7"]

    def _head(self, cls: Any, direction: str) -> Field:
        field = self.part("header", f"{cls.__name__} of 0.7")
        Walk(self.cursor, MessageKind(-1, direction, 0, False, "0.7"), self.options, self.description.errors).message(
            cls, field
        )
        return field

    def _body(self, cls: Any, direction: str, kind: int) -> None:
        where = MessageKind(-1, direction, 0, False, "0.7")
        body = self.part("body", f"{cls.__name__} of 0.7")
        Walk(self.cursor, where, self.options, self.description.errors).message(cls, body)

    def _parts(self) -> None:
        """The parts of a MULTIFETCH answer: each ends where its size says, damaged or not."""
        cursor = self.cursor
        body = self.part("body", "MultiFetchResponse of 0.7")
        while cursor.left:
            node = Field(f"parts[{len(body.children)}]", "FetchedPart", cursor.at, cursor.at)
            try:
                size = cursor.integer("int32")
                if not 0 <= size <= cursor.left:
                    text = f"a size of {size} with {cursor.left} bytes left"
                    cursor.at = node.start
                    raise Damage(errors.TruncatedError, text, cursor.at)
            except Damage as damage:
                damage.within(node.name)
                raise
            node.children.append(Field("size", "int32", node.start, cursor.at, size))
            body.children.append(node)
            inside = Cursor(cursor.data, cursor.at, cursor.at + size)
            cursor.at += size
            self._one_part(inside, node)
            node.end = body.end = cursor.at

    def _one_part(self, cursor: Cursor, node: Field) -> None:
        found = self.description.errors
        walk = Walk(cursor, MessageKind(-1, "response", 0, False, "0.7"), self.options, found)
        try:
            walk.message(wire_0_7.FetchedPart, node)
        except Damage as damage:
            damage.within(node.name)
            found.append(close_after(node, cursor, damage))
            return
        code = node["error_code"]
        code.meaning = wire_0_7.ERRORS.get(code.value, "not a code of Kafka 0.7")
