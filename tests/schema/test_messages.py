"""The message classes themselves: construction, comparison, text, secrets, pickling, and what the collector sees."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from kwire import errors, protocol
from kwire.protocol import (
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    StreamsGroupHeartbeatRequest,
)
from kwire.schema.fields import (
    Versions,
    array,
    bytes_,
    f64,
    i32,
    nullable_struct,
    renamed,
    string,
    strings,
    struct,
    u16,
    u32,
)
from kwire.schema.messages import Request, Struct

TOPIC = MetadataResponse.MetadataResponseTopic
PARTITION = TOPIC.MetadataResponsePartition
FETCHED = FetchResponse.FetchableTopicResponse


class Everything(Request, key=999, versions="0-3", flexible="2+"):
    """A message of no release, with the field types that the protocol has and the first keys do not use."""

    class Point(Struct):
        x: int = i32("0+", default=1)
        label: str = string("0+", default="")

    ratio: float = f64("0+", default=0.0)
    port: int = u16("0+", default=0)
    mask: int = u32("0+", default=0)
    token: bytes = bytes_("0+", default=b"", secret=True)
    password: str | None = string("0+", default=None, nullable="0+", secret=True)
    corner: Point | None = nullable_struct(Point, "1+", default=None, nullable="1+", ignorable=True)
    origin: Point = struct("0+", default_factory=Point)
    extra: Point = struct("2+", default_factory=Point, tag=0, ignorable=True)
    tags: Sequence[str] = strings("2+", default=(), tag=3, ignorable=True)
    points: Sequence[Point] = array(Point, "0+", default=())


FULL = Everything(
    ratio=-0.5,
    port=65535,
    mask=2**32 - 1,
    token=b"\0tok",
    password="pass",
    corner=Everything.Point(x=-1, label="c"),
    origin=Everything.Point(x=7),
    extra=Everything.Point(x=9),
    tags=["a" * 200, "b"],
    points=[Everything.Point(x=3)],
)


def test_types_that_the_first_keys_do_not_use() -> None:
    assert Everything.decode(FULL.encode(3), 3) == FULL
    expected = (
        "bfe0000000000000 ffff ffffffff 05 00746f6b 05 70617373 01 ffffffff 0263 00 00000007 01 00 02 00000003 01 00 "
        "02 00 06 00000009 01 00 03 cd01 03 c901" + "61" * 200 + " 0262"
    )
    assert FULL.encode(3) == bytes.fromhex(expected)
    old = Everything.decode(FULL.encode(0), 0)
    assert (old.corner, list(old.tags), old.extra) == (None, [], Everything.Point())
    assert Everything.decode(Everything().encode(1), 1).corner is None


def test_floats_that_do_not_fit_are_refused() -> None:
    with pytest.raises(errors.CodecError, match="an integer of 1329 bits does not fit float64") as caught:
        Everything(ratio=10**400).encode(0)
    assert caught.value.field == "ratio"
    with pytest.raises(errors.CodecError, match="needs float64, not str"):
        Everything(ratio="1").encode(0)  # type: ignore[arg-type]


def test_constructor_takes_the_fields_and_only_them() -> None:
    assert MetadataRequest().topics == ()
    with pytest.raises(TypeError, match=r"MetadataRequest has no field topcs; it has topics, allow_auto"):
        MetadataRequest(topcs=[])  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        MetadataRequest([])  # type: ignore[call-arg]


def test_comparison_is_by_value_and_takes_lists_and_tuples_for_the_same() -> None:
    one = MetadataResponse(topics=[TOPIC(name="a", partitions=(PARTITION(isr_nodes=[1, 2]),))])
    other = MetadataResponse(topics=(TOPIC(name="a", partitions=[PARTITION(isr_nodes=(1, 2))]),))
    assert one == other
    other.topics[0].partitions[0].isr_nodes = (1, 3)
    assert one != other
    assert MetadataResponse() != FetchResponse()
    assert MetadataResponse() != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_records_compare_by_their_bytes() -> None:
    def with_records(records: Any) -> FetchResponse.FetchableTopicResponse.PartitionData:
        return FETCHED.PartitionData(records=records)

    assert with_records(b"ab") == with_records(bytearray(b"ab")) == with_records([b"a", b"b"])
    assert with_records(b"ab") != with_records(b"ac")
    assert with_records(None) != with_records(b"")


def test_defaults_that_are_structs_are_not_shared() -> None:
    one, other = FETCHED.PartitionData(), FETCHED.PartitionData()
    one.current_leader.leader_id = 5
    assert other.current_leader.leader_id == -1
    assert one != other
    decoded = FetchResponse.decode(FetchResponse(responses=[FETCHED(partitions=[other, other])]).encode(12), 12)
    first, second = decoded.responses[0].partitions
    first.current_leader.leader_id = 6
    assert second.current_leader.leader_id == -1


def test_repr_shows_fields_but_neither_secrets_nor_records() -> None:
    text = repr(FULL)
    assert "ratio=-0.5" in text
    assert "token=<secret>" in text
    assert "password=<secret>" in text
    assert "tok'" not in text
    assert "pass'" not in text
    data = ProduceRequest.TopicProduceData.PartitionProduceData(index=1, records=[b"ab", b"cde"])
    assert repr(data) == "ProduceRequest.TopicProduceData.PartitionProduceData(index=1, records=<5 bytes>)"
    assert "password=None" in repr(Everything())


def test_repr_of_a_message_whose_constructor_failed() -> None:
    for api in protocol.APIS.values():
        for kind in (api.request, api.response):
            assert repr(kind.__new__(kind)).startswith(f"{kind.__qualname__}(")


def test_errors_do_not_show_secrets() -> None:
    with pytest.raises(errors.CodecError) as caught:
        Everything(password="s3cret" * 6000).encode(0)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(errors.CodecError) as caught:
        Everything(token="s3cret").encode(0)  # type: ignore[arg-type]
    assert "s3cret" not in str(caught.value)


def test_to_dict_is_plain_and_from_dict_takes_it_back() -> None:
    response = FetchResponse(responses=[FETCHED(topic="t", partitions=[FETCHED.PartitionData(records=b"x" * 9)])])
    decoded = FetchResponse.decode(response.encode(4), 4)
    plain = decoded.to_dict()
    assert plain["responses"][0]["partitions"][0]["records"] == b"x" * 9
    assert plain["responses"][0]["topic_id"] == UUID(int=0)
    assert FetchResponse.from_dict(plain) == decoded
    with pytest.raises(errors.CodecError, match="has no such field; it has topic, topic_id, partitions"):
        FetchResponse.from_dict({"responses": [{"name": "t"}]})


def test_messages_pickle_and_copy() -> None:
    response = FetchResponse(responses=[FETCHED(topic="t", partitions=[FETCHED.PartitionData(records=b"x" * 9)])])
    decoded = FetchResponse.decode(response.encode(4), 4)
    assert pickle.loads(pickle.dumps(decoded)) == decoded
    assert copy.deepcopy(decoded) == decoded


def test_leaves_are_invisible_to_the_cyclic_collector_and_parents_are_not() -> None:
    message = MetadataResponse(topics=[TOPIC(name="t", partitions=[PARTITION(isr_nodes=(1, 2))] * 3)])
    decoded = MetadataResponse.decode(message.encode(9), 9)
    assert not any(gc.is_tracked(partition) for partition in decoded.topics[0].partitions)
    assert gc.is_tracked(decoded.topics[0])
    assert gc.is_tracked(decoded)


def test_nothing_is_left_behind() -> None:
    message = MetadataResponse(
        topics=[TOPIC(name=f"t{i}", partitions=[PARTITION(isr_nodes=(i, 2))]) for i in range(50)]
    )
    data, broken = message.encode(9), message.encode(9)[:-30]

    def use() -> None:
        for _ in range(50):
            MetadataResponse.decode(data, 9).encode(9)
            with pytest.raises(errors.CodecError):
                MetadataResponse.decode(broken, 9)

    use()
    gc.collect()
    before = len(gc.get_objects())
    use()
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def test_repeated_lists_of_ints_are_one_tuple() -> None:
    message = MetadataResponse(topics=[TOPIC(partitions=[PARTITION(replica_nodes=[1, 2], isr_nodes=[1, 2])] * 2)])
    first, second = MetadataResponse.decode(message.encode(0), 0).topics[0].partitions
    assert first.replica_nodes == (1, 2)
    assert first.replica_nodes is first.isr_nodes is second.replica_nodes


@pytest.mark.parametrize(
    ("text", "least", "most"), [("0+", 0, 32767), ("3-5", 3, 5), ("7", 7, 7), ("none", 0, -1), ("", 0, -1)]
)
def test_version_ranges(text: str, least: int, most: int) -> None:
    assert Versions.parse(text)[:2] == (least, most)


def test_a_field_may_not_hide_a_method() -> None:
    with pytest.raises(TypeError, match=r"Wrong\.to_dict would hide"):

        class Wrong(Struct):
            to_dict: int = i32("0+", default=0)  # type: ignore[assignment]


def test_an_older_name_must_belong_to_a_field_and_be_none() -> None:
    with pytest.raises(TypeError, match="old cannot be an older name of gone"):

        class Lost(Struct):
            old: int = renamed("gone")

    class Outer(Request, key=998, versions="0"):
        class Inner(Struct):
            now: int = i32("0+", default=4)
            old: int = renamed("now")

        inner: Inner = struct("0+", default_factory=Inner)

    made = Outer(inner=Outer.Inner(old=5))
    assert Outer.decode(made.encode(0), 0).inner.old == 5
    assert repr(made.inner) == "test_an_older_name_must_belong_to_a_field_and_be_none.<locals>.Outer.Inner(now=5)"


def test_a_struct_that_several_nest_is_named_as_an_inner_class() -> None:
    pair = StreamsGroupHeartbeatRequest.KeyValue(key="k", value="v")
    assert repr(pair) == "StreamsGroupHeartbeatRequest.KeyValue(key='k', value='v')"
    assert pickle.loads(pickle.dumps(pair)) == pair

    class Elsewhere:
        topic = TOPIC

    assert Elsewhere.topic.__qualname__ == "MetadataResponse.MetadataResponseTopic"


def test_a_foreign_instance_is_refused_by_the_slot_descriptors() -> None:
    with pytest.raises(TypeError, match="is a field of"):
        FETCHED.PartitionData.__dict__["current_leader"].__get__(TOPIC())
    with pytest.raises(TypeError, match="is a field of"):
        FETCHED.PartitionData.__dict__["current_leader"].__set__(TOPIC(), 1)
