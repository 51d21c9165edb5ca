"""-X and --config: which goes over which, what a file may hold for other clients, and what errors and warnings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire import records
from kwire.cli.connecting import CONFIG_VARIABLE, VARIABLE
from kwire.testing import Broker
from tests.cli.conftest import Kwire


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.touch(mode=0o600)
    return path


def codec_of(broker: Broker) -> str:
    (batch,) = records.decode(broker.record_set("orders")).batches
    return batch.compression


@pytest.mark.parametrize("name", ["compression.type", "compression.codec", "compression", "kafka.compression.type"])
@pytest.mark.parametrize("stated", ["compression.type", "compression"])
def test_a_single_setting_goes_over_the_file(
    kwire: Kwire, broker: Broker, config: Path, name: str, stated: str
) -> None:
    """Also where the two have different names for it."""
    config.write_text(f"{name}=gzip\n")
    arguments = ("produce", "orders", "--partition", "0", "--config", str(config))
    assert kwire(*arguments, "-X", f"{stated}=zstd", stdin=b"a\n").code == 0
    assert codec_of(broker) == "zstd"


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_file_goes_over_the_defaults(
    kwire: Kwire, broker: Broker, config: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    config.write_text("compression.type=gzip\n")
    if by_variable:
        monkeypatch.setenv(CONFIG_VARIABLE, str(config))
    arguments = () if by_variable else ("--config", str(config))
    assert kwire("produce", "orders", "--partition", "0", *arguments, stdin=b"a\n").code == 0
    assert codec_of(broker) == "gzip"


@pytest.mark.parametrize("first", ["-b", "-X", "--config"])
def test_where_the_brokers_are(
    kwire: Kwire, broker: Broker, config: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """-b goes over -X, that over --config, that over the environment."""
    here, nowhere = broker.bootstrap_servers, "127.0.0.1:1"
    monkeypatch.setenv(VARIABLE, nowhere)
    config.write_text(f"bootstrap.servers={here if first == '--config' else nowhere}\n")
    arguments = ["--config", str(config)]
    if first != "--config":
        arguments += ["-X", f"bootstrap.servers={here if first == '-X' else nowhere}"]
    if first == "-b":
        arguments += ["-b", here]
    assert kwire("topics", *arguments, "--timeout", "60").code == 0


def test_settings_of_other_clients_in_a_file_are_passed_over(kwire: Kwire, broker: Broker, config: Path) -> None:
    config.write_text(
        "linger.ms=1\nauto.offset.reset=earliest\nkey.serializer=org.apache.kafka...\nmax.poll.interval.ms=5\n"
        "transactional.id=t\nrequest.timeout.ms=4000\nschema.registry.url=https://registry\n"
        "basic.auth.credentials.source=USER_INFO\nbasic.auth.user.info=key:secret\n"
    )
    assert kwire("topics", "--config", str(config)).code == 0
    refused = kwire("topics", "-X", "linger.ms=1")
    assert (refused.code, "'linger.ms' is a setting of Producer, not of Admin" in refused.err) == (2, True)


def test_errors_name_the_line_of_the_file(kwire: Kwire, broker: Broker, config: Path) -> None:
    config.write_text("# ours\nlinger.ms=1\nreqest.timeout.ms=1\nretry.backoff.ms=soon\n")
    outcome = kwire("produce", "orders", "--config", str(config), "-X", "ligner.ms=1")
    assert outcome.code == 2
    assert f"  {config}, line 3: unknown setting 'reqest.timeout.ms'; did you mean 'request.timeout.ms'?" in outcome.err
    assert f"  {config}, line 4: retry.backoff.ms='soon'" in outcome.err
    assert "\n  unknown setting 'ligner.ms'; did you mean 'linger.ms'?" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "request.timeout.ms=5"], "a single setting is given by -X NAME=VALUE"),
        (["-X", "sasl.password hunter2"], "-X 'sasl.password': write NAME=VALUE"),
        (["-X", "=hunter2"], "-X '': write NAME=VALUE"),
        (["--sasl-password=hunter2"], "unrecognized arguments: --sasl-password\n"),
        (["--sasl-password", "hunter2", "list"], "unrecognized arguments: --sasl-password\n"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", "orders", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert "hunter2" not in outcome.err


@pytest.mark.parametrize(
    "settings",
    [
        ("sasl.pasword=hunter2",),
        ("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.password=hunter2"),
        ("security.protocol=SASL_SSL", "sasl.jaas.config=x.PlainLoginModule required hunter2;"),
        ("security.protocol=SASL_SSL", "sasl.jaas.config=hunter2 required password=a;"),
        ("security.protocol=SSL", "ssl.key.pem=hunter2"),
        ("bootstrap.servers=alice:hunter2@broker:9092",),
        ("bootstrap.servers=https://alice:hunter2@broker:9092",),
    ],
)
def test_no_value_that_may_be_a_secret_is_shown(
    kwire: Kwire, broker: Broker, config: Path, settings: tuple[str, ...]
) -> None:
    config.write_text("\n".join(settings))
    config.chmod(0o600)
    for command in (["topics"], ["consume", "orders"], ["produce", "orders"], ["groups"]):
        for given in ([part for each in settings for part in ("-X", each)], ["--config", str(config)]):
            outcome = kwire(*command, *given)
            assert outcome.code in (1, 2)
            assert "hunter2" not in outcome.out.decode() + outcome.err


def test_a_missing_file(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("topics", "--config", "/nowhere/x.properties")
    assert (outcome.code, outcome.err) == (1, "kwire topics: /nowhere/x.properties: No such file or directory\n")


def test_settings_without_an_effect_are_one_line(kwire: Kwire, broker: Broker, config: Path) -> None:
    config.write_text("client.dns.lookup=use_all_dns_ips\n")
    outcome = kwire("topics", "--config", str(config))
    assert (outcome.code, outcome.err) == (0, "kwire topics: settings without an effect in kwire: client.dns.lookup\n")


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        ("ssl.key.password=hunter2\n", 0o644, True),
        ("ssl.key.password=hunter2\n", 0o600, False),
        ("ssl.key.password=hunter2\n", 0o640, False),
        ("ssl.key.password=\n", 0o644, False),
        ("request.timeout.ms=5000\n", 0o644, False),
    ],
)
def test_a_file_with_secrets_that_all_may_read(
    kwire: Kwire, broker: Broker, config: Path, content: str, mode: int, told: bool
) -> None:
    config.write_text(content)
    config.chmod(mode)
    outcome = kwire("topics", "--config", str(config))
    assert (f"{config} holds secrets and is readable by all users: chmod 600" in outcome.err) == told
    assert "hunter2" not in outcome.err


@pytest.mark.parametrize("command", ["topics", "produce", "consume", "copy"])
def test_the_help_shows_a_login(kwire: Kwire, command: str) -> None:
    text = kwire(command, "--help").out.decode()
    assert "--config client.properties" in text
    for line in ("security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", "ssl.ca.location="):
        assert line in text
