"""`kwire migrate-check`: what it finds in programs and settings of other clients, and what it says of that."""

from __future__ import annotations

import json
from inspect import getmembers, signature
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.cli.migrating import peers
from kwire.cli.migrating.judging import NOT_THERE, judge_method, judge_setting
from kwire.cli.migrating.peers import AIOKAFKA, CONFLUENT, DIFFERENT, Made
from kwire.engine.common import absent
from tests.cli.conftest import Kwire

OF_CONFLUENT = """\
import confluent_kafka as ck
from confluent_kafka import Consumer

settings = {"bootstrap.servers": "b", "linger.ms": 3, "stats_cb": print, "acks": "7", "debug": "all"}
producer = ck.Producer(settings)
producer.produce("orders", b"x", on_delivery=print)
producer.poll(0)


class Reader:
    def __init__(self, more):
        self.consumer = Consumer({**more, "group.id": "g"})

    def read(self):
        self.consumer.subscribe(["orders"], on_assign=print)
        message = self.consumer.poll(1.0)
        if message.error():
            return
"""
OF_THE_OTHERS = """\
from aiokafka import AIOKafkaConsumer
from kafka import KafkaProducer
from kafka.errors import NoBrokersAvailable


async def read(other):
    async with AIOKafkaConsumer("orders", bootstrap_servers="b") as consumer:
        await consumer.getmany(timeout_ms=100)
    other.getmany()


def write(producer: KafkaProducer):
    producer.send("orders", b"x").get(timeout=3)


KafkaProducer(compression_type="gzip", interceptor_classes=[print])
"""


def found(kwire: Kwire, path: Path, text: str, *options: str) -> dict[tuple[int, str], tuple[str, str]]:
    path.write_text(text)
    rows = [json.loads(line) for line in kwire("migrate-check", "--all", "--json", *options, str(path)).lines]
    return {(int(row["place"].rpartition(":")[2]), row["found"]): (row["outcome"], row["text"]) for row in rows}


def test_calls_and_settings_of_confluent_kafka_are_judged_where_they_stand(kwire: Kwire, tmp_path: Path) -> None:
    rows = found(kwire, tmp_path / "a.py", OF_CONFLUENT)
    assert {place: outcome for place, (outcome, _) in rows.items()} == {
        (2, "import confluent_kafka.Consumer"): "change",
        (4, "bootstrap.servers"): "same",
        (4, "linger.ms"): "same",
        (4, "stats_cb"): "not there",
        (4, "acks"): "change",
        (4, "debug"): "not needed",
        (6, "Producer.produce"): "change",
        (7, "Producer.poll"): "not needed",
        (12, "Consumer(more)"): "unseen",
        (12, "group.id"): "same",
        (15, "Consumer.subscribe"): "change",
        (15, "subscribe(on_assign=)"): "change",
        (16, "Consumer.poll"): "change",
        (17, "Records.error"): "change",
    }
    assert rows[6, "Producer.produce"][1] == absent.PRODUCER["produce"]
    assert rows[15, "subscribe(on_assign=)"][1] == absent.SUBSCRIBE_KEYWORDS["on_assign"]


def test_names_count_in_their_function_alone_and_annotations_count(kwire: Kwire, tmp_path: Path) -> None:
    rows = found(kwire, tmp_path / "b.py", OF_THE_OTHERS)
    assert rows[3, "import kafka.errors.NoBrokersAvailable"][0] == "change"
    assert rows[7, "topics of the constructor"] == ("change", "topics are named by subscribe()")
    assert (8, "Consumer.getmany") in rows
    assert (9, "Consumer.getmany") not in rows
    assert rows[13, "Delivery.get"] == ("change", absent.DELIVERY["get"])
    assert rows[16, "compression_type"] == ("change", "it is compression= here")
    assert rows[16, "interceptor_classes"][0] == "not there"


def test_properties_are_judged_for_the_client_that_has_them(kwire: Kwire, tmp_path: Path) -> None:
    text = "bootstrap.servers=b:1\nlinger.ms=5\ncompression.zstd.level=3\nmetric.reporters=a.B\nfoo.bar=1\n"
    rows = found(kwire, tmp_path / "client.properties", text)
    assert [outcome for outcome, _ in rows.values()] == ["same", "same", "same", "not needed", "not there"]


def test_what_stays_is_left_out_and_only_what_is_missing_fails(kwire: Kwire, tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("linger.ms=5\nmetric.reporters=a.B\n")
    outcome = kwire("migrate-check", str(tmp_path))
    assert (outcome.code, len(outcome.lines)) == (0, 2)
    (tmp_path / "service.py").write_text("from kafka import KafkaProducer\nKafkaProducer(socks5_proxy='x')\n")
    outcome = kwire("migrate-check", str(tmp_path))
    assert outcome.code == 1
    assert "proxies are not in kwire" in outcome.lines[-1]


def test_a_file_that_cannot_be_read_is_named(kwire: Kwire, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (\n")
    outcome = kwire("migrate-check", str(tmp_path))
    assert outcome.code == 1
    assert f"{tmp_path / 'broken.py'}: no Python program" in outcome.err
    assert kwire("migrate-check", str(tmp_path / "notes.txt")).code == 2


def test_secrets_are_not_shown(kwire: Kwire, tmp_path: Path) -> None:
    text = "from kafka import KafkaProducer\nKafkaProducer(sasl_plain_password='hunter2', ssl_password=7)\n"
    (tmp_path / "a.py").write_text(text)
    assert b"hunter2" not in kwire("migrate-check", "--all", str(tmp_path)).out


def their_classes() -> list[tuple[Made, type]]:
    from importlib import import_module

    classes = []
    homes = {CONFLUENT: ("confluent_kafka", "confluent_kafka.admin"), AIOKAFKA: ("aiokafka", "aiokafka.admin")}
    for peer, names in peers.CLASSES.items():
        for module in map(pytest.importorskip, homes.get(peer, ("kafka", "kafka.admin"))):
            found = import_module(module.__name__)
            classes += [
                (Made(peer, kind), getattr(found, name)) for name, kind in names.items() if hasattr(found, name)
            ]
    return classes


def test_no_method_of_theirs_is_unknown() -> None:
    unknown = {
        f"{made}.{name}"
        for made, cls in their_classes()
        for name, member in getmembers(cls, callable)
        if not name.startswith("_")
        and judge_method(made, name) == (NOT_THERE, "kwire has no such name")
        and made.kind in ("Producer", "Consumer")
    }
    assert not unknown


def test_methods_with_another_meaning_are_methods_of_theirs_and_of_kwire() -> None:
    theirs = {made: cls for made, cls in their_classes() if cls.__name__ != "ShareConsumer"}
    for peer, kinds in DIFFERENT.items():
        for kind, names in kinds.items():
            for name in names:
                assert hasattr(theirs[Made(peer, kind)], name), (peer, kind, name)
                assert hasattr(getattr(kwire, kind), name), (kind, name)


def test_no_setting_of_theirs_is_unknown() -> None:
    aiokafka, kafka = pytest.importorskip("aiokafka"), pytest.importorskip("kafka")
    names: dict[str, list[Any]] = {
        "Producer": [*kafka.KafkaProducer.DEFAULT_CONFIG, *signature(aiokafka.AIOKafkaProducer).parameters],
        "Consumer": [*kafka.KafkaConsumer.DEFAULT_CONFIG, *signature(aiokafka.AIOKafkaConsumer).parameters],
        "Admin": [*kafka.KafkaAdminClient.DEFAULT_CONFIG],
    }
    for kind, given in names.items():
        for name in given:
            if name != "topics":
                assert judge_setting(kind, name, is_keyword=True).text != "kwire has no such setting", (kind, name)
