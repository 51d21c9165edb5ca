"""Messages of metrics, read by OpenTelemetry's own classes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData

from kwire.engine.telemetry.otlp import Sample, Times, encode

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
TAGS = st.dictionaries(st.sampled_from(["topic", "partition", "api"]), TEXTS).map(lambda found: tuple(found.items()))
VALUES = st.floats(allow_nan=False)
SAMPLES = st.lists(st.builds(Sample, TEXTS, TAGS, VALUES, st.booleans()), max_size=30)
TIMES = Times(1_700_000_000.5, 1_700_000_001.25)
ENOUGH = 1 << 20


def decoded(data: bytes) -> tuple[dict[str, str], list[Sample]]:
    """The attributes of the resource, and what was measured; the rest of the message is as it should be."""
    (resource,) = MetricsData.FromString(data).resource_metrics
    (scope,) = resource.scope_metrics
    found = []
    for metric in scope.metrics:
        total = metric.WhichOneof("data") == "sum"
        if total:
            assert metric.sum.is_monotonic
            assert metric.sum.aggregation_temporality == AggregationTemporality.Value("AGGREGATION_TEMPORALITY_DELTA")
        for point in metric.sum.data_points if total else metric.gauge.data_points:
            assert point.time_unix_nano == 1_700_000_001_250_000_000
            assert point.start_time_unix_nano == (1_700_000_000_500_000_000 if total else 0)
            tags = tuple((each.key, each.value.string_value) for each in point.attributes)
            found.append(Sample(metric.name, tags, point.as_double, total))
    return {each.key: each.value.string_value for each in resource.resource.attributes}, found


@given(SAMPLES, st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_what_is_encoded_is_decoded(samples: list[Sample], resource: dict[str, str]) -> None:
    attributes, found = decoded(encode(samples, resource, TIMES, delta=True, max_bytes=ENOUGH))
    assert attributes == resource
    assert sorted(found) == sorted(samples)


@given(SAMPLES, st.integers(min_value=100, max_value=3000))
def test_no_message_is_larger_than_it_may_be_and_what_has_tags_goes_first(
    samples: list[Sample], max_bytes: int
) -> None:
    data = encode(samples, {"group_id": "g"}, TIMES, delta=True, max_bytes=max_bytes)
    assert len(data) <= max_bytes
    _, found = decoded(data)
    left = list(samples)
    for each in found:
        left.remove(each)
    if any(not each.tags for each in left):
        assert all(not each.tags for each in found)


def test_a_resource_that_is_too_large_by_itself_is_followed_by_no_metrics() -> None:
    _, found = decoded(encode([Sample("a", (), 1, True)], {"group_id": "g" * 500}, TIMES, delta=True, max_bytes=100))
    assert found == []
