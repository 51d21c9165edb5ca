"""What codes meant per release: rows checked by hand against the guides and the classes of old releases."""

from __future__ import annotations

import pytest

from kwire import errors
from kwire.errors import broker, history
from kwire.protocol import kafka_0_7
from kwire.schema.releases import RELEASES

# Of the guides of 0.9 and 0.10.1, as far as something moved since.
GUIDE = {
    -1: ("UNKNOWN", False),
    6: ("NOT_LEADER_FOR_PARTITION", True),
    9: ("REPLICA_NOT_AVAILABLE", False),
    14: ("GROUP_LOAD_IN_PROGRESS", True),
    15: ("GROUP_COORDINATOR_NOT_AVAILABLE", True),
    16: ("NOT_COORDINATOR_FOR_GROUP", True),
}


@pytest.mark.parametrize("release", ["0.9.0.1", "0.10.1.1"])
def test_the_tables_of_the_guides(release: str) -> None:
    codes = history.codes_of(release)
    for code, row in codes.items():
        now = broker.by_code(code)
        assert (row.name, row.retriable) == GUIDE.get(code, (now.name, now.retriable))
        assert row.text == now.text
        assert row.error is now


@pytest.mark.parametrize(
    ("release", "newest", "count"),
    [
        ("0.7", 4, 6),
        ("0.7.2", 4, 6),
        ("0.8.0", 11, 13),
        ("0.8.1.1", 13, 15),
        ("0.8.2.2", 20, 22),
        ("0.9.0.1", 31, 33),
        ("0.10.0.1", 35, 37),
        ("0.10.1.1", 43, 45),
        ("2.6", 88, 90),
        ("3.9.2", 127, 129),
        ("4.3.1", 133, 135),
        ("4.4.0", 136, 138),
    ],
)
def test_how_many_codes_a_release_has(release: str, newest: int, count: int) -> None:
    codes = history.codes_of(release)
    assert list(codes) == list(range(-1, newest + 1))
    assert len(codes) == count
    assert history.meaning(newest + 1, release) is None


def test_codes_that_meant_something_else() -> None:
    partition = history.meaning(3, "0.7")
    assert partition is not None
    assert (partition.name, partition.retriable, partition.since) == ("WrongPartitionCode", None, "0.7")
    assert partition.text != broker.by_code(3).text
    shipped = history.meaning(3, "0.8.0")
    assert shipped is not None
    assert (shipped.name, shipped.text) == ("UnknownTopicOrPartitionCode", broker.by_code(3).text)
    epoch, network = history.meaning(13, "0.8.2"), history.meaning(13, "0.9.0")
    assert epoch is not None
    assert network is not None
    assert (epoch.name, network.name) == ("StaleLeaderEpochCode", "NETWORK_EXCEPTION")
    assert epoch.text != network.text


@pytest.mark.parametrize(("code", "before", "after"), [(9, "2.5", "2.6"), (51, "3.2", "3.3"), (46, "1.0", "0.11.0.3")])
def test_flags_that_changed(code: int, before: str, after: str) -> None:
    first, then = history.meaning(code, before), history.meaning(code, after)
    assert first is not None
    assert then is not None
    assert (first.retriable, then.retriable) == (False, True)


def test_the_newest_is_what_kwire_raises() -> None:
    for code, row in history.codes_of("4.4.0").items():
        cls = broker.by_code(code)
        assert (row.name, row.retriable, row.text) == (cls.name, cls.retriable, cls.text)


def test_every_line_of_releases_is_known_and_only_adds() -> None:
    before: set[int] = set(history.codes_of("0.7"))
    for release in RELEASES:
        now = history.codes_of(release)
        assert before <= set(now)
        before = set(now)
        assert all(row.since in ("0.7", *RELEASES) for row in now.values())


@pytest.mark.parametrize("release", ["", "0.8", "0.6", "5.0", "4.5.0", "trunk", "3", "0.50.0", "4.x"])
def test_releases_that_are_not_known(release: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"kwire knows the error codes of the lines 0\.7, 0\.8\.0, "):
        history.meaning(0, release)


@pytest.mark.parametrize("code", [-2, 137, 32767, -32768])
def test_codes_that_no_release_has(code: int) -> None:
    assert history.meaning(code, "4.4.0") is None


def test_it_is_loaded_by_name() -> None:
    assert errors.history.meaning is history.meaning


def test_what_a_0_7_frame_shows_is_what_the_history_says() -> None:
    assert (
        kafka_0_7.ERRORS
        == {code: row.name for code, row in history.codes_of("0.7").items()}
        == {
            -1: "UnknownCode",
            0: "NoError",
            1: "OffsetOutOfRangeCode",
            2: "InvalidMessageCode",
            3: "WrongPartitionCode",
            4: "InvalidFetchSizeCode",
        }
    )
