"""JSON objects to rows of declared types, in plain Python on the standard library's parser: the codec must agree.

A schema is {name: type}; a type is a Spark type's name, ("decimal", precision, scale), ["array", type],
{"map": type} or a schema. Returns rows of Python values, or raises Bad. Strings in single quotes, which the standard
library does not know, are not JSON here.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "+INF": math.inf, "-Infinity": -math.inf,
          "-INF": -math.inf}  # fmt: skip
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_TIME = re.compile(r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?")
_ZONE = re.compile(r" *(?:(Z)|(?:UTC|GMT|UT)?(?:([+-])(?:([0-9]{1,2})(?::([0-9]{1,2}))?|([0-9]{2})([0-9]{2}))))")
_NUMBER = re.compile(r"[+-]?(?:[0-9,]*\.?[0-9,]*)(?:[eE][+-]?[0-9]+)?")


class Bad(Exception):  # noqa: N818 - it is a verdict
    """The value is not such an object."""


class Number(str):
    """A number as it is written."""


def decode(value: bytes, schema: dict[str, Any]) -> dict[str, Any]:
    try:
        parsed = json.loads(value.decode(), parse_int=Number, parse_float=Number, parse_constant=Number)
    except (ValueError, RecursionError):
        raise Bad from None
    if not isinstance(parsed, dict):
        raise Bad
    return {name: _convert(parsed.get(name), kind) for name, kind in schema.items()}


def _convert(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, list):
        return [_convert(item, kind[1]) for item in _expect(value, list)]
    if isinstance(kind, dict) and set(kind) == {"map"}:
        return [(whole(name), _convert(item, kind["map"])) for name, item in _expect(value, dict).items()]
    if isinstance(kind, dict):
        fields = _expect(value, dict)
        return {name: _convert(fields.get(name), inner) for name, inner in kind.items()}
    if isinstance(kind, tuple):
        return _decimal(_expect(value, str), *kind[1:])
    return _LEAVES[kind](value)


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise Bad
    return value


def _integer(kind: str) -> Any:
    def convert(value: Any) -> int:
        if not isinstance(_expect(value, Number), Number) or not re.fullmatch(r"-?[0-9]+", value):
            raise Bad
        return _within(int(value), _BITS[kind])

    return convert


def _within(number: int, bits: int) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise Bad
    return number


def _double(value: Any) -> float:
    if _expect(value, str) in _WORDS:
        return _WORDS[value]
    return float(_expect(value, Number))


def _boolean(value: Any) -> bool:
    return bool(_expect(value, bool))


def whole(text: str) -> str:
    """Halves of surrogate pairs, which UTF-8 does not have, replaced."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _string(value: Any) -> Any:
    """A string; or the JSON that the text in the column must stand for."""
    return whole(value) if isinstance(value, str) and not isinstance(value, Number) else json.loads(written(value))


def written(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name)}:{written(item)}' for name, item in value.items())}}}"
    return json.dumps(value)


def _plain_text(value: Any) -> str:
    if isinstance(_expect(value, str), Number) or not value:
        raise Bad
    return str(value)


def _decimal(value: str, precision: int, scale: int) -> Decimal:
    text = value.replace(",", "")
    if not _NUMBER.fullmatch(value) or not re.search("[0-9]", value.lower().partition("e")[0]):
        raise Bad
    context = Context(prec=2000, rounding=ROUND_HALF_UP, Emax=10**9, Emin=-(10**9))
    try:
        number = Decimal(text)
        if number and number.adjusted() > 50:
            raise Bad
        rounded = number.quantize(Decimal(1).scaleb(-scale), context=context) if number.adjusted() > -60 else Decimal(0)
    except InvalidOperation:
        raise Bad from None
    if abs(rounded) >= Decimal(10) ** (precision - scale):
        raise Bad
    return rounded if rounded else abs(rounded)


def _binary(value: Any) -> bytes:
    if isinstance(_expect(value, str), Number):
        raise Bad
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise Bad from None
    if base64.b64encode(decoded).decode() != value:
        raise Bad
    return decoded


def _parts(text: str) -> tuple[date, int, str]:
    text = text.strip("".join(map(chr, range(33))))
    found = _DATE.match(text)
    if found is None:
        raise Bad
    try:
        day = date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        raise Bad from None
    return day, sum(part is not None for part in found.groups()), text[found.end() :]


def _date(value: Any) -> date:
    day, parts, rest = _parts(_plain_text(value))
    if rest and (parts < 3 or rest[0] not in " T"):
        raise Bad
    return day


def _timestamp(value: Any) -> datetime:
    if isinstance(value, Number):
        if not re.fullmatch("-?[0-9]+", value) or abs(int(value)) > 1 << 40:
            raise Bad
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=int(value))  # noqa: UP017
    local, zone = _local(_plain_text(value))
    try:
        return local.replace(tzinfo=timezone.utc) - (zone or timedelta())  # noqa: UP017
    except OverflowError:
        raise Bad from None


def _timestamp_ntz(value: Any) -> datetime:
    local, zone = _local(_plain_text(value))
    if zone is not None:
        raise Bad
    return local


def _local(text: str) -> tuple[datetime, timedelta | None]:
    day, parts, rest = _parts(text)
    start = datetime(day.year, day.month, day.day)
    if not rest:
        return start, None
    found = _TIME.match(rest, 1)
    if parts < 3 or rest[0] not in " T" or found is None:
        raise Bad
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise Bad
    micros = int(((found[4] or "") + "000000")[:6])
    start = start.replace(hour=hour, minute=minute, second=second, microsecond=micros)
    after = rest[found.end() :]
    if not after:
        return start, None
    if found[3] is None:
        raise Bad
    return start, _zone(after)


def _zone(text: str) -> timedelta:
    if text.lstrip(" ") in ("UTC", "GMT", "UT"):
        return timedelta()
    found = _ZONE.fullmatch(text)
    if found is None:
        raise Bad
    hours, minutes = int(found[3] or found[5] or 0), int(found[4] or found[6] or 0)
    east = timedelta(hours=hours, minutes=minutes)
    if minutes > 59 or east > timedelta(hours=18):
        raise Bad
    return -east if found[2] == "-" else east


_LEAVES: dict[str, Any] = {
    **{kind: _integer(kind) for kind in _BITS},
    "boolean": _boolean,
    "double": _double,
    "string": _string,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
}
