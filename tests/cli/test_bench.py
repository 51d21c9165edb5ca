"""`kwire bench`: what its modes measure, that the run's topic is gone after it, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import random
import signal
import time
from typing import Any

import pytest

from kwire import Admin
from kwire.cli.benching.histogram import Histogram
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import started
from tests.cli.shell import Outcome
from tests.timing import PATIENT

SHORT = ("--duration", "0.5", "--warm-up", "0.1", "--json")


def result(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    (line,) = outcome.lines
    found: dict[str, Any] = json.loads(line)
    return found


def topics(broker: Broker) -> set[str]:
    with Admin(broker.bootstrap_servers) as admin:
        return set(admin.list_topics())


@pytest.mark.parametrize(
    ("mode", "times"), [("produce", {"ack"}), ("consume", {"poll"}), ("latency", {"ack", "end_to_end"})]
)
@pytest.mark.parametrize("clients", [["--threads", "--clients", "2"], ["--clients", "2"]], ids=["threads", "processes"])
def test_each_mode_measures_with_clients_of_either_kind(
    kwire: Kwire, broker: Broker, mode: str, times: set[str], clients: list[str]
) -> None:
    found = result(kwire("bench", mode, *SHORT, *clients))
    assert found["complete"]
    assert found["records"] > 0
    assert found["bytes"] == found["records"] * 100
    assert found["records_per_s"] == pytest.approx(found["records"] / found["seconds"], rel=0.01)
    assert set(found["times_ms"]) == times
    for spread in found["times_ms"].values():
        assert 0 < spread["p50"] <= spread["p95"] <= spread["p99"] <= spread["p99_9"] <= spread["max"]
    assert found["cpu_s"] >= 0
    assert topics(broker) == {"orders"}


def test_the_keys_of_the_result(kwire: Kwire, broker: Broker) -> None:
    assert list(result(kwire("bench", "produce", "--threads", *SHORT))) == [
        *("mode", "topic", "clients", "threads", "size", "seconds", "records", "bytes", "records_per_s", "mb_per_s"),
        *("cpu_s", "times_ms", "complete"),
    ]


def test_a_number_of_records_is_kept_to(kwire: Kwire, broker: Broker) -> None:
    found = result(kwire("bench", "produce", "--threads", "--records", "50", "--topic", "orders", *SHORT))
    assert (found["records"], found["topic"]) == (50, "orders")
    assert topics(broker) == {"orders"}
    assert len(kwire("consume", "orders", "--format", "json").lines) >= 50


def test_a_rate_is_kept_to(kwire: Kwire, broker: Broker) -> None:
    found = result(kwire("bench", "produce", "--threads", "--rate", "200", "--duration", "1", "--json"))
    assert 100 < found["records_per_s"] < 300


def test_the_text_has_the_same(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("bench", "latency", "--threads", "--duration", "1.3", "--warm-up", "0")
    assert outcome.code == 0
    first, second, head, *rows = outcome.lines
    assert " records, " in first
    assert "records/s" in second
    assert head.split() == ["ms", "p50", "p95", "p99", "p99.9", "max", "mean"]
    assert [row[:10].strip() for row in rows] == ["ack", "end to end"]
    assert "records/s" in outcome.err


def test_settings_are_checked_before_anything_is_made(kwire: Kwire, broker: Broker) -> None:
    assert kwire("bench", "produce", "-X", "linger.ms=no").code == 2
    assert kwire("bench", "produce", "-X", "no.such.setting=1").code == 2
    assert "nosuch" in kwire("bench", "produce", "--topic", "nosuch").err
    assert topics(broker) == {"orders"}


def test_an_error_of_a_client_is_the_commands(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("bench", "produce", "--size", "2000000", "-X", "max.request.size=3000000", *SHORT)
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert topics(broker) == {"orders"}


@pytest.mark.parametrize("mode", ["produce", "consume", "latency"])
def test_values_that_no_record_can_hold_are_not_made(kwire: Kwire, broker: Broker, mode: str) -> None:
    outcome = kwire("bench", mode, "--size", "999999999999", *SHORT)
    assert outcome.code == 2
    assert "--size 999999999999: a record may have max.request.size=1048576 bytes" in outcome.err
    assert topics(broker) == {"orders"}


@pytest.mark.parametrize("kind", [["--threads"], []], ids=["threads", "processes"])
def test_ctrl_c_shows_what_was_measured_so_far(broker: Broker, kind: list[str]) -> None:
    given = ("--duration", "60", "--warm-up", "0", "--json", "-b", broker.bootstrap_servers, *kind)
    process = started("bench", "produce", *given)
    assert process.stderr is not None
    assert b"records/s" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, errors = process.communicate(timeout=PATIENT)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    found = json.loads(out)
    assert not found["complete"]
    assert found["records"] > 0
    assert b"Traceback" not in errors
    assert topics(broker) == {"orders"}


def test_a_histogram_knows_times_to_three_percent() -> None:
    drawn = random.Random(7)
    times = sorted(drawn.lognormvariate(-6, 2) for _ in range(20_000))
    halves = Histogram(), Histogram()
    for number, each in enumerate(times):
        halves[number % 2].add(each)
    halves[0].merge(halves[1])
    found = halves[0].milliseconds()
    assert len(halves[0]) == len(times)
    assert found["max"] == pytest.approx(times[-1] * 1000, abs=0.001)
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)):
        assert found[name] == pytest.approx(times[int(share * len(times)) - 1] * 1000, rel=0.035, abs=0.002)
    assert found["mean"] == pytest.approx(sum(times) / len(times) * 1000, rel=0.03)
    assert set(Histogram().milliseconds().values()) == {None}
