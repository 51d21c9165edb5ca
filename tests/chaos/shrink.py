"""Fewer faults that still break the same schedule: delta debugging (ddmin) over their numbers."""

from collections.abc import Callable


def shrink(numbers: list[int], breaks: Callable[[list[int]], bool], tries: int) -> list[int]:
    """The smallest part of `numbers` that was found to break within so many tries.

    A try that passes by luck only leaves the result larger than need be.
    """
    parts = 2
    seen: set[tuple[int, ...]] = {tuple(numbers)}
    while len(numbers) > 1:
        for candidate in _candidates(numbers, parts):
            if tuple(candidate) in seen:
                continue
            if tries == 0:
                return numbers
            tries -= 1
            seen.add(tuple(candidate))
            if breaks(candidate):
                parts = 2 if len(candidate) <= len(numbers) // 2 else max(parts - 1, 2)
                numbers = candidate
                break
        else:
            if parts >= len(numbers):
                return numbers
            parts = min(2 * parts, len(numbers))
    return numbers


def _candidates(numbers: list[int], parts: int) -> list[list[int]]:
    """Each of so many parts, then all but each."""
    size = -(-len(numbers) // parts)
    slices = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    rest = [[number for number in numbers if number not in part] for part in slices]
    return slices + (rest if len(slices) > 2 else [])
