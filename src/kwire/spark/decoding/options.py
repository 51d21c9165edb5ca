"""The options `decoder`, `decoder.…`, `keyDecoder` and `keyDecoder.…`: their names, and the `Decoding` they make.

What a format understands beside `schema`, `mode` and `prefix` stands in its module in `decoders/`, which is imported
when an option names it. No Arrow, no Spark session; reads the file that a schema option names, nothing else.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import StructType

from kwire.errors import ConfigError
from kwire.spark.decoding.contract import MODES, ColumnDecoder, Format, Mode
from kwire.spark.decoding.ddl import parse_schema
from kwire.spark.decoding.decoding import Decoding

if TYPE_CHECKING:
    from kwire.spark.options.given import GivenOptions

_BARE_FILE: Final = re.compile(r"[\w./-]+\.(avsc|json|ddl|sql|txt|desc|pb|bin|protoset)")
_ROLES: Final = {"key": "keyDecoder", "value": "decoder"}
_FORMATS: Final = ("json", "csv", "avro", "protobuf")
# In the order of the documentation: for all formats, then for some.
_SUFFIXES: Final = (
    "schema",
    "mode",
    "prefix",
    "columns",
    "timeZone",
    "sep",
    "quote",
    "escape",
    "nullValue",
    "writerSchema",
    "messageName",
    "framing",
    "emit.default.values",
    "enums.as.ints",
    "upcast.unsigned.ints",
    "unwrap.primitive.wrapper.types",
    "registry",
    "registry.subject",
    "registry.user",
    "registry.password",
    "registry.token",
    "registry.caFile",
    "registry.certFile",
    "registry.keyFile",
)
NAMES: Final = frozenset(
    name for role in _ROLES.values() for name in (role, *(f"{role}.{suffix}" for suffix in _SUFFIXES))
)


@dataclass(frozen=True)
class DecoderSettings:
    """The options of one decoder: `role` is `decoder` or `keyDecoder`, `column` the raw column that it decodes."""

    given: GivenOptions
    role: str
    column: str

    def option(self, suffix: str) -> str:
        """The full name of an option, as documented."""
        return f"{self.role}.{suffix}"

    def text(self, suffix: str, default: str | None = None) -> str | None:
        return self.given.text(self.option(suffix), default)

    def raw(self, suffix: str) -> str | None:
        """The option as it was given, with the blanks around it."""
        return self.given.raw(self.option(suffix))

    def required(self, suffix: str, what: str) -> str:
        """The option's text; ConfigError, which says that it is to be `what`, when it is not there."""
        text = self.text(suffix)
        if not text:
            raise ConfigError(f"{self.role}: the option {self.option(suffix)} must be given: {what}")
        return text

    def content(self, suffix: str, what: str) -> bytes:
        """The option's text, or the bytes of the file that it names: `/path`, `./path`, `../path` or `file:/path`."""
        text = self.required(suffix, what)
        if not text.startswith(("/", "./", "../", "file:")):
            if _BARE_FILE.fullmatch(text):
                raise ConfigError(
                    f"{self.option(suffix)}: is '{text}' a file? Then give its path, './{text}' or '/...'"
                )
            return text.encode()
        path = Path(text.removeprefix("file://").removeprefix("file:"))
        try:
            return path.read_bytes()
        except OSError as fault:
            raise ConfigError(f"{self.option(suffix)}: cannot read {path}: {fault.strerror}") from None

    def ddl_schema(self) -> StructType:
        """`schema` as the columns that its DDL declares."""
        content = self.content("schema", "the columns, e.g. 'id BIGINT, name STRING'")
        try:
            return parse_schema(content.decode())
        except (ConfigError, UnicodeDecodeError) as fault:
            raise ConfigError(f"{self.option('schema')}: {fault}") from None

    def check_suffixes(self, known: Sequence[str]) -> None:
        """Refuses options of other formats."""
        for suffix in _SUFFIXES:
            if self.option(suffix) in self.given and suffix not in (*known, "mode", "prefix"):
                raise ConfigError(f"{self.option(suffix)} has no meaning with {self.role}={self.given.text(self.role)}")


def parse_decoding(given: GivenOptions) -> Decoding:
    """The decoders that the options ask for. ConfigError names the option at fault."""
    return Decoding(**{column: _column_decoder(given, role, column) for column, role in _ROLES.items()})


def _column_decoder(given: GivenOptions, role: str, column: str) -> ColumnDecoder | None:
    settings = DecoderSettings(given, role, column)
    name = given.text(role)
    if name is None:
        _check_no_settings(settings)
        return None
    found: Format = importlib.import_module(_module_of(role, name)).parse(settings)
    mode: Mode = next(each for each in MODES if each == given.choice(f"{role}.mode", MODES, "fail"))
    return ColumnDecoder(role, column, found, mode, settings.text("prefix", "") or "")


def _module_of(role: str, name: str) -> str:
    if ":" in name:
        return "kwire.spark.decoding.decoders.callable"
    if name.lower() in _FORMATS:
        return f"kwire.spark.decoding.decoders.{name.lower()}"
    raise ConfigError(f"{role}: expected {', '.join(_FORMATS)} or package:function, got '{name}'")


def _check_no_settings(settings: DecoderSettings) -> None:
    for suffix in _SUFFIXES:
        if settings.option(suffix) in settings.given:
            raise ConfigError(f"{settings.option(suffix)} is given without {settings.role}")
