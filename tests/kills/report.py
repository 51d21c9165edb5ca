"""The results side by side, as a table of Markdown."""

from math import ceil

from tests.kills.race import Result


def table(results: list[Result]) -> str:
    """A row for each writer; the times from a kill to the next acknowledgement are p50, p90, p99, max in s."""
    lines = [
        "| writer | acknowledged | faults | where the dead node led | elsewhere |",
        "|---|---|---|---|---|",
    ]
    for result in results:
        wrong = ", ".join(f"{count:,} {name}" for name, count in result.faults.items()) or "none"
        lines.append(
            f"| {result.writer} | {result.acknowledged:,} | {wrong} "
            f"| {_quantiles(result.of_led)} (of {len(result.of_led)}) | {_quantiles(result.of_others)} |"
        )
    return "\n".join(lines)


def _quantiles(seconds: list[float]) -> str:
    return ", ".join(f"{quantile(seconds, share):.2f}" for share in (0.5, 0.9, 0.99, 1.0)) if seconds else "-"


def quantile(values: list[float], share: float) -> float:
    """The least value that so large a share does not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]
