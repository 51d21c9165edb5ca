"""Texts that users and other programs write: properties, JAAS, checkpoints, answers of a registry, of a token endpoint.

properties      Java properties, as `kwire --config` reads them, and clients' settings out of them
jaas            sasl.jaas.config
answers         JSON of a schema registry
format-strings  what `kwire consume --format` takes
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from kwire import errors, records
from kwire.cli import format_strings as formats
from kwire.cli.properties import parse_properties
from kwire.cli.record_columns import Look
from kwire.cli.usage import UsageError
from kwire.engine.settings import jaas as jaas_texts
from kwire.engine.settings.clients import ConsumerSettings
from kwire.engine.settings.config import from_config
from kwire.registry import answers
from tests.fuzz.targets import target

_RECORDS = records.decode(records.encode([(b"v%", b"k", 5, [("h", b"x")]), (None, None, None, [])]))
_PLAIN = b'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p\\"x";'
MEMORY = (4 << 20, 16 << 10)


def _property_seeds() -> Iterator[bytes]:
    yield b"bootstrap.servers=a:9092,b\nsecurity.protocol = SASL_SSL\r\n# no\n! no\nsasl.mechanism:PLAIN\n"
    yield b"a\\ b\\=c = d\\u00e9\\\n   more\\t\\\\\nkey\n=no\n\\uD83D\\uDE00=x\n\\uD83D=y"
    yield b"sasl.jaas.config=" + _PLAIN


@target(seeds=_property_seeds, traced="cli/properties", max_len=400, budget=MEMORY, share=0.5,
        words=(b"\\u00e9", b"\\\n", b"\\u", b"bootstrap.servers=", b"sasl.jaas.config="))  # fmt: skip
def properties(data: bytes) -> None:
    """Java properties, and the settings of a consumer that they make"""
    with contextlib.suppress(errors.ConfigError):
        found = parse_properties(data.decode("utf-8", "replace"), "file")
        given = {name: each.value for name, each in found.items()}
        from_config(ConsumerSettings, {"bootstrap.servers": "127.0.0.1:1", **given})


def _jaas_seeds() -> Iterator[bytes]:
    yield _PLAIN.replace(b"plain.Plain", b"scram.Scram").replace(b";", b" tokenauth=true;")
    yield b"a.oauthbearer.OAuthBearerLoginModule REQUIRED unsecuredLoginStringClaim_sub='u';"
    yield b"/* c */ a.b.PlainLoginModule required // c\n username=u password=7 ;"
    yield b'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="p";'


@target(seeds=_jaas_seeds, traced="engine/settings", max_len=400, budget=MEMORY, share=0.5,
        words=(b"required", b"LoginModule", b"username=", b'"', b"/*", b"*/", b"//", b"\\u0041"))  # fmt: skip
def jaas(data: bytes) -> None:
    """sasl.jaas.config: parsed, and made settings"""
    with contextlib.suppress(jaas_texts.JaasError):
        module = jaas_texts.parse(data.decode("utf-8", "replace"))
        with contextlib.suppress(ValueError):
            jaas_texts.settings_of(module)
    refusals: list[str] = []
    jaas_texts.without_jaas({"sasl_jaas_config": data.decode("utf-8", "replace")}, refusals)


def _answer_seeds() -> Iterator[bytes]:
    schema = {"schema": '"int"', "schemaType": "AVRO", "references": [{"name": "n", "subject": "s", "version": 1}]}
    yield json.dumps(schema).encode()
    yield json.dumps({**schema, "id": 7, "version": 2, "subject": "s", "guid": "x", "ruleSet": {}}).encode()


@target(seeds=_answer_seeds, traced="registry", max_len=400, budget=MEMORY, share=0.5,
        words=(b'"schema":', b'"references":', b"1e999", b"null", b'"version":'))  # fmt: skip
def registry_answers(data: bytes) -> None:
    """what a schema registry answers"""
    try:
        answer: Any = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(answer, dict):
        return  # the asking refuses those
    with contextlib.suppress(errors.KafkaError):
        schema = answers.schema_of(answer, "schema 7", "http://r")
        answers.registered(answer, "s", schema, "schema 7", "http://r")
        json.dumps(answers.body_of(schema))


@target(seeds=lambda: [b"%t %p %o %k %s\\n", b"%h %T{%Y} %S %K\\x41 %%", b"{value.a.b} {key}"],
        traced="cli/format_strings", max_len=100, budget=MEMORY, share=0.3)  # fmt: skip
def format_strings(data: bytes) -> None:
    """the format strings of kwire consume"""
    with contextlib.suppress(UsageError):
        formats.compiled(data.decode("utf-8", "replace"), Look())("t%", 3, _RECORDS)
