"""`format("kwire")` on a broker with TLS and a login, and what people get to see of the job: no secret is in it.

One Spark of its own: its logs at INFO and its event log are searched, the way in which passwords leak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kwire.testing import Broker
from tests.snippets import ROOT, snippet, snippets

PASSWORD, WRONG = "hush-5f1c9e", "wr0ng-77aa3b"
ADDRESS = "broker1:9093"
JAAS = 'org.apache.kafka.common.security.{} required username="alice" password="{}";'
LOGS = """\
rootLogger.level = info
logger.python.name = org.apache.spark.api.python.PythonGatewayServer
logger.python.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
"""
JOB = """
import json, sys
from pyspark.sql import SparkSession

given = json.loads(sys.stdin.read())
builder = SparkSession.builder.master("local[1]").appName("secure")
for name, value in given["conf"].items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
found = {}
namespace = {"spark": spark, "ca_pem": given["ca_pem"]}
exec(given["snippet"], namespace)
found["snippet"] = [bytes(row.value).decode() for row in namespace["orders"].collect()]
for name, options in given["reads"].items():
    try:
        frame = spark.read.format("kwire").options(**options).load()
        frame.createOrReplaceTempView("orders")
        frame.explain(True)
        print(frame, spark.sql("describe extended orders").collect())
        found[name] = [bytes(row.value).decode() for row in spark.sql("select value from orders").collect()]
    except Exception as error:
        found[name] = str(error)
for name, options in given["writes"].items():
    frame = spark.range(1).selectExpr("'written' AS value")
    try:
        frame.write.format("kwire").mode("append").options(**options).save()
        found[name] = "written"
    except Exception as error:
        found[name] = str(error)
print("FOUND" + json.dumps(found))
spark.stop()
"""


@dataclass
class Done:
    """What a job found, and all that it left to be read."""

    found: dict[str, Any]
    seen: str
    secrets: list[str]
    address: str


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    folder = tmp_path_factory.mktemp("secure")
    with (
        Broker(topics={"orders": 2, "written": 1}, users={"alice": PASSWORD}, tls="mutual") as broker,
        Broker(topics={"orders": 2, "written": 1}, users={"alice": PASSWORD}, tls=True) as plain,
    ):
        for each in (broker, plain):
            each.append("orders", [b"17.50", b"3.20"])
        yield _run(broker, plain, folder)


def _run(mutual: Broker, broker: Broker, folder: Path) -> Done:
    certificates = mutual.certificates
    assert certificates is not None
    store = folder / "client.pem"
    store.write_text(certificates.client_certificate_pem + certificates.client_key_pem)
    key = {
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": certificates.client_certificate_pem,
        "kafka.ssl.keystore.key": certificates.client_key_pem,
    }
    reads = {
        "good": {**_options(mutual, "scram.ScramLoginModule", PASSWORD), **key},
        "file": {
            **_options(mutual, "plain.PlainLoginModule", PASSWORD),
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.ssl.keystore.location": str(store),
        },
        "wrong password": _options(broker, "scram.ScramLoginModule", WRONG),
        "wrong authority": {
            **_options(broker, "scram.ScramLoginModule", PASSWORD),
            "kafka.ssl.truststore.certificates": mutual.ca_pem,
        },
        "no such file": {
            **_options(broker, "scram.ScramLoginModule", PASSWORD),
            "kafka.ssl.truststore.certificates": "",
            "kafka.ssl.truststore.location": str(folder / "missing.pem"),
        },
        "damaged login": {
            **_options(broker, "scram.ScramLoginModule", PASSWORD),
            "kafka.sasl.jaas.config": f'ScramLoginModule required password="{PASSWORD}',
        },
    }
    writes = {
        "good write": _for_writing(reads["good"]),
        "write with a wrong password": _for_writing(reads["wrong password"]),
    }
    code = snippet("docs/spark.md", "SASL_SSL").replace(ADDRESS, broker.bootstrap_servers)
    given = {
        "conf": _conf(folder / "events"),
        "snippet": code.replace('password="..."', f'password="{PASSWORD}"'),
        "ca_pem": broker.ca_pem,
        "reads": reads,
        "writes": writes,
    }
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    ended = subprocess.run(
        [sys.executable, "-c", JOB], input=json.dumps(given), capture_output=True, text=True, check=False,
        env=environment, cwd=folder, timeout=240,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("FOUND")]
    events = [path.read_text() for path in (folder / "events").rglob("*") if path.is_file()]
    assert any("SparkListenerSQLExecutionStart" in text for text in events)
    secrets = [PASSWORD, WRONG, certificates.client_key_pem.splitlines()[1]]
    seen = "".join([ended.stdout, ended.stderr, *events])
    return Done(json.loads(line.removeprefix("FOUND")), seen, secrets, broker.bootstrap_servers)


def _options(broker: Broker, module: str, password: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": JAAS.format(module, password),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": broker.ca_pem,
        "subscribe": "orders",
    }


def _for_writing(options: dict[str, str]) -> dict[str, str]:
    return {**{name: value for name, value in options.items() if name != "subscribe"}, "topic": "written"}


def _conf(events: Path) -> dict[str, str]:
    """A small Spark with an event log, which redacts as the document says."""
    events.mkdir()
    logs = events.parent / "log4j2.properties"
    logs.write_text(LOGS)
    (redaction,) = [text for text in snippets("docs/spark.md", "properties") if "redaction" in text]
    name, _, value = redaction.strip().partition("=")
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile={logs.as_uri()}"
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "700m",
        "spark.driver.extraJavaOptions": java,
        "spark.sql.shuffle.partitions": "1",
        name: value,
    }


pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.parametrize("read", ["snippet", "good", "file"])
def test_reads_with_a_login(done: Done, read: str) -> None:
    assert sorted(done.found[read]) == ["17.50", "3.20"]


def test_a_write_with_a_login(done: Done) -> None:
    assert done.found["good write"] == "written"


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("wrong password", "SaslAuthenticate (SCRAM-SHA-512): Authentication failed"),
        ("wrong authority", "TLS handshake: the broker's certificate is from a CA that is not trusted here"),
        ("no such file", "kafka.ssl.truststore.location="),
        ("damaged login", "kafka.sasl.jaas.config: "),
    ],
)
def test_refusals_name_the_broker_or_the_option(done: Done, read: str, said: str) -> None:
    assert said in done.found[read]
    if said.startswith("kafka."):
        assert "ConfigError" in done.found[read]
    else:
        assert f"AuthError: the broker at {done.address}" in done.found[read]


def test_a_write_that_is_refused_names_the_row_and_the_broker(done: Done) -> None:
    said = f"WriteError: row 0 of the task was not written to topic written: the broker at {done.address}, "
    assert said + "SaslAuthenticate (SCRAM-SHA-512): Authentication failed" in done.found["write with a wrong password"]


def test_no_secret_is_in_what_is_printed_or_logged(done: Done) -> None:
    assert "INFO DAGScheduler" in done.seen
    assert "kafka.sasl.jaas.config=*********(redacted)" in done.seen
    found = {secret: [line[:300] for line in done.seen.splitlines() if secret in line] for secret in done.secrets}
    assert found == {secret: [] for secret in done.secrets}
