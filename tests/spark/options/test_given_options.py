"""Texts of options become values; what cannot be meant is refused under the documented name."""

import logging
import re
from collections.abc import Callable

import pytest

from kwire.errors import ConfigError
from kwire.spark.options.given import GivenOptions, names_of_all_uses
from kwire.spark.options.log import parse_log_options
from kwire.spark.options.read import parse_batch_options
from kwire.spark.options.stream import parse_stream_options
from kwire.spark.options.write import parse_write_options


def test_names_count_without_their_case_and_values_without_blanks() -> None:
    given = GivenOptions({"MinPartitions": " 7 ", "kafka.Client.Id": "job"})
    assert "minpartitions" in given
    assert given.integer("minPartitions") == 7
    assert given.client_properties() == {"client.id": "job"}


def test_what_is_not_given_has_its_default() -> None:
    given = GivenOptions({})
    assert (given.text("a"), given.text("a", "b")) == (None, "b")
    assert (given.integer("a"), given.integer("a", 5)) == (None, 5)
    assert (given.boolean("a", True), given.boolean("a", False)) == (True, False)
    assert (given.duration_s("a", 1.5), given.choice("a", ("x", "y"), "y")) == (1.5, "y")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250", 0.25), ("500ms", 0.5), ("10s", 10), ("15m", 900), ("15 min", 900), ("2H", 7200), ("1d", 86_400)],
)
def test_durations_as_spark_writes_them(text: str, seconds: float) -> None:
    assert GivenOptions({"maxtriggerdelay": text}).duration_s("maxTriggerDelay", 0) == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "size"), [("1000", 1000), ("64m", 64 << 20), (" 2 GiB ", 2 << 30), ("1KB", 1024)])
def test_sizes(text: str, size: int) -> None:
    assert GivenOptions({"maxBytesPerTrigger": text}).size("maxBytesPerTrigger") == size
    assert GivenOptions({}).size("maxBytesPerTrigger") is None


@pytest.mark.parametrize("text", ["0", "-1", "1q", "1.5m", "", "9" * 5000])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="maxBytesPerTrigger: expected a size as 64m"):
        GivenOptions({"maxBytesPerTrigger": text}).size("maxBytesPerTrigger")


@pytest.mark.parametrize("text", ["-1", "1q", "", "9" * 400, "9" * 5000 + "h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="maxTriggerDelay: expected a time as 500ms"):
        GivenOptions({"maxTriggerDelay": text}).duration_s("maxTriggerDelay", 0)


def test_a_stream_takes_a_size_per_trigger() -> None:
    given = {"kafka.bootstrap.servers": "a:1", "subscribe": "t", "maxBytesPerTrigger": "64m"}
    assert parse_stream_options(given).trigger.max_bytes == 64 << 20


def test_a_choice_is_told_as_it_is_written() -> None:
    assert GivenOptions({"mode": "FAIL"}).choice("mode", ("fail", "null"), "null") == "fail"


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda given: given.integer("maxTasks"), "maxTasks: expected a whole number, got 'x'"),
        (lambda given: given.boolean("failOnDataLoss", True), "failOnDataLoss: expected true or false, got 'x'"),
        (lambda given: given.duration_s("delay", 0), "delay: expected a time as 500ms, 10s, 15m, 2h or 1d"),
        (lambda given: given.choice("mode", ("a", "b", "c"), "a"), "mode: expected 'a', 'b' or 'c', got 'x'"),
        (lambda given: given.integer("low", minimum=5), "low must be at least 5, got 4"),
    ],
)
def test_values_that_cannot_be_meant(ask: Callable[[GivenOptions], object], text: str) -> None:
    given = GivenOptions({**dict.fromkeys(("maxtasks", "failondataloss", "delay", "mode"), "x"), "low": "4"})
    with pytest.raises(ConfigError, match=re.escape(text)):
        ask(given)


def test_unknown_names_are_refused_and_those_of_other_uses_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigError, match="Unknown option 'subscribes'; did you mean 'subscribe'"):
        GivenOptions({"subscribes": "a"}).check_names({"subscribe"})
    given = GivenOptions({"subscribe": "a", "endingOffsets": "latest", "maxOffsetsPerTrigger": "1", "kafka.any": "x"})
    given.check_names({"subscribe"})
    with caplog.at_level(logging.WARNING, "kwire.spark"):
        given.warn_once()
        given.warn_once()
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "endingOffsets" in warning
    assert "maxOffsetsPerTrigger" in warning


def test_every_use_lists_its_options() -> None:
    assert {"subscribe", "maxTasks", "maxTriggerDelay"} <= names_of_all_uses()


def test_a_name_near_one_of_another_kind_of_query_is_shown() -> None:
    with pytest.raises(ConfigError, match="did you mean 'maxOffsetsPerTrigger'"):
        GivenOptions({"maxOffsetPerTrigger": "1"}).check_names(["subscribe"])


@pytest.mark.parametrize("parse", [parse_batch_options, parse_write_options])
def test_no_options_at_all_are_those_of_a_table(parse: Callable[[dict[str, str]], object]) -> None:
    """Spark makes one in saveAsTable, after it has written, and hands over nothing when it is read or inserted into."""
    for given, said in (({}, True), ({"topic": "t"} if parse is parse_write_options else {"subscribe": "t"}, False)):
        with pytest.raises(ConfigError, match=r"Option 'kafka\.bootstrap\.servers' must be specified") as refused:
            parse(given)
        assert ("as for a table (saveAsTable, CREATE TABLE ... AS)" in str(refused.value)) is said


def test_the_options_of_a_table_are_refused_with_what_works_instead() -> None:
    of_spark = {"provider": "kwire", "owner": "me", "option.subscribe": "a", "subscribe": "a"}
    with pytest.raises(ConfigError, match="CREATE TEMPORARY VIEW"):
        GivenOptions(of_spark).check_names(["subscribe"])


@pytest.mark.parametrize("name", ["sasl.jaas.config", "fetch.max.bytes", "acks"])
def test_a_property_without_its_prefix_is_shown_with_it(name: str) -> None:
    with pytest.raises(ConfigError, match=f"Unknown option '{name}'; did you mean 'kafka.{name}'"):
        GivenOptions({name: "1"}).check_names(["subscribe"])


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.pasword",
        "kafka.no.such.thing",
        "kafka.password",
        "pasword",
        "kafka.bootstrap.server",
        "decoder.registry.pasword",
    ],
)
@pytest.mark.parametrize("parse", [parse_batch_options, parse_stream_options, parse_write_options])
def test_the_value_of_an_unknown_name_is_not_shown(parse: Callable[[dict[str, str]], object], name: str) -> None:
    """It may be a password whose name has a typo."""
    given = {"kafka.bootstrap.servers": "a:1", "topic" if parse is parse_write_options else "subscribe": "t"}
    if name.startswith("decoder."):
        given |= {} if parse is parse_write_options else {"decoder": "avro", "decoder.schema": '"string"'}
    with pytest.raises(ConfigError) as refused:
        parse({**given, name: "hunter2"})
    assert name in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("text", ["x", "{}", "[5]", "[" * 4000])
def test_paths_that_are_no_list_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="paths: expected a list of paths"):
        parse_log_options({"paths": text})
