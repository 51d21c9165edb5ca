"""`kwire migrate-check`: what it finds in programs and settings of other clients, and what it says of that."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getmembers, isclass, ismodule, signature
from pathlib import Path
from typing import Any

import pytest

import kwire
import kwire.registry.config
from kwire.cli.migrating import peers, registries
from kwire.cli.migrating.judging import (
    MISSING,
    OUTCOMES,
    UNKNOWN,
    judge_code,
    judge_import,
    judge_method,
    judge_setting,
)
from kwire.cli.migrating.other_names import NAMES
from kwire.cli.migrating.peers import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, Made
from kwire.cli.migrating.same_names import DEFAULTS, DIFFERENT
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
Rows = dict[tuple[int, str], tuple[str, str]]


def found(kwire: Kwire, path: Path, text: str, *options: str) -> Rows:
    path.write_text(text)
    rows = [json.loads(line) for line in kwire("migrate-check", "--all", "--json", *options, str(path)).lines]
    return {(int(row["place"].rpartition(":")[2]), row["found"]): (row["outcome"], row["text"]) for row in rows}


def outcomes(rows: Rows) -> dict[tuple[int, str], str]:
    return {place: outcome for place, (outcome, _) in rows.items()}


def test_calls_and_settings_of_confluent_kafka_are_judged_where_they_stand(kwire: Kwire, tmp_path: Path) -> None:
    rows = found(kwire, tmp_path / "a.py", OF_CONFLUENT)
    assert outcomes(rows) == {
        (2, "confluent_kafka.Consumer"): "renamed",
        (4, "bootstrap.servers"): "same",
        (4, "linger.ms"): "same",
        (4, "stats_cb"): "differs",
        (4, "acks"): "differs",
        (4, "debug"): "not needed",
        (5, "confluent_kafka.Producer"): "renamed",
        (5, "ck.Producer(...)"): "renamed",
        (5, "Producer without partitioner"): "differs",
        (6, "Producer.produce"): "renamed",
        (6, "produce(on_delivery=)"): "differs",
        (7, "Producer.poll"): "not needed",
        (12, "Consumer(...)"): "renamed",
        (12, "Consumer(more)"): "unseen",
        (12, "Consumer without allow_auto_create_topics"): "differs",
        (12, "Consumer without isolation_level"): "differs",
        (12, "group.id"): "same",
        (15, "Consumer.subscribe"): "differs",
        (15, "subscribe(on_assign=)"): "differs",
        (16, "Consumer.poll"): "differs",
        (17, "Message.error"): "differs",
    }
    assert rows[6, "Producer.produce"][1] == absent.PRODUCER["produce"]
    assert rows[15, "subscribe(on_assign=)"][1] == absent.SUBSCRIBE_KEYWORDS["on_assign"]


def test_names_count_in_their_function_alone_and_annotations_count(kwire: Kwire, tmp_path: Path) -> None:
    rows = found(kwire, tmp_path / "b.py", OF_THE_OTHERS)
    assert rows[3, "kafka.errors.NoBrokersAvailable"][0] == "renamed"
    assert rows[7, "topics of the constructor"] == ("differs", "topics are named by subscribe()")
    assert (8, "AIOKafkaConsumer.getmany") in rows
    assert (9, "AIOKafkaConsumer.getmany") not in rows
    assert rows[13, "future.get"] == ("renamed", absent.DELIVERY["get"])
    assert rows[16, "compression_type"] == ("renamed", "it is compression= here")
    assert rows[16, "interceptor_classes"][0] == "differs"


def test_mappings_are_followed_through_assignments_copies_and_functions(kwire: Kwire, tmp_path: Path) -> None:
    text = """\
from confluent_kafka import Consumer, Producer

base = {"bootstrap.servers": "b"}
base["linger.ms"] = 5
base.update({"acks": "all"})
mine = dict(base)
mine |= {"socket.nagle.disable": True}
producer = Producer(**mine)


def secured(conf):
    conf.update({"sasl.username": "a", "sasl.password": "hunter2"})
    return conf


Consumer(secured({"group.id": "g", **base}))
"""
    rows = outcomes(found(kwire, tmp_path / "c.py", text))
    assert {line: name for line, name in rows if name[0].islower() and "_" not in name} == {
        3: "bootstrap.servers",
        4: "linger.ms",
        5: "acks",
        7: "socket.nagle.disable",
        12: "sasl.password",
        16: "group.id",
    }
    assert rows[4, "linger.ms"] == "same"  # a producer has it, though the consumer has not
    assert "unseen" not in rows.values()


def test_subclasses_and_listeners_are_followed(kwire: Kwire, tmp_path: Path) -> None:
    text = """\
from aiokafka import ConsumerRebalanceListener
from confluent_kafka import Producer


class Mine(Producer):
    def __init__(self, servers):
        super().__init__({"bootstrap.servers": servers, "proxy.url": "p"})
        self.count = 0

    def write(self, value):
        self.count += 1
        self.produce("orders", value)


class Listener(ConsumerRebalanceListener):
    async def on_partitions_revoked(self, revoked):
        pass


Mine("b").list_topics()
"""
    rows = found(kwire, tmp_path / "d.py", text)
    assert rows[7, "proxy.url"][0] == "missing"
    assert rows[12, "Producer.produce"][0] == "renamed"
    assert rows[16, "on_partitions_revoked"] == ("renamed", "it is on_revoked(partitions) here")
    assert rows[20, "Producer.list_topics"] == ("renamed", absent.PRODUCER["list_topics"])
    assert not [name for line, name in rows if "count" in name]


def test_what_callbacks_and_loops_are_given_is_known(kwire: Kwire, tmp_path: Path) -> None:
    text = """\
from confluent_kafka import Consumer, KafkaError, Producer
from kafka import KafkaConsumer


def reported(error, message):
    print(error.code(), message.offset())


Producer({}).produce("orders", b"x", callback=reported)
for message in Consumer({}).consume(5):
    message.value()
for records in KafkaConsumer().poll(timeout_ms=5).values():
    print(records[0].checksum)



if KafkaError._PARTITION_EOF:
    pass
"""
    rows = outcomes(found(kwire, tmp_path / "e.py", text))
    assert rows[6, "KafkaError.code"] == "renamed"
    assert rows[6, "Message.offset"] == "differs"
    assert rows[11, "Message.value"] == "differs"
    assert rows[12, "records by partition.values"] == "differs"
    assert rows[13, "ConsumerRecord.checksum"] == "missing"
    assert "KafkaError._PARTITION_EOF" in {name for _, name in rows}


def test_parameters_are_known_by_what_is_called_of_them_and_what_they_are_given(kwire: Kwire, tmp_path: Path) -> None:
    text = """\
from confluent_kafka import Consumer, Producer


def use(consumer, other, given):
    consumer.get_watermark_offsets(None)
    other.close()
    given.close()


use(None, None, Producer({}))
"""
    rows = found(kwire, tmp_path / "h.py", text)
    assert [name for line, name in rows if 4 < line < 9] == ["Consumer.get_watermark_offsets", "Producer.close"]


def test_registries_serializers_and_futures_of_admins_are_judged(kwire: Kwire, tmp_path: Path) -> None:
    text = """\
from confluent_kafka import SerializingProducer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer

registry = SchemaRegistryClient({"url": "http://r", "basic.auth.user.info": "a:hunter2", "proxy": "p"})
registry.get_latest_version("orders-value")
serializer = AvroSerializer(registry, "{}", conf={"auto.register.schemas": False, "use.deprecated.format": False})
SerializingProducer({"value.serializer": serializer, "partitioner": "murmur2"})
for name, future in AdminClient({}).create_topics([NewTopic("a", 1, 1)]).items():
    future.result()
serializer({"amount": 1}, None)
"""
    rows = outcomes(found(kwire, tmp_path / "f.py", text))
    assert rows[12, "serializer(...)"] == "differs"
    assert rows[6, "proxy"] == "differs"
    assert rows[6, "basic.auth.user.info"] == "renamed"
    assert rows[7, "SchemaRegistryClient.get_latest_version"] == "renamed"
    assert rows[8, "auto.register.schemas"] == "renamed"
    assert rows[8, "use.deprecated.format"] == "not needed"
    assert rows[9, "value.serializer"] == "same"
    assert (9, "Producer without partitioner") not in rows
    assert rows[10, "AdminClient.create_topics"] == "differs"
    assert rows[11, "future.result"] == "differs"


def test_coroutines_that_are_plain_methods_in_kwire_are_told(kwire: Kwire, tmp_path: Path) -> None:
    text = "from confluent_kafka.aio import AIOConsumer\nconsumer = AIOConsumer({})\nawait consumer.pause([])\n"
    rows = found(kwire, tmp_path / "g.py", text)
    assert rows[3, "Consumer.pause"] == ("differs", "no coroutine in kwire.aio: call it without await")
    assert rows[1, "confluent_kafka.aio.AIOConsumer"] == ("renamed", "it is kwire.aio.Consumer here")


def test_settings_in_files_are_judged_for_the_client_that_has_them(kwire: Kwire, tmp_path: Path) -> None:
    text = "bootstrap.servers=b:1\nlinger.ms=5\ncompression.zstd.level=3\nmetric.reporters=a.B\nfoo.bar=1\n"
    rows = found(kwire, tmp_path / "client.properties", text)
    assert [outcome for outcome, _ in rows.values()] == ["same", "same", "same", "not needed", "missing"]
    rows = found(kwire, tmp_path / "config.ini", "[default]\nbootstrap.servers=b:1\n\n[consumer]\ngroup.id=g\n")
    assert outcomes(rows) == {(2, "bootstrap.servers"): "same", (5, "group.id"): "same"}
    text = '{\n "other": {"size": 1},\n "kafka": {\n  "bootstrap.servers": "b",\n  "acks": null,\n  "proxy.url": "p"}}'
    rows = found(kwire, tmp_path / "settings.json", text)
    assert [(line, name) for line, name in rows] == [(4, "bootstrap.servers"), (5, "acks"), (6, "proxy.url")]
    assert rows[6, "proxy.url"][0] == "missing"


def test_folders_are_searched_for_programs_and_for_files_that_name_brokers(kwire: Kwire, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "a"}')
    (tmp_path / "client.json").write_text('{"bootstrap.servers": "b", "linger.ms": 5}')
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "a.py").write_text("import kafka\nkafka.KafkaProducer(socks5_proxy='x')\n")
    outcome = kwire("migrate-check", "--all", str(tmp_path))
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.lines[1:]] == [f"{tmp_path / 'client.json'}:1"] * 2
    assert "1 file read: 2 same" in outcome.err


def test_what_stays_is_left_out_and_only_what_is_missing_fails(kwire: Kwire, tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("bootstrap.servers=b\nmetric.reporters=a.B\n")
    outcome = kwire("migrate-check", str(tmp_path))
    assert (outcome.code, len(outcome.lines)) == (0, 2)
    assert kwire("migrate-check", "--fail-on", "not-needed,missing", str(tmp_path)).code == 1
    (tmp_path / "service.py").write_text("from kafka import KafkaProducer\nKafkaProducer(socks5_proxy='x')\n")
    outcome = kwire("migrate-check", "--only", "missing", str(tmp_path))
    assert outcome.code == 1
    assert "without a proxy" in outcome.lines[1]
    assert len(outcome.lines) == 2
    assert "2 files read: 1 same, 1 renamed, 1 not needed, 1 missing" in outcome.err


def test_briefly_each_answer_is_shown_once(kwire: Kwire, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from kafka import KafkaProducer\np = KafkaProducer()\np.flush()\np.flush()\n")
    lines = kwire("migrate-check", "--brief", "--only", "differs", str(tmp_path)).lines
    assert len(lines) == 2
    assert f"{tmp_path / 'a.py'}:3 and 1 more" in lines[1]


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_read(kwire: Kwire, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (\n")
    (tmp_path / "whole.py").write_text("from kafka import KafkaProducer\n")
    outcome = kwire("migrate-check", "--json", str(tmp_path))
    assert outcome.code == 1
    assert [json.loads(line)["outcome"] for line in outcome.lines] == ["unreadable", "renamed"]
    assert kwire("migrate-check", str(tmp_path / "notes.txt")).code == 2
    assert kwire("migrate-check", "--only", "wrong", str(tmp_path)).code == 2


def test_secrets_are_not_shown(kwire: Kwire, tmp_path: Path) -> None:
    text = "from kafka import KafkaProducer\nKafkaProducer(sasl_plain_password='hunter2', ssl_password=7)\n"
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "a.json").write_text('{"bootstrap.servers": "b", "sasl.password": ["hunter2"], "ssl.key.password": 7}')
    assert b"hunter2" not in kwire("migrate-check", "--all", str(tmp_path)).out


def test_the_help_explains_every_outcome(kwire: Kwire) -> None:
    text = kwire("migrate-check", "--help").out.decode()
    for outcome, meaning in OUTCOMES.items():
        assert f"  {outcome:<11} {meaning}\n" in text


# -- nothing of theirs is unknown ------------------------------------------------------------------------------------

MODULES = {
    CONFLUENT: (
        "confluent_kafka",
        "confluent_kafka.admin",
        "confluent_kafka.aio",
        "confluent_kafka.error",
        "confluent_kafka.schema_registry",
        "confluent_kafka.serialization",
    ),
    AIOKAFKA: ("aiokafka", "aiokafka.admin", "aiokafka.errors", "aiokafka.abc", "aiokafka.structs"),
    KAFKA_PYTHON: ("kafka", "kafka.admin", "kafka.errors", "kafka.structs", "kafka.serializer", "kafka.partitioner"),
}
OF_OTHER_LIBRARIES = {"Any", "Dict", "List", "Optional", "Set", "Tuple", "Union", "namedtuple"}


def their_modules() -> Iterator[tuple[str, Any]]:
    for peer, names in MODULES.items():
        pytest.importorskip(names[0])
        yield from ((peer, import_module(name)) for name in names)


def their_classes() -> list[tuple[Made, type]]:
    return [
        (Made(peer, kind), getattr(module, name))
        for peer, module in their_modules()
        for name, kind in peers.CLASSES[peer].items()
        if isclass(getattr(module, name, None))
    ]


def test_no_public_name_of_their_modules_is_unknown() -> None:
    unknown = {
        f"{module.__name__}.{name}"
        for peer, module in their_modules()
        for name in getattr(module, "__all__", dir(module))
        if not name.startswith("_") and name not in peers.CLASSES[peer] and name not in OF_OTHER_LIBRARIES
        if not ismodule(getattr(module, name, None)) and judge_import(peer, module.__name__, name) == (MISSING, UNKNOWN)
    }
    assert sorted(map(str, unknown)) == []


def test_no_method_of_theirs_is_unknown() -> None:
    unknown = {
        f"{made}.{name}"
        for made, cls in their_classes()
        for name, _ in getmembers(cls, callable)
        if not name.startswith("_") and made.kind not in ("Serializer", "Deserializer")
        if judge_method(made, name) == (MISSING, UNKNOWN)
    }
    assert sorted(map(str, unknown)) == []


def test_no_attribute_of_their_records_errors_and_results_is_unknown() -> None:
    ck, aiokafka, kafka = map(pytest.importorskip, ("confluent_kafka", "aiokafka.structs", "kafka.consumer.fetcher"))
    fields = {
        Made(CONFLUENT, "Record"): [name for name in dir(ck.Message) if name[0] != "_"],
        Made(CONFLUENT, "Error"): [name for name in dir(ck.KafkaError) if name[0] != "_" and name.islower()],
        Made(AIOKAFKA, "Record"): list(aiokafka.ConsumerRecord.__dataclass_fields__),
        Made(AIOKAFKA, "Metadata"): list(aiokafka.RecordMetadata._fields),
        Made(KAFKA_PYTHON, "Record"): list(kafka.ConsumerRecord._fields),
    }
    unknown = [(made, name) for made in fields for name in fields[made] if judge_method(made, name)[1] == UNKNOWN]
    assert sorted(map(str, unknown)) == []
    for name in dir(ck.KafkaError):
        if name.isupper() and name != "NO_ERROR":
            assert judge_code(name).text, name


def test_methods_with_another_meaning_are_methods_of_theirs_and_of_kwire() -> None:
    theirs: dict[tuple[str, str], set[str]] = {}
    for made, cls in their_classes():
        theirs.setdefault((made.peer, made.kind), set()).update(dir(cls))
    for peer, kinds in DIFFERENT.items():
        for kind, names in kinds.items():
            if kind in ("Consumer", "Producer"):
                assert names.keys() <= theirs[peer, kind]
                assert all(hasattr(getattr(kwire, kind), name) for name in names)
    assert all(hasattr(kwire.Admin, name) for name in DIFFERENT[CONFLUENT]["Admin"])


def test_what_answers_name_is_there() -> None:
    named = re.compile(r"\bit is `?(?:await )?(\w+)\(")
    tables = {
        kwire.Admin: absent.ADMIN,
        kwire.Consumer: absent.CONSUMER,
        kwire.Delivery: absent.DELIVERY,
        kwire.Producer: absent.PRODUCER,
        kwire.ShareConsumer: absent.SHARE_CONSUMER,
        kwire.registry.Registry: registries.CALLS,
    }
    for client, hints in tables.items():
        for text in hints.values():
            for name in named.findall(text):
                assert hasattr(client, name), text
    for home, name in re.findall(r"\b(kwire(?:\.\w+)*)\.(\w+)", f"{NAMES} {absent.MODULE}"):
        assert hasattr(import_module(home), name), f"{home}.{name}"


def test_what_a_registry_refuses_and_only_that_is_told_to_differ() -> None:
    refused = {
        name
        for name in registries.SETTINGS
        for part in kwire.registry.config._HINTS
        if name.startswith(part) and name not in kwire.registry.config._KNOWN
    }
    told = {name for name, hint in registries.SETTINGS.items() if isinstance(hint, absent.Differs | absent.Missing)}
    assert told == {"proxy"} <= refused
    settings = kwire.registry.config.keywords_of(
        {"url": "http://a", "bearer.auth.identity.pool.id": "pool", "bearer.auth.logical.cluster": "lsrc"}, print
    )
    for name in ("bearer.auth.identity.pool.id", "bearer.auth.logical.cluster"):
        [(header, value)] = re.findall(r"'([\w-]+)': (\w+)", registries.SETTINGS[name])
        assert header in settings["headers"], (name, value)


def test_the_calls_of_admins_that_answers_show_can_be_made_so() -> None:
    shown = 0
    for name, text in DIFFERENT[CONFLUENT]["Admin"].items():
        for call in re.findall(rf"^{name}\(.*?\)(?=$|[,;: ])", text):
            with contextlib.suppress(SyntaxError):
                parsed = ast.parse(call, mode="eval").body
                assert isinstance(parsed, ast.Call)
                keywords = {str(keyword.arg): None for keyword in parsed.keywords}
                signature(getattr(kwire.Admin, name)).bind(None, *parsed.args, **keywords)
                shown += 1
    assert shown > 15


def test_defaults_are_those_of_settings_that_exist() -> None:
    for kinds in DEFAULTS.values():
        for kind, settings in kinds.items():
            assert all(judge_setting(kind, name, is_keyword=True).outcome == "same" for name in settings)


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


@pytest.mark.parametrize("module", ["avro", "json_schema", "protobuf"])
def test_no_setting_of_their_serializers_is_unknown(module: str) -> None:
    found = pytest.importorskip(f"confluent_kafka.schema_registry.{module}")
    for name, cls in getmembers(found, isclass):
        if name.endswith(("Serializer", "Deserializer")) and hasattr(cls, "_default_conf"):
            assert cls._default_conf.keys() <= registries.SERIALIZER_SETTINGS.keys(), name


def test_a_pipe_is_not_waited_for(kwire: Kwire, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    outcome = kwire("migrate-check", str(tmp_path / "a.py"))
    assert outcome.code == 2
    assert "a folder, or a file that ends in one of .py" in outcome.err
