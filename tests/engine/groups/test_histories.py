"""Random histories of groups, on releases from 0.9 on: what members read and commit, whatever befalls them."""

from __future__ import annotations

import pytest

from kwire.engine.groups.group_offsets import GroupOffsets
from tests.engine.groups.histories import MOST_REQUESTS, play
from tests.thorough import THOROUGH, seeds


@pytest.mark.parametrize("seed", seeds(400 if THOROUGH else 12))
def test_nothing_is_skipped_and_commits_are_honest(seed: int) -> None:
    history = play(seed)
    assert history.commits
    assert all(max(member.asked.values()) < MOST_REQUESTS for member in history.members)


def test_the_histories_find_commits_of_what_is_still_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupOffsets, "finished", GroupOffsets._take_all_for_finished)
    assert not all(is_honest(seed) for seed in range(4, 10))


def is_honest(seed: int) -> bool:
    try:
        play(seed)
    except AssertionError:
        return False
    return True
