"""Each target of each work beside what was measured: met, or missed and by how much. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.compare.figures import Costs, costs_of, markdown, number, with_range
from benchmarks.compare.rounds import ratio_of
from benchmarks.compare.runner import Outcome
from benchmarks.compare.work import KWIRE, Work
from benchmarks.compare.works import WORKS, work_named


@dataclass(frozen=True)
class Verdict:
    """A target, what was measured for it, and the measured by the target: from 1 on it is met."""

    title: str
    target: str
    measured: str
    share: float

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.share >= 1


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """Of all targets that were measured, in the order of the works."""
    found: list[Verdict] = []
    for work in WORKS:
        costs = costs_of(work, outcomes)
        if KWIRE in costs:
            found += [*_of_its_cost(work, costs), *_of_peers(work, costs), *_of_itself(work, costs, outcomes)]
    return found


def table(found: Sequence[Verdict]) -> str:
    """One line for each."""
    lines = [["work", "target", "measured", "of the target", ""]]
    lines += [
        [verdict.title, verdict.target, verdict.measured, f"{verdict.share:.2f}", "met" if verdict.met else "missed"]
        for verdict in found
    ]
    return f"### Targets: {sum(verdict.met for verdict in found)} of {len(found)} met\n\n{markdown(lines)}"


def _of_its_cost(work: Work, costs: Costs) -> Iterator[Verdict]:
    if work.most is not None:
        cost = median(costs[KWIRE].values())
        target = f"{'≥' if work.rate else '≤'} {number(work.shown(work.most))} {work.unit}"
        yield Verdict(work.title, target, f"{number(work.shown(cost))} {work.unit}", work.most / cost if cost else 1.0)


def _of_peers(work: Work, costs: Costs) -> Iterator[Verdict]:
    """How many times kwire's cost a peer's is; or, where kwire is to stay near the peer, how many times its."""
    for peer, goal in work.goals.items():
        ratio = ratio_of(costs[KWIRE], costs.get(peer, {}))
        if ratio:
            yield Verdict(work.title, f"{peer} ≥ {goal:.3g}x", with_range(ratio), ratio.median / goal)
    for peer, limit in work.within.items():
        ratio = ratio_of(costs.get(peer, {}), costs[KWIRE])
        if ratio:
            yield Verdict(work.title, f"≤ {limit:.3g}x {peer}", with_range(ratio), limit / ratio.median)


def _of_itself(work: Work, costs: Costs, outcomes: Sequence[Outcome]) -> Iterator[Verdict]:
    for name, limit in work.beside.items():
        other = work_named(name)
        ratio = ratio_of(costs_of(other, outcomes).get(KWIRE, {}), costs[KWIRE])
        if ratio:
            yield Verdict(work.title, f'≤ {limit:.3g}x "{other.title}"', with_range(ratio), limit / ratio.median)
