"""Spark's schema texts without a JVM: DDL (`id BIGINT, tags ARRAY<STRING>`) to Spark types, and back.

PySpark asks the JVM to read DDL, and neither the process that makes a data source nor a worker has one. Every column
and nested field is nullable here, whatever the text says: decoded records may lack any of them. No Spark session, no
Arrow; only PySpark's type classes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from kwire.columns.layout import name_given_twice
from kwire.errors import ConfigError

_PRIMITIVES: Final[dict[str, type[DataType]]] = {
    "boolean": BooleanType,
    "tinyint": ByteType,
    "byte": ByteType,
    "smallint": ShortType,
    "short": ShortType,
    "int": IntegerType,
    "integer": IntegerType,
    "bigint": LongType,
    "long": LongType,
    "float": FloatType,
    "real": FloatType,
    "double": DoubleType,
    "string": StringType,
    "binary": BinaryType,
    "date": DateType,
    "timestamp": TimestampType,
    "timestamp_ltz": TimestampType,
    "timestamp_ntz": TimestampNTZType,
    "void": NullType,
}
_DECIMALS: Final = ("decimal", "dec", "numeric")
_NESTED: Final = ("array", "map", "struct")
_TYPES: Final = (*_PRIMITIVES, *_DECIMALS, "interval", *_NESTED)
_MAX_PRECISION: Final = 38
_MAX_DEPTH: Final = 32
_MAX_DIGITS: Final = 9
_TOKENS: Final = re.compile(r"\s+|(`(?:[^`]|``)+`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\w+|[<>(),:])")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def parse_schema(text: str) -> StructType:
    """The columns that `text` declares: DDL, `STRUCT<...>`, or the JSON of a StructType. ConfigError otherwise."""
    if text.lstrip().startswith("{"):
        return _parse_json(text)
    if text.lstrip().startswith("StructType("):
        raise ConfigError("this is a StructType as Python shows it; give its JSON, schema.json()")
    parser = _Parser(text)
    is_struct = parser.ahead(2) == ["struct", "<"]
    schema = parser.data_type() if is_struct else StructType(list(parser.fields(end=None)))
    parser.expect_end()
    _check_fields(schema)
    return schema


def ddl(schema: StructType) -> str:
    """The columns as Spark reads them from text."""
    return ", ".join(f"{_quoted(each.name)} {type_text(each.dataType)}" for each in schema.fields)


def type_text(of: DataType) -> str:
    """One type as Spark reads it from text, names quoted where they have to be."""
    if isinstance(of, StructType):
        return f"STRUCT<{', '.join(f'{_quoted(each.name)}: {type_text(each.dataType)}' for each in of.fields)}>"
    if isinstance(of, ArrayType):
        return f"ARRAY<{type_text(of.elementType)}>"
    if isinstance(of, MapType):
        return f"MAP<{type_text(of.keyType)}, {type_text(of.valueType)}>"
    return str(of.simpleString()).upper()


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


class _Parser:
    """One pass over the tokens of a text, by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def ahead(self, count: int) -> list[str]:
        return [token.lower() for token in self._tokens[self._at : self._at + count]]

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            raise self._error("the end")

    def fields(self, end: str | None) -> Iterator[StructField]:
        if self.ahead(1) == [end]:
            return
        while True:
            name = self._name()
            self._accept(":")
            kind = self.data_type()
            if self.ahead(2) == ["not", "null"]:
                self._at += 2
            self._pass_comment()
            yield StructField(name, kind, True)
            if not self._accept(","):
                return

    def data_type(self) -> DataType:
        name = "".join(self.ahead(1))
        if name not in _TYPES:
            raise self._error(f"a type ({', '.join(_TYPES)})")
        self._at += 1
        if name in _DECIMALS:
            return self._decimal()
        if name == "interval":
            return self._interval()
        return self._nested(name) if name in _NESTED else _PRIMITIVES[name]()

    def _nested(self, name: str) -> DataType:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ConfigError(f"types are nested more than {_MAX_DEPTH} deep")
        self._expect("<")
        made: DataType
        if name == "array":
            made = ArrayType(self.data_type())
        elif name == "map":
            key = self.data_type()
            self._expect(",")
            made = MapType(key, self.data_type())
        else:
            made = StructType(list(self.fields(end=">")))
        self._expect(">")
        self._depth -= 1
        return made

    def _decimal(self) -> DecimalType:
        precision, scale = 10, 0
        if self._accept("("):
            precision = self._number()
            scale = self._number() if self._accept(",") else 0
            self._expect(")")
        if not 1 <= precision <= _MAX_PRECISION or not 0 <= scale <= precision:
            raise ConfigError(
                f"decimal({precision},{scale}): the precision is 1 to {_MAX_PRECISION}, the scale 0 to the precision"
            )
        return DecimalType(precision, scale)

    def _interval(self) -> DayTimeIntervalType:
        for word in ("day", "to", "second"):
            if self.ahead(1) != [word]:
                raise self._error("'day to second'")
            self._at += 1
        return DayTimeIntervalType()

    def _pass_comment(self) -> None:
        if self.ahead(1) == ["comment"] and "".join(self.ahead(2)[1:])[:1] in ("'", '"'):
            self._at += 2

    def _name(self, wanted: str = "a column name") -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        if token.startswith("`"):
            self._at += 1
            return token[1:-1].replace("``", "`")
        if not token or not (token[0].isalnum() or token[0] == "_"):
            raise self._error(wanted)
        self._at += 1
        return token

    def _number(self) -> int:
        token = self._name("a number")
        if not token.isdecimal() or len(token) > _MAX_DIGITS:
            self._at -= 1
            raise self._error("a number")
        return int(token)

    def _accept(self, token: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += found
        return found

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise self._error(f"'{token}'")

    def _error(self, wanted: str) -> ConfigError:
        found = f"'{self._tokens[self._at]}'" if self._at < len(self._tokens) else "the end"
        before = " ".join(self._tokens[max(self._at - 3, 0) : self._at])
        place = f" after '{before}'" if before else ""
        return ConfigError(f"expected {wanted}{place}, got {found}")


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKENS.match(text, at)
        if found is None:
            raise ConfigError(f"unexpected '{text[at]}' at position {at} of '{text}'")
        if found[1]:
            yield found[1]
        at = found.end()


def _parse_json(text: str) -> StructType:
    try:
        schema = StructType.fromJson(json.loads(text))
    except Exception as fault:
        raise ConfigError(f"not the JSON of a StructType: {fault}") from None
    _check_fields(schema)
    return parse_schema(ddl(schema))


def _check_fields(schema: DataType) -> None:
    """Refuses what no record can fill: a schema or struct without fields, and a name that a struct has twice."""
    if isinstance(schema, StructType):
        names = schema.fieldNames()
        if not names:
            raise ConfigError("a schema without fields")
        twice = name_given_twice(sorted(names))
        if twice is not None:
            raise ConfigError(f"the name {twice} appears twice")
        for each in schema.fields:
            _check_fields(each.dataType)
    elif isinstance(schema, ArrayType):
        _check_fields(schema.elementType)
    elif isinstance(schema, MapType):
        _check_fields(schema.keyType)
        _check_fields(schema.valueType)
