"""The checker finds nothing in a history that keeps every promise, and each broken one by its rule."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.chaos.checker import ALWAYS, RULES, Evidence, judge

Change = Callable[[Evidence], object]


def event(name: str, at: float, who: str = "writer-0.1", /, **facts: Any) -> dict[str, Any]:
    return {"t": at, "who": who, "event": name, **facts}


def kept() -> Evidence:
    """A writer of three records, a group that reads them, a copy, a share group, and two transactions."""
    records = [(0, "a"), (1, "b"), (2, "c")]
    pairs = [list(pair) for pair in records]
    place = {"topic": "written", "partition": 0}
    reader = {"who": "reader-0.1", "group": "readers"}
    events = [
        event("started", 0.0, role="writer", topic="written"),
        event("started", 0.0, "reader-0.1", role="member", topic="written", group="readers"),
        event("started", 0.0, "copier-0.1", role="copier", topic="written", group="copiers", target="copied"),
        event("started", 0.0, "sharer-0.1", role="sharer", topic="written", group="sharers"),
        *[event("sent", 1.0 + offset, within=30, value=value, **place) for offset, value in records],
        event("begun", 4.0, call=1, name="flush", within=2.0),
        *[event("delivered", 4.1, value=value, offset=offset, **place) for offset, value in records],
        event("ended", 4.5, call=1),
        event("handed_out", 5.0, records=pairs[:2], **place, **reader),
        event("committing", 5.1, commit="c1", topic="written", positions={"0": 2}, **reader),
        event("committed", 5.2, commit="c1", who="reader-0.1"),
        event("handed_out", 5.3, records=pairs[2:], **place, **reader),
        event("committing", 5.4, commit="c2", topic="written", positions={"0": 3}, **reader),
        event("committed", 5.5, commit="c2", who="reader-0.1"),
        event("handed_out", 6.0, "copier-0.1", group="copiers", records=pairs, **place),
        event("handed_out", 6.0, "sharer-0.1", group="sharers", records=pairs, **place),
        event("accepting", 6.05, "sharer-0.1", group="sharers", offsets=[0, 1, 2], **place),
        event("accepted", 6.1, "sharer-0.1", group="sharers", offsets=[0, 1, 2], **place),
        event("transaction", 7.0, transaction="t1", topic="transacted", values=["x", "y"]),
        event("resolved", 7.1, transaction="t1", outcome="committed"),
        event("transaction", 7.2, transaction="t2", topic="transacted", values=["z"]),
        event("resolved", 7.3, transaction="t2", outcome="aborted"),
        event("transaction", 7.4, transaction="t3", topic="transacted", values=["v", "w"]),
        event("forked", 7.9, does="_close_the_copy", code=0),
        event("exited", 8.0, "faults", client="writer-0.1", code=0, tail=""),
    ]
    topics = {
        "written": {0: list(records)},
        "copied": {0: [(0, "a"), (1, "b"), (3, "c")]},
        "transacted": {0: [(0, "x")], 1: [(0, "y")]},
    }
    return Evidence(events, topics, {("readers", "written", 0): 3})


def find(evidence: Evidence, name: str, **facts: Any) -> dict[str, Any]:
    """The last event of that name with these facts."""
    return [each for each in evidence.of(name) if all(each.get(key) == value for key, value in facts.items())][-1]


def add(evidence: Evidence, *events: dict[str, Any]) -> None:
    evidence.events = sorted([*evidence.events, *events], key=lambda each: float(each["t"]))


def reader_gets(evidence: Evidence, records: list[list[Any]], at: float = 9.0) -> None:
    facts = {"group": "readers", "topic": "written", "partition": 0}
    add(evidence, event("handed_out", at, "reader-0.1", records=records, **facts))


def sharer_gets(evidence: Evidence, who: str, at: float) -> None:
    facts = {"group": "sharers", "topic": "written", "partition": 0}
    add(evidence, event("handed_out", at, who, records=[[1, "b"]], **facts))


def sharer_accepts(evidence: Evidence, who: str, at: float) -> None:
    facts = {"group": "sharers", "topic": "written", "partition": 0}
    add(evidence, event("accepting", at, who, offsets=[1], **facts))


def reader_commits(evidence: Evidence, position: int, at: float) -> None:
    facts = {"group": "readers", "topic": "written", "positions": {"0": position}}
    add(evidence, event("committing", at, "reader-0.1", commit="c9", **facts))
    add(evidence, event("committed", at + 0.01, "reader-0.1", commit="c9"))


def without_hand_outs(evidence: Evidence) -> None:
    evidence.events = [each for each in evidence.events if each["event"] != "handed_out" or each["t"] != 5.3]


def without_second_commit(evidence: Evidence) -> None:
    evidence.events = [each for each in evidence.events if each.get("commit") != "c2"]


def raised(evidence: Evidence, error: str, *, own: bool = True) -> None:
    add(evidence, event("begun", 9.0, call=2, name="poll", within=1.0))
    add(evidence, event("ended", 9.1, call=2, error={"type": error, "own": own, "text": "why"}))


def slow_call(evidence: Evidence, *more: dict[str, Any]) -> None:
    add(evidence, event("begun", 20.0, call=7, name="commit", within=5.0), event("ended", 29.0, call=7), *more)


BROKEN: dict[str, list[Change]] = {
    "acknowledged_once": [
        lambda evidence: evidence.topics["written"][0].pop(1),
        lambda evidence: evidence.topics["written"][0].append((3, "a")),
        lambda evidence: find(evidence, "delivered", value="b").update(offset=2),
    ],
    "in_order": [lambda evidence: evidence.topics["written"][0].__setitem__(slice(0, 2), [(0, "b"), (1, "a")])],
    "only_what_was_sent": [
        lambda evidence: reader_gets(evidence, [[1, "c"]]),
        lambda evidence: reader_gets(evidence, [[7, "a"]]),
    ],
    "intact": [lambda evidence: reader_gets(evidence, [[1, "B"]])],
    "nothing_lost": [
        without_hand_outs,
        lambda evidence: find(evidence, "handed_out", group="sharers")["records"].pop(),
    ],
    "commits_follow_hand_outs": [
        lambda evidence: reader_commits(evidence, 3, at=5.25),
        without_hand_outs,
        lambda evidence: (without_hand_outs(evidence), without_second_commit(evidence)),
    ],
    "commits_never_go_back": [
        lambda evidence: reader_commits(evidence, 1, at=5.6),
        lambda evidence: evidence.positions.update({("readers", "written", 0): 2}),
        lambda evidence: setattr(evidence, "positions", {("others", "written", 0): 3}),
    ],
    "copied_once": [
        lambda evidence: evidence.topics["copied"][0].pop(),
        lambda evidence: evidence.topics["copied"][0].append((5, "a")),
        lambda evidence: evidence.topics["copied"][0].reverse(),
    ],
    "all_or_nothing": [
        lambda evidence: evidence.topics["transacted"][1].pop(),
        lambda evidence: evidence.topics["transacted"].clear(),
        lambda evidence: evidence.topics["transacted"][0].append((2, "z")),
        lambda evidence: evidence.topics["transacted"][0].append((2, "v")),
    ],
    "final_once_accepted": [
        lambda evidence: sharer_gets(evidence, "sharer-0.1", at=9.0),
    ],
    "nothing_unaccepted_lost": [
        lambda evidence: (
            sharer_gets(evidence, "sharer-1.1", at=6.07),
            find(evidence, "accepted").update(offsets=[0, 2]),
        ),
        lambda evidence: find(evidence, "accepting")["offsets"].pop() and find(evidence, "accepted")["offsets"].pop(),
        lambda evidence: evidence.lags.update({("sharers", "written", 0): 1}),
    ],
    "in_time": [
        slow_call,
        lambda evidence: slow_call(evidence, event("late", 22.0, "faults", since=21.0, until=22.0)),
        lambda evidence: slow_call(
            evidence, event("stopped", 29.5, "faults", client="other.1", since=20.5, until=29.0)
        ),
        lambda evidence: add(
            evidence,
            event("begun", 9.0, call=3, name="close", within=2.0),
            event("killed", 15.0, "faults", client="writer-0.1"),
        ),
        lambda evidence: find(evidence, "sent", value="a").update(within=0.1),
    ],
    "errors_of_kwire": [
        lambda evidence: raised(evidence, "KeyError", own=False),
        lambda evidence: raised(evidence, "ConcurrentUseError"),
        lambda evidence: raised(evidence, "CorruptError"),
    ],
    "no_crashes": [
        lambda evidence: find(evidence, "exited").update(code=-11),
        lambda evidence: find(evidence, "forked").update(code=1),
    ],
}


def test_a_history_that_keeps_every_promise_is_not_blamed() -> None:
    assert judge(kept()) == []


def test_each_rule_has_a_history_that_breaks_it() -> None:
    assert sorted(BROKEN) == sorted(rule.__name__ for rule in ALWAYS + RULES)


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_promise_is_found_by_its_rule(rule: str) -> None:
    for number, change in enumerate(BROKEN[rule]):
        evidence = deepcopy(kept())
        change(evidence)
        found = {wrong.partition(":")[0] for wrong in judge(evidence)}
        assert rule in found, (rule, number)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda evidence: slow_call(
                evidence, event("stopped", 29.5, "faults", client="writer-0.1", since=20.5, until=26.0)
            ),
            id="a process that was stopped",
        ),
        pytest.param(
            lambda evidence: slow_call(evidence, event("late", 28.0, "faults", since=23.0, until=27.5)),
            id="a machine that was late",
        ),
        pytest.param(
            lambda evidence: (slow_call(evidence), find(evidence, "ended", call=7).update(waited=3.5)),
            id="a thread that was ready and got no processor",
        ),
        pytest.param(
            lambda evidence: add(
                evidence,
                event("begun", 9.0, call=3, name="close", within=2.0),
                event("killed", 10.0, "faults", client="writer-0.1"),
            ),
            id="a call that was killed in its time",
        ),
        pytest.param(lambda evidence: reader_gets(evidence, [[0, "a"]]), id="a record that is handed out again"),
        pytest.param(
            lambda evidence: (
                find(evidence, "accepted").update(offsets=[0, 2]),
                sharer_gets(evidence, "sharer-1.1", at=7.0),
                sharer_accepts(evidence, "sharer-1.1", at=7.1),
            ),
            id="a record that another member accepts, though nobody was told that the broker knows",
        ),
        pytest.param(
            lambda evidence: add(evidence, event("sent", 9.0, within=30, value="d", topic="written", partition=0)),
            id="a record whose fate nobody knows",
        ),
        pytest.param(lambda evidence: raised(evidence, "KafkaTimeoutError"), id="an error of the package"),
        pytest.param(
            lambda evidence: (
                reader_commits(evidence, 2, at=5.15),
                find(evidence, "committed", commit="c9").update(t=5.49),
            ),
            id="a commit that was on its way beside another",
        ),
    ],
)
def test_what_no_promise_excludes_is_not_blamed(change: Change) -> None:
    evidence = kept()
    change(evidence)
    assert judge(evidence) == []


def test_where_bits_were_turned_only_times_values_and_errors_are_judged() -> None:
    evidence = kept()
    evidence.damaged = True
    evidence.topics["written"][0].clear()
    raised(evidence, "CorruptError")
    assert judge(evidence) == []
    reader_gets(evidence, [[1, "B"]])
    assert [wrong.partition(":")[0] for wrong in judge(evidence)] == ["intact"]
