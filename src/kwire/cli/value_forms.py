"""How keys and values are shown, and read back: `--key-as` and `--value-as` of consume and produce.

A form turns bytes into a value of JSON and back, and into text and back. In lines of JSON

  null                 is a null key or value
  {"base64": "AAE="}   is always these bytes, in every form: bytes that do not fit, and JSON values that would be taken
                       for null or for such an object
  anything else        is what the form shows

so that `consume --format json` and `produce --format json` with the same forms are inverses of each other, byte for
byte; but for the form json, which keeps the value, as numbers of Python, and not the blanks between its parts.

bytes      (default) text where it is UTF-8, else {"base64": ...}; where the output is bytes, they are as they are
text       UTF-8, nothing else
hex        digits, two for each byte
base64     RFC 4648
json       a JSON value
uuid       sixteen bytes, 6ba7b810-9dad-11d1-80b4-00c04fd430c8
int8 int16 int32 int64, uint8 uint16 uint32 uint64     integers, big-endian as Kafka's serializers write them
float32 float64                                        "NaN", "Infinity" and "-Infinity" are text in JSON
int32-le ...                                           the same, little-endian
avro protobuf jsonschema                               by the schemas of a registry: `schema_forms.py`

Names and values of headers are of the form `bytes`.
"""

from __future__ import annotations

import json
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn

BASE64: Final = "base64"
_INFINITE = float("inf")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Form(NamedTuple):
    """One way to see bytes. Each function raises ValueError for what is not of this form; its text says why."""

    show: Callable[[bytes], Any]
    """The bytes as a value of JSON."""
    read: Callable[[str], bytes]
    """The bytes that a text stands for, as it is in a line, in an argument or in a cell of a table."""
    show_text: Callable[[bytes], str]
    """The bytes as text, which `read` takes back; but for the base64 that `bytes` shows as its object of JSON."""
    read_json: Callable[[Any], bytes]
    """The bytes that a value of JSON stands for: what `show` has made of them."""
    may_be_headed: bool = False
    """Whether a header of the record may say what the bytes are: `show` then takes Headed ones."""


class Headed(bytes):
    """Bytes whose schema a header of their record names, in place of what else stands in front of them."""

    frame: bytes = b""


def shown(form: Form, data: bytes | None) -> Any:
    """Bytes or nothing as a value of JSON, which `given` takes back."""
    if data is None:
        return None
    made = form.show(data)
    return base64_object(data) if made is None or _is_base64_object(made) else made


def given(form: Form, value: Any) -> bytes | None:
    """The bytes that a value of JSON stands for, or None for null."""
    if value is None:
        return None
    return _from_base64(value[BASE64]) if _is_base64_object(value) else form.read_json(value)


def base64_object(data: bytes) -> dict[str, str]:
    """{"base64": ...}: bytes that no form fits."""
    return {BASE64: b64encode(data).decode()}


def _is_base64_object(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {BASE64} and isinstance(value[BASE64], str)


def _only_text(read: Callable[[str], bytes], value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"a text is expected, not {short_json(value)}")
    return read(value)


def _of_text(show: Callable[[bytes], str], read: Callable[[str], bytes]) -> Form:
    """A form whose values of JSON are texts."""
    return Form(show, read, show, partial(_only_text, read))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        raise ValueError(f"no UTF-8 text: byte {fault.start} is 0x{data[fault.start]:02x}") from None


def _from_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair cannot be written as UTF-8") from None


def _text_or_base64(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64_object(data)


def _text_or_object(data: bytes) -> str:
    found = _text_or_base64(data)
    return found if isinstance(found, str) else json.dumps(found)


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"{_short(text)} is not hex: two digits for each byte") from None


def _to_base64(data: bytes) -> str:
    return b64encode(data).decode()


def _from_base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise ValueError(f"{_short(text)} is not base64") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no value of JSON")


def _finite(text: str) -> float:
    found = float(text)
    if abs(found) == _INFINITE:
        raise ValueError(f"{_short(text)} is too large a number")
    return found


def _bounded_integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{_short(text)} is too large a number") from None


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ASCII_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite, parse_int=_bounded_integer)


def json_text(value: Any) -> str:
    """A value of JSON as text without blanks, which can be written as UTF-8. ValueError where it is nested too deep,
    which may have been read even so."""
    try:
        made = _ENCODER.encode(value)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return made if made.isascii() or not _LONE_SURROGATE.search(made) else _ASCII_ENCODER.encode(value)


def parse_json(text: str) -> Any:
    """The value of a JSON text. NaN and Infinity, which Python takes for JSON, are none."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("no JSON: nested too deep") from None
    except json.JSONDecodeError as fault:
        raise ValueError(f"no JSON: {fault.msg} at character {fault.pos}") from None


def _json(data: bytes) -> Any:
    return parse_json(_text(data))


def _json_text(data: bytes) -> str:
    text = _text(data)
    parse_json(text)
    return text


def _from_json_text(text: str) -> bytes:
    parse_json(text)
    return text.encode()


def _from_json(value: Any) -> bytes:
    return json_text(value).encode()


def _uuid(data: bytes) -> str:
    from uuid import UUID

    _check_size(data, 16)
    return str(UUID(bytes=data))


def _from_uuid(text: str) -> bytes:
    from uuid import UUID

    try:
        return UUID(text).bytes
    except ValueError:
        raise ValueError(f"{_short(text)} is no UUID") from None


def _check_size(data: bytes, size: int) -> None:
    if len(data) != size:
        raise ValueError(f"{len(data)} byte{'' if len(data) == 1 else 's'}, not {size}")


def _integer(layout: struct.Struct) -> Form:
    def show(data: bytes) -> int:
        _check_size(data, layout.size)
        found: int = layout.unpack(data)[0]
        return found

    def pack(value: int) -> bytes:
        try:
            return layout.pack(value)
        except struct.error:
            raise ValueError(f"{value} does not fit into {8 * layout.size} bits") from None

    def read(text: str) -> bytes:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"{_short(text)} is no whole number") from None
        return pack(value)

    def read_json(value: Any) -> bytes:
        if isinstance(value, str):
            return read(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"a whole number is expected, not {short_json(value)}")
        return pack(value)

    return Form(show, read, lambda data: str(show(data)), read_json)


_SPECIAL = {"NaN": float("nan"), "Infinity": _INFINITE, "-Infinity": -_INFINITE}


def _float(layout: struct.Struct) -> Form:
    special = {layout.pack(value): name for name, value in _SPECIAL.items()}

    def show(data: bytes) -> float | str:
        _check_size(data, layout.size)
        found: float = layout.unpack(data)[0]
        if found - found == 0:
            return found
        if data not in special:
            raise ValueError("a NaN of other bits than usual")
        return special[data]

    def pack(value: float) -> bytes:
        try:
            return layout.pack(value)
        except (struct.error, OverflowError):
            raise ValueError(f"{value} does not fit into {8 * layout.size} bits") from None

    def read(text: str) -> bytes:
        try:
            return pack(_SPECIAL[text] if text in _SPECIAL else float(text))
        except (ValueError, OverflowError):
            raise ValueError(f"{_short(text)} is no number of {8 * layout.size} bits") from None

    def read_json(value: Any) -> bytes:
        if isinstance(value, str):
            return read(value)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ValueError(f"a number is expected, not {short_json(value)}")
        return pack(value)

    return Form(show, read, lambda data: str(show(data)), read_json)


def short_json(value: Any) -> str:
    """A value of JSON for an error."""
    text = json_text(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


_INTEGERS = {
    "b": "int8", "h": "int16", "i": "int32", "q": "int64", "B": "uint8", "H": "uint16", "I": "uint32", "Q": "uint64",
}  # fmt: skip
_FLOATS = {"f": "float32", "d": "float64"}


def _numbers() -> dict[str, Form]:
    made: dict[str, Form] = {}
    for order, suffix in ((">", ""), ("<", "-le")):
        for code, name in _INTEGERS.items():
            made[f"{name}{suffix}"] = _integer(struct.Struct(order + code))
        for code, name in _FLOATS.items():
            made[f"{name}{suffix}"] = _float(struct.Struct(order + code))
    del made["int8-le"], made["uint8-le"]
    return made


SCHEMA_FORMS: Final = ("avro", "protobuf", "jsonschema")
BYTES: Final = Form(_text_or_base64, _from_text, _text_or_object, partial(_only_text, _from_text))
FORMS: Final[dict[str, Form]] = {
    "bytes": BYTES,
    "text": _of_text(_text, _from_text),
    "hex": _of_text(bytes.hex, _from_hex),
    "base64": _of_text(_to_base64, _from_base64),
    "json": Form(_json, _from_json_text, _json_text, _from_json),
    "uuid": _of_text(_uuid, _from_uuid),
    **_numbers(),
}
