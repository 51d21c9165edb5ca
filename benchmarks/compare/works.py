"""All works, in the order of the tables, and how they are chosen by name."""

from __future__ import annotations

from benchmarks.compare.client_works import client_works
from benchmarks.compare.codec_works import codec_works, package_works
from benchmarks.compare.work import Work

WORKS: tuple[Work, ...] = (*codec_works(), *client_works(), *package_works())
GROUPS = tuple(dict.fromkeys(work.group for work in WORKS))


def chosen(names: list[str]) -> list[Work]:
    """The works of these names or groups, all if none is given. Raises ValueError for a name that is neither."""
    known = {*GROUPS, *(work.name for work in WORKS)}
    for name in names:
        if name not in known:
            raise ValueError(f"{name!r} is no work and no group; --list shows them")
    return [work for work in WORKS if not names or work.name in names or work.group in names]
