"""Any values through kwire and through the reference frames: the same bytes, and back to the same values."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kwire.protocol import draft_0_8, kafka_0_7, proposal
from tests.reference import generations as reference

TOPIC = st.text(st.characters(codec="utf-8"), max_size=6)
I8 = st.integers(-(2**7), 2**7 - 1)
I16 = st.integers(-(2**15), 2**15 - 1)
I32 = st.integers(-(2**31), 2**31 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)
SETS = st.binary(max_size=20)
FETCH = st.tuples(TOPIC, I32, I64, I32)
PRODUCE = st.tuples(TOPIC, I32, SETS)
FETCH_FIELDS = ("topic", "partition", "offset", "max_size")
PRODUCE_FIELDS = ("topic", "partition", "messages")


def some(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, max_size=3)


def named(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def request_7(message: Any, expected: bytes) -> None:
    assert kafka_0_7.encode_request(message) == expected
    assert kafka_0_7.decode_request(expected)[1] == message
    assert type(message).decode(message.encode()) == message
    assert type(message).from_dict(message.to_dict()) == message


@given(PRODUCE, FETCH, some(FETCH), some(PRODUCE), st.tuples(TOPIC, I32, I64, I32))
def test_requests_of_0_7(produce: Any, fetch: Any, fetches: Any, produces: Any, offsets: Any) -> None:
    request_7(kafka_0_7.ProduceRequest(**named(PRODUCE_FIELDS, produce)), reference.produce_7(*produce))
    request_7(kafka_0_7.FetchRequest(**named(FETCH_FIELDS, fetch)), reference.fetch_7(*fetch))
    multi_fetch = kafka_0_7.MultiFetchRequest(
        fetches=[kafka_0_7.MultiFetchRequest.Fetch(**named(FETCH_FIELDS, each)) for each in fetches]
    )
    request_7(multi_fetch, reference.multi_fetch_7(fetches))
    multi_produce = kafka_0_7.MultiProduceRequest(
        produces=[kafka_0_7.MultiProduceRequest.Produce(**named(PRODUCE_FIELDS, each)) for each in produces]
    )
    request_7(multi_produce, reference.multi_produce_7(produces))
    wanted = named(("topic", "partition", "time", "max_offsets"), offsets)
    request_7(kafka_0_7.OffsetsRequest(**wanted), reference.offsets_7(*offsets))


@given(I16, SETS, some(st.tuples(I16, SETS)), some(I64))
def test_responses_of_0_7(code: int, messages: bytes, parts: Any, offsets: Any) -> None:
    part = kafka_0_7.MultiFetchResponse.Part
    for key, message, expected in (
        (1, kafka_0_7.FetchResponse(messages=messages), reference.fetched_7(code, messages)),
        (
            2,
            kafka_0_7.MultiFetchResponse(parts=[part(error_code=error, messages=sets) for error, sets in parts]),
            reference.multi_fetched_7(code, parts),
        ),
        (4, kafka_0_7.OffsetsResponse(offsets=offsets), reference.offsets_answer_7(code, offsets)),
    ):
        assert kafka_0_7.encode_response(message, error_code=code) == expected
        header, decoded = kafka_0_7.decode_response(expected, key)
        assert (header.error_code, decoded) == (code, message)
        assert type(message).decode(message.encode()) == message


DATA = some(st.tuples(TOPIC, some(st.tuples(I32, SETS))))
HEADER = ("version_id", "correlation_id", "client_id")


def topic_data(message: Any, data: Any) -> list[Any]:
    return [
        message.TopicData(
            topic=topic,
            partition_data=[message.TopicData.PartitionData(partition=number, messages=sets) for number, sets in parts],
        )
        for topic, parts in data
    ]


@given(st.tuples(I16, I32, TOPIC), I8, I32, DATA)
def test_produce_of_the_proposal(header: Any, acks: int, timeout: int, data: Any) -> None:
    message = proposal.ProduceRequest(
        required_acks=acks, ack_timeout=timeout, data=topic_data(proposal.ProduceRequest, data)
    )
    expected = reference.produce_p(0, *header, acks, timeout, data)
    assert proposal.encode_request(message, **named(HEADER, header)) == expected
    found, decoded = proposal.decode_request(expected)
    assert (found.version_id, found.correlation_id, found.client_id) == header
    assert decoded == message


@given(st.tuples(I16, I32, TOPIC), st.tuples(I32, I32, I32), some(st.tuples(TOPIC, some(I32), some(I32))))
def test_fetch_of_the_proposal_as_printed(header: Any, limits: Any, wanted: Any) -> None:
    version, correlation, client = header
    message = proposal.FetchRequest(
        **named(("replica_id", "max_wait", "min_bytes"), limits),
        topic_offsets=[
            proposal.FetchRequest.OffsetData(topic=topic, partitions=partitions, offsets=offsets)
            for topic, partitions, offsets in wanted
        ],
    )
    dialect = proposal.Dialect(fetch_header="printed")
    expected = reference.fetch_p_as_printed(1, correlation, version, client, *limits, wanted)
    assert proposal.encode_request(message, **named(HEADER, header), dialect=dialect) == expected
    found, decoded = proposal.decode_request(expected, dialect=dialect)
    assert (found.version_id, found.correlation_id, found.client_id) == header
    assert decoded == message


@given(st.tuples(I32, I16, I16), some(I16), some(I64), DATA)
def test_answers_of_the_proposal(header: Any, codes: Any, offsets: Any, data: Any) -> None:
    fields = ("correlation_id", "version_id", "error")
    produced = proposal.ProduceResponse(errors=codes, offsets=offsets)
    fetched = proposal.FetchResponse(data=topic_data(proposal.FetchResponse, data))
    for key, message, expected in (
        (0, produced, reference.produced_p(*header, codes, offsets)),
        (1, fetched, reference.fetched_p(*header, data)),
    ):
        assert proposal.encode_response(message, **named(fields, header)) == expected
        found, decoded = proposal.decode_response(expected, key)
        assert (found.to_dict(), decoded) == (named(fields, header), message)


PARTITION = st.tuples(I16, I32, st.booleans(), I32, some(I32), some(I32))
PARTITION_FIELDS = ("partition_error_code", "partition_id", "leader_exists", "leader", "replicas", "isr")


@given(I16, I32, TOPIC, some(TOPIC), some(st.tuples(I16, TOPIC, some(PARTITION))), some(st.tuples(I32, TOPIC, I32)))
def test_metadata_of_the_draft(
    version: int, correlation: int, client: str, topics: Any, described: Any, brokers: Any
) -> None:
    request = draft_0_8.MetadataRequest(topics=topics)
    expected = reference.metadata_d(correlation, client, topics)
    assert draft_0_8.encode_request(request, correlation_id=correlation, client_id=client) == expected
    assert draft_0_8.decode_request(expected)[1] == request
    topic, partition = (
        draft_0_8.MetadataResponse.TopicMetadata,
        draft_0_8.MetadataResponse.TopicMetadata.PartitionMetadata,
    )
    response = draft_0_8.MetadataResponse(
        topics=[
            topic(
                topic_error_code=code,
                topic_name=name,
                partitions=[partition(**named(PARTITION_FIELDS, each)) for each in partitions],
            )
            for code, name, partitions in described
        ],
        brokers=[draft_0_8.MetadataResponse.Broker(**named(("node_id", "host", "port"), each)) for each in brokers],
    )
    expected = reference.metadata_answer_d(version, correlation, described, brokers)
    assert draft_0_8.encode_response(response, correlation_id=correlation, response_version=version) == expected
    header, decoded = draft_0_8.decode_response(expected, 3)
    assert header.to_dict() == {"response_version": version, "correlation_id": correlation}
    assert decoded == response
