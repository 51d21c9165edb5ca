"""The two extensions share one pool of blocks: columns of values lie in the codec's, and outlive all that made them."""

from __future__ import annotations

import gc

import pyarrow as pa

from kwire._codec import pool_statistics
from kwire._values import TextPlan, decode_json
from tests.values.test_json_columns import layout

COUNT = 20_000


def test_columns_of_values_lie_in_the_one_pool_and_go_back_to_it() -> None:
    column = pa.array([b'{"a": %d}' % number for number in range(COUNT)], pa.binary())
    gc.collect()
    before = pool_statistics()
    columns = decode_json(column, TextPlan(layout({"a": "bigint"})))
    during = pool_statistics()
    assert during["live_bytes"] - before["live_bytes"] >= 8 * COUNT
    batch = pa.record_batch(columns)
    del columns, column
    gc.collect()
    assert pool_statistics()["live_blocks"] <= during["live_blocks"]
    assert batch.column(0).to_pylist() == list(range(COUNT))
    del batch
    assert pool_statistics()["live_blocks"] <= before["live_blocks"]
