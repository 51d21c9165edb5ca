"""One frame, field by field: size, header, body, and what is left after them.

    size int32 (not counting itself), header, body
Which header stands before which message: `kwire.schema.headers`. An ApiVersions answer with error 35 has a body of
version 0 whatever was asked (KIP-511).
"""

from __future__ import annotations

from typing import Any

from kwire import errors
from kwire.schema.api_keys import API_VERSIONS
from kwire.schema.describing.cursor import Cursor, Damage
from kwire.schema.describing.sasl_tokens import looks_like_token
from kwire.schema.describing.shared import Options, close_after
from kwire.schema.describing.tree import Description, Field
from kwire.schema.describing.walk import MessageKind, Walk
from kwire.schema.error_codes import UNSUPPORTED_VERSION
from kwire.schema.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from kwire.schema.registry import APIS, Api

__all__ = ["FrameWalk"]


def _api_of(key: int | None) -> Api | None:
    return APIS[key] if key is not None and key in APIS else None


class FrameWalk:
    """The current frame. Damage that ends the walk becomes the last leaf."""

    def __init__(self, view: memoryview, direction: str, options: Options) -> None:
        self.root = Field("frame", "frame", 0, len(view))
        self.cursor = Cursor(view)
        self.direction = direction
        self.options = options
        self.description = Description(self.root, direction)

    def request(self) -> Description:
        try:
            self.size()
            self._request()
            self.end()
        except Damage as damage:
            self.broken(damage)
        return self.description

    def response(self, api_key: int, version: int) -> Description:
        made = self.description
        made.api_key, made.version = api_key, version
        api = _api_of(api_key)
        made.api_name = None if api is None else api.name
        try:
            self.size()
            self._response(api_key, version)
            self.end()
        except Damage as damage:
            self.broken(damage)
        return made

    def broken(self, damage: Damage) -> None:
        self.description.errors.append(close_after(self.root, self.cursor, damage))
        try:
            self._behind()
        except Damage as more:
            self.description.errors.append(close_after(self.root, self.cursor, more))

    def size(self) -> None:
        """The size field; the frame ends where it says, or with the bytes."""
        cursor = self.cursor
        try:
            stated = cursor.integer("int32")
        except Damage as damage:
            damage.within("size")
            raise
        field = Field("size", "int32", 0, cursor.at, stated, f"{stated} bytes follow")
        self.root.children.append(field)
        present = cursor.left
        if stated < 0:
            field.meaning = "no frame has a size below 0"
            cursor.at = 0
            self.root.children.clear()
            raise Damage(errors.InvalidLengthError, f"a frame size of {stated}", 0)
        if stated > present:
            field.meaning = f"{stated} bytes should follow, {present} are here"
            field.error = errors.TruncatedError(f"the frame is cut off: {field.meaning}", "size", 0)
            self.description.errors.append(field.error)
        else:
            cursor.end = cursor.at + stated

    def end(self) -> None:
        """Describes what is left over, within the frame and after it."""
        cursor = self.cursor
        if cursor.left:
            raise Damage(errors.InvalidLengthError, "bytes left over after the last field", cursor.at)
        self._behind()

    def _behind(self) -> None:
        cursor = self.cursor
        if cursor.end < len(cursor.data):
            cursor.end = len(cursor.data)
            raise Damage(errors.InvalidLengthError, "bytes after the frame; is this more than one?", cursor.at)

    def walk(self, where: MessageKind) -> Walk:
        return Walk(self.cursor, where, self.options, self.description.errors)

    def part(self, name: str, kind: str) -> Field:
        field = Field(name, kind, self.cursor.at, self.cursor.at)
        self.root.children.append(field)
        return field

    def _request(self) -> None:
        made, cursor = self.description, self.cursor
        peek = Cursor(cursor.data, cursor.at, cursor.end)
        key = version = None
        if peek.left >= 4:
            key, version = peek.integer("int16"), peek.integer("int16")
        api = _api_of(key)
        known = api is not None and version in api.versions
        if not known and looks_like_token(bytes(cursor.data[cursor.at : cursor.end])):
            self._token()
            return
        made.api_key, made.version, made.api_name = key, version, api.name if api else None
        if api is not None and version is not None and known:
            header_version = request_header_version(api.key, version, api.flexible)
        else:
            header_version = 0 if (key, version) == (7, 0) else 1
        self._header(RequestHeader, header_version)
        if api is None or version is None or not known:
            raise self._unknown(key, version)
        body = self.part("body", f"{api.name}Request v{version}")
        self.walk(MessageKind(api.key, "request", version, api.flexible.has(version))).message(api.request, body)

    def _token(self) -> None:
        """The whole content as one field: a token of SASL that has no header."""
        field = self.part("token", "bytes")
        content = bytes(self.cursor.span(self.cursor.left))
        field.end, field.meaning = self.cursor.at, "a SASL token without a header"
        field.secret = not self.options.secrets
        field.value = None if field.secret else content
        self.description.api_name = "SASL token"

    def _unknown(self, key: int | None, version: int | None) -> Damage:
        if key is None or key not in APIS:
            return Damage(errors.UnknownVersionError, f"no API {key} is known to kwire", self.cursor.at)
        versions = APIS[key].versions
        text = f"{APIS[key].name} has no version {version}; kwire knows {versions[0]} to {versions[-1]}"
        return Damage(errors.UnknownVersionError, text, self.cursor.at)

    def _header(self, cls: Any, version: int) -> None:
        field = self.part("header", f"{cls.__name__} v{version}")
        flexible = cls.__flexible__.has(version)
        key = -1 if self.description.api_key is None else self.description.api_key
        try:
            self.walk(MessageKind(key, "header", version, flexible)).message(cls, field)
        finally:
            made = self.description
            correlation, client = field.find("correlation_id"), field.find("client_id")
            made.correlation_id = None if correlation is None else correlation.value
            made.client_id = None if client is None else client.value

    def _response(self, key: int, version: int) -> None:
        api = _api_of(key)
        if api is None or version not in api.versions:
            self._header(ResponseHeader, 0)
            raise self._unknown(key, version)
        self._header(ResponseHeader, response_header_version(key, version, api.flexible))
        body_at = self.cursor.at
        refused = key == API_VERSIONS and bytes(
            self.cursor.data[body_at : min(body_at + 2, self.cursor.end)]
        ) == UNSUPPORTED_VERSION.to_bytes(2, "big")
        if refused and version != 0:
            self.description.notes.append(f"error 35: the body is of version 0, not of version {version} as asked")
            version = self.description.version = 0
        body = self.part("body", f"{api.name}Response v{version}")
        self.walk(MessageKind(key, "response", version, api.flexible.has(version))).message(api.response, body)
