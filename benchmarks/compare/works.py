"""All works, in the order of the tables, and how they are chosen by name."""

from __future__ import annotations

from benchmarks.compare.client_works import client_works
from benchmarks.compare.codec_works import codec_works, package_works
from benchmarks.compare.work import Work

WORKS: tuple[Work, ...] = (*codec_works(), *client_works(), *package_works())
GROUPS = tuple(dict.fromkeys(work.group for work in WORKS))


def work_named(name: str) -> Work:
    """The work of that name. Raises KeyError."""
    for work in WORKS:
        if work.name == name:
            return work
    raise KeyError(name)


def chosen(names: list[str], *, quick: bool = False) -> list[Work]:
    """The works of these names or groups; if none is given, all, or those of a quick run.

    Raises ValueError for a name that is neither.
    """
    known = {*GROUPS, *(work.name for work in WORKS)}
    for name in names:
        if name not in known:
            raise ValueError(f"{name!r} is no work and no group; --list shows them")
    if names:
        return [work for work in WORKS if work.name in names or work.group in names]
    return [work for work in WORKS if work.quick or not quick]


def left_out(works: list[Work]) -> str:
    """What of all works these lack, for people: whole groups by their name, the rest by title; "" if nothing."""
    missing = [work for work in WORKS if work not in works]
    groups = [group for group in GROUPS if not any(work.group == group for work in works)]
    return ", ".join([*groups, *(work.title for work in missing if work.group not in groups)])
