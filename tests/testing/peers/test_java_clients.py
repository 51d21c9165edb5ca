"""Apache's own Java clients, from its console tools, on the embedded broker."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kwire import records
from kwire.testing import Broker
from tests.brokers import find_release
from tests.brokers.java import find_java
from tests.brokers.maven import resolve_tools
from tests.brokers.processes import JVM_FLAGS, dying_with_parent

pytestmark = pytest.mark.kafka

WITHIN_S = 60
MODULES = "org.apache.kafka.common.security"
LOGINS = {
    "PLAIN": f'{MODULES}.plain.PlainLoginModule required username="alice" password="secret";',
    "SCRAM-SHA-512": f'{MODULES}.scram.ScramLoginModule required username="alice" password="secret";',
    "OAUTHBEARER": f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";',
}
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


def java(jars: str, main: str, *arguments: str, stdin: str = "") -> str:
    """Runs a class to its end and gives its standard output."""
    command = dying_with_parent([find_java(), *JVM_FLAGS, "-cp", jars, main, *arguments])
    run = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert run.returncode == 0, f"{main} ended with {run.returncode}:\n{run.stdout}\n{run.stderr}"
    return run.stdout


@pytest.mark.parametrize(("release", "codec"), [("2.4.1", "zstd"), ("4.4.0", "lz4")])
def test_the_console_producer_writes_and_the_console_consumer_reads(release: str, codec: str) -> None:
    jars = f"{resolve_tools(find_release('4.4.0'))}/*"
    lines = [f"line {n}" for n in range(500)]
    with Broker(release=release, topics={"lines": 1}) as broker:
        at = ("--bootstrap-server", broker.bootstrap_servers, "--topic", "lines")
        java(jars, PRODUCER, *at, "--compression-codec", codec, stdin="\n".join(lines))
        written = records.decode(broker.record_set("lines"))
        assert [value.decode() for value in written.values() if value is not None] == lines
        assert {batch.compression for batch in written.batches} == {codec}
        assert all(batch.producer_id >= 0 for batch in written.batches), "Java's producer is idempotent by default"
        limits = ("--partition", "0", "--offset", "earliest", "--max-messages", "500", "--timeout-ms", "30000")
        assert java(jars, CONSUMER, *at, *limits).splitlines() == lines


@pytest.mark.parametrize("mechanism", LOGINS)
def test_they_log_in_through_mutual_tls(mechanism: str, tmp_path: Path) -> None:
    jars = f"{resolve_tools(find_release('4.4.0'))}/*"
    with Broker(users={"alice": "secret"}, mechanisms=[mechanism], tls="mutual", topics={"lines": 1}) as broker:
        config = tmp_path / "client.properties"
        config.write_text(java_settings(broker, mechanism, tmp_path))
        at = ("--bootstrap-server", broker.bootstrap_servers, "--topic", "lines", "--command-config", str(config))
        java(jars, PRODUCER, *at, stdin="a\nb")
        assert broker.values("lines") == [b"a", b"b"]
        limits = ("--partition", "0", "--offset", "earliest", "--max-messages", "2", "--timeout-ms", "30000")
        assert java(jars, CONSUMER, *at, *limits).splitlines() == ["a", "b"]


def java_settings(broker: Broker, mechanism: str, folder: Path) -> str:
    """Java reads PEM: the authority from a file, a certificate and its key from one file together."""
    assert broker.certificates is not None
    files = broker.certificates.write(folder)
    (folder / "both.pem").write_text(broker.certificates.client_key_pem + broker.certificates.client_certificate_pem)
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": LOGINS[mechanism],
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": files["ca.pem"],
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "both.pem"),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
