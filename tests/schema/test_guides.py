"""What the two protocol guides print is in the reference codec's tables, and kwire has it: nothing is left out."""

from __future__ import annotations

from kwire import protocol
from tests.reference import protocol as reference

_BOTH = ("request", "response")
_IN_0_9 = {
    (key, direction, version)
    for key, versions in reference.PRINTED_BY_0_9.items()
    for version in versions
    for direction in _BOTH
}
# Versions of the 0.10.1 guide that came after the 0.9 guide.
_LATER = {1: {3}, 2: {1}, 3: {1, 2}, 6: {2}, 11: {1}, 17: {0}, 18: {0}, 19: {0}, 20: {0}}


def test_every_grammar_of_the_0_9_guide_is_in_the_tables() -> None:
    assert len(_IN_0_9) == 50
    later = {
        (key, direction, version) for key, versions in _LATER.items() for version in versions for direction in _BOTH
    }
    assert set(reference.LAYOUTS) - _IN_0_9 == later
    assert not _IN_0_9 - set(reference.LAYOUTS)


def test_every_grammar_of_the_0_10_1_guide_is_a_message() -> None:
    assert len(reference.LAYOUTS) == 70
    for key, direction, version in reference.LAYOUTS:
        assert version in getattr(protocol.APIS[key], direction).__versions__


def test_what_the_0_9_guide_prints_otherwise_has_the_type_that_came_after() -> None:
    for (key, direction), fields in reference.PRINTED_OTHERWISE_BY_0_9.items():
        layouts = [reference.LAYOUTS[case] for case in _IN_0_9 if case[:2] == (key, direction)]
        for name, printed in fields.items():
            now = {"": ("[string]", "[int32]", "[int64]"), "int8": ("bool",), "string": ("string?",)}[printed]
            assert all(any(f"{name} {kind}" in layout for kind in now) for layout in layouts), (key, direction, name)
