"""What releases speak: rows that can be checked by hand against the guides and the releases' own answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire import errors, protocol
from kwire.schema.releases import RELEASES, first_release_with
from tests.each import each
from tests.schema.apache_versions import ROWS

# Answers of running brokers to ApiVersions v0, in hexadecimal; tests/brokers/api_versions.py writes them.
RECORDED = json.loads(Path(__file__).with_name("api_versions.json").read_text("ascii"))
NEWEST = {0: (3, 13), 1: (4, 18), 2: (1, 11), 3: (0, 13), 18: (0, 5), 19: (2, 7), 20: (1, 6), 22: (0, 5)}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.8.0", dict.fromkeys(range(8), (0, 0))),
        ("0.8.2.2", {**dict.fromkeys([*range(8), 10], (0, 0)), 8: (0, 1), 9: (0, 1)}),
        ("0.9.0.1", {0: (0, 1), 1: (0, 1), 2: (0, 0), 3: (0, 0), 6: (0, 1), 8: (0, 2), 16: (0, 0)}),
        ("0.10.2.2", {0: (0, 2), 1: (0, 3), 2: (0, 1), 3: (0, 2), 7: (1, 1), 18: (0, 0), 19: (0, 1), 20: (0, 0)}),
        ("3.9.2", {0: (0, 11), 1: (0, 17), 2: (0, 9), 3: (0, 12), 4: (0, 7), 18: (0, 4), 22: (0, 5), 82: (0, 0)}),
        ("4.4.0", {**NEWEST, 28: (0, 6), 76: (1, 1), 87: (0, 1), 94: (0, 0)}),
    ],
)
def test_rows(release: str, expected: dict[int, tuple[int, int]]) -> None:
    known = protocol.versions_of(release)
    assert {key: known[key] for key in expected} == expected
    if release.startswith("0.8"):
        assert known == expected
    line = release if release == "0.8.0" else release.rpartition(".")[0]
    assert protocol.versions_of(line) == known


@each("key", ROWS)
def test_the_ends_are_those_of_the_definitions(key: int) -> None:
    row = ROWS[key]
    for release, versions in (("3.9.2", row.old), ("4.4.0", row.newest)):
        stable = [v for v in range(versions.first, versions.last + 1) if not _unstable(release, key, v)]
        expected = (stable[0], stable[-1]) if stable else None
        assert protocol.versions_of(release).get(key) == expected


def _unstable(release: str, key: int, version: int) -> bool:
    if release == "3.9.2":
        return key in (76, 77, 78, 79, 83, 84, 85, 86, 87)
    return (key, version) == (22, 6)


@each("release", RELEASES)
def test_a_release_is_inferred_from_what_it_lists(release: str) -> None:
    table = protocol.versions_of(release)
    assert protocol.infer_release(table) == release
    if release.startswith("4."):
        assert protocol.infer_release({**table, 0: (0, table[0][1])}) == release
    assert protocol.infer_release({**table, 1000: (0, 0)}) == release


def _recorded(name: str) -> dict[int, tuple[int, int]]:
    answer = protocol.ApiVersionsResponse.decode(bytes.fromhex(RECORDED[name]), 0)
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


@pytest.mark.parametrize("name", list(RECORDED))
def test_what_real_brokers_list(name: str) -> None:
    release = name.partition("-")[0]
    known = protocol.versions_of(release)
    listed = _recorded(name)
    expected = {key: known.get(key) for key in listed}
    if release.startswith("4."):
        expected[0] = (0, known[0][1])  # listed, and refused all the same: KAFKA-18659
    assert listed == expected
    assert release.startswith(protocol.infer_release(listed))


def test_a_broker_like_no_release_is_like_its_nearest() -> None:
    listed = {**protocol.versions_of("2.8"), 1: (0, 11), 22: (0, 3)}
    assert protocol.infer_release(listed) == "2.8"
    assert protocol.infer_release({18: (0, 0), 3: (0, 1)}) == "0.10.0"
    with pytest.raises(errors.ConfigError, match=r"before 0\.10\.0"):
        protocol.infer_release({})


def test_releases_only_grow_and_stay_within_what_kwire_knows() -> None:
    before: dict[int, tuple[int, int]] = {}
    for release in RELEASES:
        now = protocol.versions_of(release)
        for key, (first, last) in now.items():
            assert first in protocol.APIS[key].versions
            assert last in protocol.APIS[key].versions
            assert last >= before.get(key, (0, 0))[1]
        assert set(before) <= set(now) | (set() if release != "4.0" else {4, 5, 6, 7})
        before = now


@pytest.mark.parametrize("release", ["0.7.2", "5.0.0", "", "four", "0"])
def test_unknown_releases_are_refused(release: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"kwire knows the lines 0\.8\.0, "):
        protocol.versions_of(release)


def test_the_first_release_with_an_api_or_a_version_of_it() -> None:
    assert [first_release_with(key, 0, 0) for key in (11, 17, 19, 44, 93)] == ["0.9", "0.10", "0.10.1", "2.3", "4.4"]
    assert first_release_with(11, 5, 9) == "2.3"
    assert first_release_with(11, 50, 60) == first_release_with(999, 0, 9) == ""
