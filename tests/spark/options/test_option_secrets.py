"""Options that cannot be meant, with passwords and keys among them: no frame of the error shows one. No Spark runs."""

from __future__ import annotations

import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from kwire.errors import ConfigError
from kwire.spark.data_source import KwireDataSource
from kwire.spark.log_source import KwireLogDataSource
from tests.certificates import Authority
from tests.each import each

HUSH = "hush-5f1c"
ALICE = Authority().issue("alice", hosts=())
SCHEMA = StructType([StructField("value", StringType())])
JAAS = "x.PlainLoginModule required"
BASE = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "topic", "topic": "topic"}
SASL = {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "PLAIN", "kafka.sasl.username": "alice"}

FAULTS: dict[str, dict[str, str]] = {
    "an unknown property": {**SASL, "kafka.sasl.password": HUSH, "kafka.linger.mx": "1"},
    "a misspelt property": {**SASL, "kafka.sasl.pasword": HUSH},
    "an unknown option": {**SASL, "kafka.sasl.password": HUSH, "colour": "red"},
    "a conflict": {"kafka.sasl.password": HUSH},
    "a property without its prefix": {"sasl.password": HUSH},
    "a user in the address": {"kafka.bootstrap.servers": f"alice:{HUSH}@broker:9092"},
    "a user in an address without a port": {"kafka.bootstrap.servers": f"alice:{HUSH}@broker"},
    "a JAAS text that cannot be read": {**SASL, "kafka.sasl.jaas.config": f'{JAAS} password="{HUSH}" {HUSH};'},
    "a key without a certificate": {"kafka.security.protocol": "SSL", "kafka.ssl.keystore.key": ALICE.key_pem},
    "a key that is none": {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.keystore.certificate.chain": ALICE.pem,
        "kafka.ssl.keystore.key": HUSH,
        "kafka.linger.mx": "1",
    },
    "a registry without a schema": {"decoder": "avro", "decoder.registry": f"http://me:{HUSH}@127.0.0.1:1"},
    "a registry's password": {
        "decoder": "avro",
        "decoder.schema": '"int',
        "decoder.registry": "http://127.0.0.1:1",
        "decoder.registry.user": "me",
        "decoder.registry.password": HUSH,
    },
    "a registry whose URL is none": {"decoder": "avro", "decoder.registry": f"htp://me:{HUSH}@127.0.0.1:1"},
}
CALLS: dict[str, Callable[[Any], object]] = {
    "schema": lambda source: source.schema(),
    "reader": lambda source: source.reader(SCHEMA),
    "streamReader": lambda source: source.streamReader(SCHEMA),
    "writer": lambda source: source.writer(SCHEMA, False),
    "streamWriter": lambda source: source.streamWriter(SCHEMA, False),
}


def shown_by(error: BaseException) -> Iterator[str]:
    yield from (str(error), repr(error), repr(vars(error)), repr(pickle.loads(pickle.dumps(error))))
    link: BaseException | None = error
    while link is not None:
        for frame, _ in traceback.walk_tb(link.__traceback__):
            if frame.f_code.co_filename != __file__:
                yield from (f"{name}={value!r}" for name, value in frame.f_locals.items())
        link = link.__cause__ or link.__context__


def assert_none_in(texts: list[str]) -> None:
    secrets = (HUSH, *ALICE.key_pem.splitlines()[1:3])
    assert [text for text in texts for secret in secrets if secret in text] == []


@pytest.mark.parametrize("call", CALLS)
@each("fault", FAULTS)
def test_no_frame_shows_a_secret(fault: str, call: str, caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = CALLS[call](KwireDataSource({**BASE, **FAULTS[fault]}))
            shown.append(repr(made) + repr(vars(made)) if hasattr(made, "__dict__") else repr(made))
        except ConfigError as error:
            shown += shown_by(error)
    assert_none_in([*shown, caplog.text])


def test_each_fault_is_one() -> None:
    for fault in FAULTS.values():
        with pytest.raises(ConfigError):
            KwireDataSource({**BASE, **fault}).reader(SCHEMA)


def test_segments_show_no_secret_either() -> None:
    given = {"path": "/nowhere", "decoder": "avro", "decoder.registry": f"htp://me:{HUSH}@127.0.0.1:1"}
    with pytest.raises(ConfigError) as caught:
        KwireLogDataSource(given).schema()
    assert_none_in(list(shown_by(caught.value)))
