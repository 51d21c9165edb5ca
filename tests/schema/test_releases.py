"""What releases speak: rows that can be checked by hand against the guides and the releases' own answers."""

from __future__ import annotations

import pytest

from kwire import errors, protocol
from kwire.schema.releases import RELEASES


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.8.0", {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (0, 0)}),
        ("0.9.0.1", {0: (0, 1), 1: (0, 1), 2: (0, 0), 3: (0, 0)}),
        ("0.10.2.2", {0: (0, 2), 1: (0, 3), 2: (0, 1), 3: (0, 2), 18: (0, 0), 19: (0, 1), 20: (0, 0)}),
        ("3.9.2", {0: (0, 11), 1: (0, 17), 2: (0, 9), 3: (0, 12), 18: (0, 4), 19: (0, 7), 20: (0, 6), 22: (0, 5)}),
        ("4.4.0", {0: (3, 13), 1: (4, 18), 2: (1, 11), 3: (0, 13), 18: (0, 5), 19: (2, 7), 20: (1, 6), 22: (0, 5)}),
    ],
)
def test_rows(release: str, expected: dict[int, tuple[int, int]]) -> None:
    assert protocol.versions_of(release) == expected
    line = release if release.startswith("0.8") else release.rpartition(".")[0]
    assert protocol.versions_of(line) == expected


def test_releases_only_grow_and_stay_within_what_kwire_knows() -> None:
    before: dict[int, tuple[int, int]] = {}
    for release in RELEASES:
        now = protocol.versions_of(release)
        for key, (least, most) in now.items():
            assert least in protocol.APIS[key].versions
            assert most in protocol.APIS[key].versions
            assert most >= before.get(key, (0, 0))[1]
        assert set(before) <= set(now)
        before = now


@pytest.mark.parametrize("release", ["0.7.2", "5.0.0", "", "four", "0"])
def test_unknown_releases_are_refused(release: str) -> None:
    with pytest.raises(errors.ConfigError, match=r"kwire knows the lines 0\.8\.0, "):
        protocol.versions_of(release)
