"""Checks on a description: each byte lies in one leaf, and the values are those that decoding returns."""

from __future__ import annotations

from typing import Any

from kwire import protocol
from kwire.schema.describing.tree import Field
from kwire.schema.messages import Message

_MAKES_NO_VALUE = {"count", "present", "length", "tagged fields"}


def assert_every_byte_is_in_one_leaf(description: protocol.Description, size: int) -> None:
    at = 0
    for leaf in description.leaves():
        assert leaf.start == at, f"{leaf} does not begin where the leaf before it ends ({at})"
        assert leaf.end >= leaf.start, leaf
        at = leaf.end
    assert at == size
    _assert_parts_fill(description.root)


def _assert_parts_fill(field: Field) -> None:
    if field.children:
        assert (field.children[0].start, field.children[-1].end) == (field.start, field.end), field
    for part in field.children:
        _assert_parts_fill(part)


def plain_message(cls: type[Message], body: Field, data: bytes) -> dict[str, Any]:
    """The values of a described body as `to_dict` of the decoded message has them."""
    return _plain_struct(cls, body, data)


def _plain_struct(cls: Any, field: Field, data: bytes) -> dict[str, Any]:
    found = cls().to_dict()
    known = {specifier.name: specifier for specifier in cls.__fields__}
    parts = list(field.children)
    unknown: dict[int, bytes] = {}
    if parts and parts[-1].name == "tagged fields":
        for tagged in parts.pop().children[1:]:
            if tagged.meaning == "not known to kwire":
                unknown[tagged["tag"].value] = b"" if tagged.find("value") is None else tagged["value"].value
            else:
                parts.append(tagged.children[-1])
    for part in parts:
        if part.name in known:
            found[part.name] = _plain_value(known[part.name], part, data)
        else:
            assert part.name in _MAKES_NO_VALUE, part
    if unknown:
        found["unknown_tagged_fields"] = unknown
    return found


def _plain_value(specifier: Any, part: Field, data: bytes) -> Any:
    if specifier.kind == "records" and part.children:
        return data[part.children[0].end : part.end]
    if specifier.kind == "struct":
        return _plain_struct(specifier.struct, part, data) if part.children else _none(part)
    if specifier.kind != "array":
        return part.value
    if not part.children:
        return _none(part) if part.value is None else list(part.value or ())
    elements = part.children[1:]
    if specifier.struct is None:
        return [element.value for element in elements]
    return [_plain_struct(specifier.struct, element, data) for element in elements]


def _none(part: Field) -> None:
    assert part.meaning in ("null", ""), part
