"""Offsets of a stream in the form of the checkpoint."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.spark.ranges.stream_offsets import is_marked, offsets_from_json, offsets_to_json

OFFSETS = st.dictionaries(
    st.builds(TopicPartition, st.text("ab.-_1", min_size=1, max_size=4), st.integers(0, 2000)),
    st.integers(0, 2**63 - 1),
    max_size=30,
)


def test_topics_stand_by_name_and_partitions_by_number() -> None:
    offsets = {TopicPartition("b", 10): 3, TopicPartition("b", 9): 2, TopicPartition("a", 0): 1}
    assert json.dumps(offsets_to_json(offsets)) == '{"a": {"0": 1}, "b": {"9": 2, "10": 3}}'


@given(OFFSETS, st.randoms())
def test_equal_offsets_have_equal_text(offsets: dict[TopicPartition, int], order: object) -> None:
    items = list(offsets.items())
    order.shuffle(items)  # type: ignore[attr-defined]
    text = json.dumps(offsets_to_json(offsets))
    assert json.dumps(offsets_to_json(dict(items))) == text
    assert offsets_from_json(json.loads(text)) == offsets


def test_mark_of_a_first_batch_names_no_partition() -> None:
    offsets = {TopicPartition("t", 0): 5}
    marked = offsets_to_json(offsets, marked=True)
    assert json.dumps(marked) == '{"": {}, "t": {"0": 5}}'
    assert is_marked(marked)
    assert not is_marked(offsets_to_json(offsets))
    assert offsets_from_json(marked) == offsets


def test_text_of_sparks_own_source_is_read() -> None:
    assert offsets_from_json(json.loads('{"t":{"0":5,"10":7}}')) == {("t", 0): 5, ("t", 10): 7}


@pytest.mark.parametrize(
    "text",
    [
        "5", '"x"', '{"logOffset": 3}', '{"t": {"a": 1}}', '{"t": {"0": 1.5}}', '{"t": {"0": true}}',
        pytest.param(f'{{"t": {{"{"0" * 5000}": 1}}}}', id="digits"),
    ],
)  # fmt: skip
def test_offsets_of_another_kind_of_source_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not those of a Kafka source"):
        offsets_from_json(json.loads(text))
