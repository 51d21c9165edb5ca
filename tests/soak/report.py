"""The table of a soak run, in plain text: levels, slopes with their margins, and a plot of each gauge's course."""

from collections.abc import Mapping, Sequence

from tests.soak.judge import Slope

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 48


def plot(values: Sequence[float], width: int = _WIDTH) -> str:
    """One line of bars from the lowest value to the highest; a flat one where all are alike."""
    count = min(width, len(values))
    means = []
    for number in range(count):
        part = values[len(values) * number // count : len(values) * (number + 1) // count]
        means.append(sum(part) / len(part))
    low, high = min(means), max(means)
    if high == low:
        return _BARS[0] * count
    return "".join(_BARS[round((mean - low) / (high - low) * (len(_BARS) - 1))] for mean in means)


def table(
    slopes: Mapping[str, Slope],
    late: Mapping[str, Slope],
    allowed: Mapping[str, float],
    series: Mapping[str, Sequence[float]],
) -> str:
    """A row for each gauge; `series` is its course from the first second on, the warm-up too. `late` are the slopes of
    the last half: those of what fills up become small, those of a leak stay."""
    head = f"{'gauge':17}{'level':>10}{'low':>10}{'high':>10}{'per hour':>12}{'+/-':>10}"
    lines = [f"{head}{'last half':>12}{'+/-':>10}{'allowed':>10}"]
    for name, slope in slopes.items():
        course, last = series[name], late[name]
        numbers = f"{slope.first:10.1f}{min(course):10.1f}{max(course):10.1f}{slope.per_hour:12.1f}{slope.margin:10.1f}"
        numbers += f"{last.per_hour:12.1f}{last.margin:10.1f}"
        leak = "  LEAK" if slope.is_leak(allowed[name]) else ""
        lines.append(f"{name:17}{numbers}{allowed[name] / slope.hours:10.1f}  {plot(course)}{leak}")
    return "\n".join(lines)
