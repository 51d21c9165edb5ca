"""Every input of the fuzzer's corpora once, with the ordinary extension: what a fuzzer found does not come back.

Without clang, coverage or limits; the targets' own assertions hold here as they do in `make fuzz`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.each import case
from tests.fuzz.corpus import read_corpus
from tests.fuzz.targets import FAMILIES, all_targets


@pytest.fixture(autouse=True)
def _quick_collections() -> Iterator[None]:
    """Some targets collect garbage again and again: not all that other tests have left."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_the_engine_cuts_no_known_input() -> None:
    for target in all_targets().values():
        for data in [*target.seeds(), *read_corpus(target.name)]:
            with case(target.name, data.hex()):
                assert len(data) <= target.max_len


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_no_known_input_is_a_finding(family: str) -> None:
    targets = [target for target in all_targets().values() if target.family == family]
    assert targets
    for target in targets:
        inputs = read_corpus(target.name)
        assert inputs, f"{target.name} has no corpus; python -m tests.fuzz --keep {target.name} makes one"
        for data in inputs:
            with case(target.name, data.hex()):
                target.check(data)
