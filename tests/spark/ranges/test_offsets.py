"""What the bounds of a read come to on a given log, and what is said when they cannot be met."""

import pytest

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.spark.ranges.offsets import (
    EARLIEST,
    LATEST,
    Bound,
    DataLossError,
    LogEnds,
    bind,
    parse_offset_bound,
    parse_partitions,
    parse_time_bound,
    parse_times_by_partition,
)

SEM = TopicPartition("sem", 0)
OTHER = TopicPartition("sem", 1)


def bind_one(start: int, end: int, ends: LogEnds, *, fail_on_data_loss: bool = True) -> tuple[int, int]:
    bound = bind(
        Bound("startingOffsets", by_partition={SEM: start}),
        Bound("endingOffsets", by_partition={SEM: end}),
        {SEM: ends},
        {},
        fail_on_data_loss,
    )
    return bound[SEM]


@pytest.mark.parametrize(("text", "offset"), [("earliest", EARLIEST), (" LatesT", LATEST), ("EarLiest", EARLIEST)])
def test_an_offset_by_name(text: str, offset: int) -> None:
    assert parse_offset_bound("startingOffsets", text).at(SEM) == offset


def test_offsets_by_partition() -> None:
    bound = parse_offset_bound("endingOffsets", '{"sem":{"0":23,"1":-1},"b":{"12":-2}}')
    assert bound.by_partition == {SEM: 23, OTHER: LATEST, TopicPartition("b", 12): EARLIEST}


@pytest.mark.parametrize(
    "text",
    [
        "zzz",
        "",
        "[1]",
        "17",
        '{"t":5}',
        '{"t":{"0":"1"}}',
        '{"t":{"x":1}}',
        '{"t":{"0":true}}',
        '{"t":{"0":1.5}}',
        '{"t":{"0":9223372036854775808}}',
        pytest.param(f'{{"t":{{"{"0" * 5000}":1}}}}', id="digits"),
    ],
)
def test_what_is_no_offset_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_offset_bound("startingOffsets", text)
    assert 'startingOffsets: Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}' in str(caught.value)
    assert text in str(caught.value)


def test_an_offset_below_earliest_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"startingOffsets for t-0 is -3; .*-2 \(earliest\)"):
        parse_offset_bound("startingOffsets", '{"t":{"0":-3}}')


def test_assigned_partitions() -> None:
    found = parse_partitions("assign", '{"b":[2,0,2],"a":[10]}')
    assert found == (TopicPartition("a", 10), TopicPartition("b", 0), TopicPartition("b", 2))
    assert parse_partitions("assign", "{}") == ()


@pytest.mark.parametrize(
    "text", ["sem", '{"sem":0}', '{"sem":["0"]}', '{"sem":[-1]}', "[]", pytest.param("[" * 4000, id="nested")]
)
def test_what_assigns_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="No topicpartitions to assign as specified value for option 'assign' is"):
        parse_partitions("assign", text)


def test_times() -> None:
    assert parse_time_bound("startingTimestamp", "1497553200000", "error").at(SEM) == 1497553200000
    bound = parse_times_by_partition("endingOffsetsByTimestamp", '{"sem":{"0":5}}', "latest")
    assert bound.is_time
    assert bound.at(SEM) == 5
    for text in ("abc", "5.0", "", "1_000", str(2**63)):
        with pytest.raises(ConfigError, match=rf"startingTimestamp: Expected a single long value .*, got {text}$"):
            parse_time_bound("startingTimestamp", text, "error")
    with pytest.raises(ConfigError, match="startingTimestamp is -5"):
        parse_time_bound("startingTimestamp", "-5", "error")


@pytest.mark.parametrize(
    ("start", "end", "ends", "expected"),
    [
        (EARLIEST, LATEST, LogEnds(3, 10), (3, 10)),
        (EARLIEST, LATEST, LogEnds(10, 10), (10, 10)),
        (5, 8, LogEnds(3, 10), (5, 8)),
        (5, LATEST, LogEnds(3, 10), (5, 10)),
        (10, LATEST, LogEnds(3, 10), (10, 10)),
        (EARLIEST, 7, LogEnds(3, 10), (3, 7)),
        (1, 1, LogEnds(3, 10), (3, 3)),
    ],
)
def test_a_range_on_a_log_that_has_it(start: int, end: int, ends: LogEnds, expected: tuple[int, int]) -> None:
    if start == end:
        first, last = bind_one(start, end, ends)
        assert first == last
    else:
        assert bind_one(start, end, ends) == expected


@pytest.mark.parametrize(
    ("start", "end", "ends", "left"),
    [
        (10, 100, LogEnds(50, 100), (50, 100)),
        (10, 60, LogEnds(50, 100), (50, 60)),
        (10, 40, LogEnds(50, 100), (40, 40)),
        (0, 99, LogEnds(0, 10), (0, 10)),
        (20, 99, LogEnds(0, 10), (20, 20)),
    ],
)
def test_lost_records_fail_the_read_or_are_left_out(start: int, end: int, ends: LogEnds, left: tuple[int, int]) -> None:
    with pytest.raises(DataLossError, match=rf"offset \[{start}, {end}\) for topic partition sem-0.*failOnDataLoss"):
        bind_one(start, end, ends)
    assert bind_one(start, end, ends, fail_on_data_loss=False) == left


def test_a_start_after_the_end_is_refused() -> None:
    with pytest.raises(
        ConfigError,
        match="startingOffsets, endingOffsets: The specified start offset 5 is greater than the end offset 3 for",
    ):
        bind_one(5, 3, LogEnds(0, 10))
    for fail_on_data_loss in (True, False):
        with pytest.raises(ConfigError, match="endingOffsets: The resolved start offset 99 is greater than"):
            bind_one(99, LATEST, LogEnds(0, 10), fail_on_data_loss=fail_on_data_loss)


def test_bounds_that_contradict_each_other_are_told_before_what_another_partition_has_lost() -> None:
    start = Bound("startingOffsets", by_partition={SEM: 0, OTHER: 8})
    end = Bound("endingOffsets", by_partition={SEM: 12, OTHER: 7})
    with pytest.raises(ConfigError, match="The specified start offset 8 is greater than"):
        bind(start, end, {SEM: LogEnds(0, 10), OTHER: LogEnds(0, 10)}, {}, True)


def test_a_start_time_after_the_end_time_is_refused() -> None:
    text = "endingOffsetsByTimestamp: The specified start timestamp 2000 is greater than the end timestamp 1000 for"
    logs, times = {SEM: LogEnds(0, 10)}, {(SEM, 2000): LATEST, (SEM, 1000): 5}
    start = parse_times_by_partition("startingOffsetsByTimestamp", '{"sem":{"0":2000}}', "latest")
    end = parse_times_by_partition("endingOffsetsByTimestamp", '{"sem":{"0":1000}}', "latest")
    with pytest.raises(ConfigError, match=text):
        bind(start, end, logs, times, True)


def test_one_time_for_all_partitions_may_be_after_the_end_of_an_empty_log() -> None:
    logs, times = {SEM: LogEnds(3, 3)}, {(SEM, 2000): LATEST, (SEM, 1000): LATEST}
    start = parse_time_bound("startingTimestamp", "2000", "latest")
    for end in (
        parse_time_bound("endingTimestamp", "1000", "latest"),
        parse_times_by_partition("endingOffsetsByTimestamp", '{"sem":{"0":1000}}', "latest"),
    ):
        assert bind(start, end, logs, times, True) == {SEM: (3, 3)}


def test_offsets_must_name_exactly_what_is_read() -> None:
    logs = {SEM: LogEnds(0, 10), OTHER: LogEnds(0, 10)}
    everything = Bound("endingOffsets", everywhere=LATEST)
    few = Bound("startingOffsets", by_partition={SEM: 0})
    with pytest.raises(ConfigError, match=r"specified for startingOffsets don't match .*not named: sem-1"):
        bind(few, everything, logs, {}, True)
    many = Bound("endingOffsets", by_partition={SEM: 5, OTHER: 5, TopicPartition("x", 0): 5})
    with pytest.raises(ConfigError, match=r"specified for endingOffsets don't match .*named but not read: x-0"):
        bind(Bound("startingOffsets", everywhere=EARLIEST), many, logs, {}, True)


def test_times_without_a_record_that_late() -> None:
    logs = {SEM: LogEnds(0, 10), OTHER: LogEnds(0, 4)}
    times = {(SEM, 1000): 6, (OTHER, 1000): LATEST}
    end = Bound("endingOffsets", everywhere=LATEST)
    lenient = Bound("startingTimestamp", everywhere=1000, is_time=True, no_match="latest")
    assert bind(lenient, end, logs, times, True) == {SEM: (6, 10), OTHER: (4, 4)}
    strict = Bound("startingTimestamp", everywhere=1000, is_time=True, no_match="error")
    with pytest.raises(ConfigError, match="No offset matched from request of topic-partition sem-1 and timestamp 1000"):
        bind(strict, end, logs, times, True)
