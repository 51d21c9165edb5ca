"""Where consume begins and ends, and of which topics it reads."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from kwire import Producer, records
from kwire.cli import consuming
from kwire.cli.read_bounds import parse_bound
from kwire.cli.topic_choice import pattern_of
from kwire.cli.usage import UsageError
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import started

SECOND = 1_700_000_000_000


@pytest.fixture
def ten(broker: Broker) -> Broker:
    """Ten records, 0 to 9, a second apart, in partition 0 of `orders`, five, 0 to 4, in partition 1."""
    for partition, count in ((0, 10), (1, 5)):
        made = [(b"%d" % n, None, SECOND + 1000 * n) for n in range(count)]
        broker.append("orders", records.encode(made), partition=partition)
    return broker


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (("--to", "3"), "012012"),
        (("--from", "2", "--to", "4"), "2323"),
        (("--to", "7"), "012345601234"),
        (("--to", "-8"), "01"),
        (("--to", "2023-11-14T22:13:22+00:00"), "0101"),
        (("--to", f"@{SECOND + 6500}"), "012345601234"),
        (("-o", f"s@{SECOND + 8000}", "--to", f"e@{SECOND + 9000}"), "8"),
        (("--to", "earliest"), ""),
        (("--to", "end"), "012345678901234"),
        (("--to", "-1h"), "012345678901234"),
        (("-o", "-3", "--to", "-1"), "7823"),
        (("--from", "5", "--to", "3"), ""),
        (("-p", "1", "--to", "2"), "01"),
        (("-p", "0", "-p", "1", "--from", "4", "--to", "5"), "44"),
        (("--follow", "-p", "0", "--to", "4"), "0123"),
    ],
)
def test_bounds_of_each_partition(kwire: Kwire, ten: Broker, bounds: tuple[str, ...], expected: str) -> None:
    outcome = kwire("consume", "orders", *bounds, "-f", "%p%s")
    assert outcome.code == 0, outcome.err
    by_partition = sorted(outcome.out[at : at + 2] for at in range(0, len(outcome.out), 2))
    assert "".join(pair.decode()[1] for pair in by_partition) == "".join(expected)


def test_an_offset_that_is_not_there_yet_is_waited_for_with_follow(kwire: Kwire, ten: Broker) -> None:
    with Producer(ten.bootstrap_servers, linger_ms=0) as producer:
        producer.send("orders", b"5", partition=1).result()
        producer.send("orders", b"6", partition=1).result()
    assert kwire("consume", "orders", "-p", "1", "--follow", "--to", "6", "--from", "4").lines == ["4", "5"]


def test_follow_and_exit_eof_end_when_nothing_is_left(kwire: Kwire, ten: Broker) -> None:
    outcome = kwire("consume", "orders", "--follow", "--exit-eof", "-f", "%s")
    assert (outcome.code, sorted(outcome.out)) == (0, sorted(b"012345678901234"))
    assert kwire("consume", "orders", "-e", "-o", "end").lines == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "soon"], "--to 'soon': earliest, latest, an offset"),
        (["--from", "0001-01-01"], "earliest, latest, an offset"),
        (["--from", "9" * 5000], "earliest, latest, an offset"),
        (["--from", "-" + "9" * 5000], "earliest, latest, an offset"),
        (["--follow", "--to", "-1h"], "--to -1h with --follow: an offset is needed"),
        (["--follow", "--to", "end"], "--to end with --follow: an offset is needed"),
    ],
)
def test_bounds_that_cannot_be(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", "orders", *arguments)
    assert (outcome.code, said in outcome.err) == (2, True)


def test_the_end_of_a_time_to_come_is_what_is_there(kwire: Kwire, ten: Broker) -> None:
    future = f"@{int(time.time() * 1000) + 3_600_000}"
    assert len(kwire("consume", "orders", "--to", future).lines) == 15


def test_milliseconds() -> None:
    for text in ("@1700000000123", "s@1700000000123", "e@1700000000123"):
        assert parse_bound("--from", text) == datetime(2023, 11, 14, 22, 13, 20, 123000, UTC)
    with pytest.raises(UsageError, match="--from"):
        parse_bound("--from", "x@17")


# -- topics ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def topics(broker: Broker) -> Broker:
    for name in ("audit-eu", "audit-us", "old-audit-eu"):
        broker.create_topic(name)
    for name in ("audit-eu", "audit-us", "old-audit-eu", "orders"):
        broker.append(name, records.encode([name.encode()]))
    return broker


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["audit-eu", "orders"], ["audit-eu", "orders"]),
        (["orders", "orders"], ["orders"]),
        (["^audit-"], ["audit-eu", "audit-us"]),
        (["^audit-.*u$"], ["audit-eu"]),
        (["orders", "^old"], ["old-audit-eu", "orders"]),
        (["audit-.*", "--pattern"], ["audit-eu", "audit-us"]),
        (["--pattern", "orders", ".*-eu"], ["audit-eu", "old-audit-eu", "orders"]),
    ],
)
def test_topics_and_patterns(kwire: Kwire, topics: Broker, arguments: list[str], expected: list[str]) -> None:
    assert sorted(kwire("consume", *arguments).lines) == expected
    member = kwire("consume", *arguments, "--group", "billing", "--from", "earliest", "-e")
    assert (member.code, sorted(member.lines)) == (0, expected)


def test_what_no_topic_matches(kwire: Kwire, topics: Broker) -> None:
    outcome = kwire("consume", "^none", "^never")
    assert (outcome.code, "no topic matches '^none' or '^never'" in outcome.err) == (1, True)
    broken = kwire("consume", "^audit-(")
    assert (broken.code, "'^audit-(' is not a regular expression: missing )" in broken.err) == (2, True)
    endless = kwire("consume", "^audit{99999999999}")
    assert (endless.code, "is not a regular expression: the repetition" in endless.err) == (2, True)
    missing = kwire("consume", "orders", "audit-eu", "-p", "1")
    assert (missing.code, "'audit-eu' has no partition 1; it has 0 to 0" in missing.err) == (1, True)


def test_names_are_no_patterns() -> None:
    assert pattern_of(["a.b"], whole=False) is None
    assert pattern_of(["a.b", "^c"], whole=False) == r"a\.b|(?:^c).*"


def test_records_of_open_and_aborted_transactions(kwire: Kwire, broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, transactional_id="t") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("orders", b"aborted", partition=0)
        producer.flush()
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send("orders", b"committed", partition=0)
        producer.commit_transaction()
    only = ("consume", "orders", "-p", "0", "--isolation-level")
    assert kwire(*only, "read_committed").lines == ["committed"]
    assert kwire(*only, "read_uncommitted").lines == ["aborted", "committed"]
    member = ("consume", "orders", "--group", "g", "--from", "earliest", "-e")
    assert kwire(*member, "-X", "isolation.level=read_committed").lines == ["committed"]


# -- in a group -----------------------------------------------------------------------------------------------------


def committed(kwire: Kwire) -> dict[int, int]:
    rows = [json.loads(line) for line in kwire("lag", "billing", "--json").lines]
    return {row["partition"]: row["committed"] for row in rows if row["committed"] is not None}


MEMBER = ("consume", "orders", "--group", "billing", "--from", "earliest")


def test_a_group_ends_at_the_ends_and_has_committed_just_that(kwire: Kwire, ten: Broker) -> None:
    part = kwire(*MEMBER, "--to", "3", "-f", "%s")
    assert (part.code, sorted(part.out)) == (0, sorted(b"012012"))
    assert {partition: offset for partition, offset in committed(kwire).items() if offset} == {0: 3, 1: 3}
    assert kwire(*MEMBER, "--to", "2").lines == []
    assert {partition: offset for partition, offset in committed(kwire).items() if offset} == {0: 3, 1: 3}
    rest = kwire(*MEMBER, "--exit-eof", "-f", "%s")
    assert (rest.code, sorted(rest.out)) == (0, sorted(b"345678934"))
    assert {partition: offset for partition, offset in committed(kwire).items() if offset} == {0: 10, 1: 5}
    assert kwire(*MEMBER, "-e").lines == []
    assert kwire(*MEMBER, "--to", "2").lines == []


def test_a_member_to_which_nothing_is_assigned_ends_as_well(
    kwire: Kwire, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "_EMPTY_HANDED_S", 0.5)
    broker.create_topic("one")
    broker.append("one", records.encode([b"a"]))
    member = ("consume", "one", "--group", "billing", "--from", "earliest")
    with started(*member) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"a\n"
        assert kwire(*member, "-e").code == 0
        other.kill()


def test_a_group_ends_when_nothing_is_left(kwire: Kwire, ten: Broker) -> None:
    outcome = kwire(*MEMBER, "--follow", "--exit-eof", "-f", "%s")
    assert (outcome.code, sorted(outcome.out)) == (0, sorted(b"012345678901234"))


def test_what_a_filter_leaves_out_is_committed_as_well(kwire: Kwire, ten: Broker) -> None:
    assert kwire(*MEMBER, "--filter", "value=3", "-c", "1").lines == ["3"]
    rest = kwire(*MEMBER, "-e", "--filter", "value~[2-57]", "-f", "%p%s ").out.split()
    first = b"13" if b"13" not in rest else b"03"
    assert sorted(rest) == sorted({b"02", b"03", b"04", b"05", b"07", b"12", b"13", b"14"} - {first, first[:1] + b"2"})
    assert {partition: offset for partition, offset in committed(kwire).items() if offset} == {0: 10, 1: 5}
