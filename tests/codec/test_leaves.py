"""Named tuples that the cyclic collector need not visit: only those through which no cycle can lead."""

from __future__ import annotations

import gc
import weakref
from typing import Any, NamedTuple

import pytest

from kwire import TopicPartition
from kwire._codec import untracked
from kwire.engine.groups.assignors.contract import partitions_of
from kwire.engine.metadata.metadata import topic_info
from kwire.protocol import MetadataResponse
from tests.each import each


class Pair(NamedTuple):
    one: Any
    other: Any


class Text(str):
    """Unlike a text, it may hold anything."""


class Number(int):
    pass


@each("leaf", [Pair(1, "t"), Pair((), -1), Pair("", untracked((1, 2))), (1,), ()])
def test_tuples_of_texts_numbers_and_such_tuples_are_not_visited(leaf: tuple[object, ...]) -> None:
    assert untracked(leaf) is leaf
    assert not gc.is_tracked(leaf)


@each(
    "branch", [Pair([], 1), Pair(Text("t"), 1), Pair(Number(1), 2), Pair({}, 1), Pair(None, b""), Pair(Pair(1, 2), 1)]
)
def test_tuples_of_anything_else_are(branch: Pair) -> None:
    assert untracked(branch) is branch
    assert gc.is_tracked(branch)


def test_what_is_no_tuple_is_refused() -> None:
    with pytest.raises(TypeError, match="a tuple is wanted, not list"):
        untracked([1])  # type: ignore[type-var]


def test_a_cycle_through_a_partition_of_a_strange_name_is_collected() -> None:
    name = Text("t")
    name.partition = TopicPartition(name, 0)  # type: ignore[attr-defined]
    gone = weakref.ref(name)
    del name
    gc.collect()
    assert gone() is None


def test_partitions_of_a_cluster_are_not_visited_however_they_are_made() -> None:
    row = MetadataResponse.MetadataResponseTopic
    part = row.MetadataResponsePartition
    made = MetadataResponse(topics=[row(name="t", partitions=[part(replica_nodes=(1, 2), isr_nodes=(2,))])])
    (topic,) = MetadataResponse.decode(made.encode(9), 9).topics
    leaves = [TopicPartition("t", 0), *partitions_of("t", range(3)), *topic_info(topic).partitions.values()]
    assert len(leaves) == 5
    assert not any(gc.is_tracked(leaf) for leaf in leaves)
    assert leaves[0] == leaves[1] == ("t", 0)
