"""What the plan interpreter does beside the wire: runs of fixed width cut short, shared tuples, what is freed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import new_class
from typing import Any
from uuid import UUID

import pytest

from kwire import errors
from kwire.protocol import (
    DescribeQuorumResponse,
    FetchResponse,
    LeaderAndIsrResponse,
    MetadataResponse,
    RequestHeader,
    UpdateFeaturesRequest,
)
from kwire.schema.fields import bool_, f64, i8, i16, i32, i64, i64s, struct, u16, u32, uuid, uuids
from kwire.schema.messages import Message, Struct

NO_UUID = UUID(int=0)
SOME_UUID = UUID("00112233-4455-6677-8899-aabbccddeeff")
PARTITION = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition


class Everything(Message, versions="0-1", flexible="1+"):
    """One run of every type of fixed width."""

    flag: bool = bool_("0+", default=False)
    tiny: int = i8("0+", default=0)
    small: int = i16("0+", default=0)
    middle: int = i32("0+", default=0)
    large: int = i64("0+", default=0)
    port: int = u16("0+", default=0)
    checksum: int = u32("0+", default=0)
    share: float = f64("0+", default=0.0)
    identity: UUID = uuid("0+", default=NO_UUID)
    longs: tuple[int, ...] = i64s("0+", default=())  # type: ignore[assignment]
    identities: tuple[UUID, ...] = uuids("0+", default=())  # type: ignore[assignment]


WIDTHS = {
    "flag": 1, "tiny": 1, "small": 2, "middle": 4, "large": 8, "port": 2, "checksum": 4, "share": 8, "identity": 16,
}  # fmt: skip
FULL = Everything(
    flag=True, tiny=-128, small=-32768, middle=-(2**31), large=-(2**63), port=65535, checksum=2**32 - 1, share=-0.5,
    identity=SOME_UUID, longs=(0, -1, 2**62, 2**30, -(2**30)), identities=(NO_UUID, SOME_UUID),
)  # fmt: skip


@pytest.mark.parametrize("version", [0, 1])
def test_values_at_the_ends_of_their_types_round_trip(version: int) -> None:
    assert Everything.decode(FULL.encode(version), version) == FULL
    highest = Everything(tiny=127, small=32767, middle=2**31 - 1, large=2**63 - 1)
    assert Everything.decode(highest.encode(version), version) == highest


def test_a_run_that_is_cut_short_names_the_field_at_fault() -> None:
    data = FULL.encode(0)
    begin = 0
    for name, width in WIDTHS.items():
        for left in range(width):
            with pytest.raises(errors.TruncatedError) as caught:
                Everything.decode(data[: begin + left], 0)
            assert (caught.value.field, caught.value.offset) == (name, begin)
        begin += width


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flag", 1), ("tiny", 128), ("tiny", -129), ("small", 32768), ("small", -32769), ("middle", 2**31),
        ("middle", -(2**31) - 1), ("large", 2**63), ("large", 2**200), ("port", -1), ("port", 65536),
        ("checksum", -1), ("checksum", 2**32), ("share", "1"), ("share", 10**400), ("identity", b"x" * 16),
        ("tiny", None), ("large", "1"), ("middle", 1.0),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_named(name: str, value: object) -> None:
    message = Everything(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(errors.CodecError) as caught:
        message.encode(0)
    assert caught.value.field == name


def test_an_element_that_does_not_fit_is_named() -> None:
    with pytest.raises(errors.CodecError) as caught:
        Everything(longs=(1, 2**63)).encode(0)
    assert caught.value.field == "longs[1]"


def test_a_list_that_shrinks_while_it_is_encoded_is_refused() -> None:
    class Shrinks:
        def __index__(self) -> int:
            numbers.clear()
            return 5

    numbers: list[object] = [1, Shrinks(), 3]
    with pytest.raises(errors.CodecError, match="changed its length"):
        Everything(longs=numbers).encode(0)  # type: ignore[arg-type]


def test_ints_of_a_subclass_and_true_are_ints() -> None:
    class Number(int):
        pass

    data = Everything(tiny=Number(7), small=True, large=Number(2**40)).encode(0)
    assert Everything.decode(data, 0) == Everything(tiny=7, small=1, large=2**40)


def partitions(replicas: list[list[int]]) -> MetadataResponse:
    rows = [PARTITION(partition_index=i, replica_nodes=nodes) for i, nodes in enumerate(replicas)]
    return MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(name="t", partitions=rows)])


def test_equal_replica_lists_share_a_tuple_and_others_do_not_suffer() -> None:
    lists = [[n % 7, (n * 3) % 11, n % 5][: n % 4] for n in range(300)] + [list(range(40))] * 2
    decoded = MetadataResponse.decode(partitions(lists).encode(5), 5).topics[0].partitions
    assert [list(row.replica_nodes) for row in decoded] == lists
    again = MetadataResponse.decode(partitions([[1, 2], [3, 4], [1, 2]]).encode(5), 5).topics[0].partitions
    assert again[0].replica_nodes is again[2].replica_nodes


def test_shared_tuples_and_classes_are_let_go() -> None:
    data = partitions([[1, 2], [3, 4], [1, 2]]).encode(5)
    kept = MetadataResponse.decode(data, 5).topics[0].partitions[0].replica_nodes
    own = tuple(iter((1, 2)))
    assert sys.getrefcount(kept) == sys.getrefcount(own)
    before = sys.getrefcount(PARTITION)
    for _ in range(50):
        many = [MetadataResponse.decode(data, 5) for _ in range(100)]
        del many
    assert sys.getrefcount(PARTITION) == before


def test_memory_of_freed_messages_is_clean_when_it_is_used_again() -> None:
    """Messages of equally many slots take each other's memory; nothing of the one before may show."""
    for _ in range(300):
        RequestHeader(request_api_key=3, client_id="x" * 10)
        fresh = UpdateFeaturesRequest.FeatureUpdateKey()
        assert fresh.to_dict() == {
            "feature": "", "max_version_level": 0, "allow_downgrade": False, "upgrade_type": 1
        }  # fmt: skip
        quorum = DescribeQuorumResponse.decode(DescribeQuorumResponse(error_message="e").encode(2), 2)
        assert quorum.error_message == "e"
        assert quorum.unknown_tagged_fields == {}


def test_cycles_through_messages_are_collected() -> None:
    class Witness:
        pass

    message = FetchResponse.decode(FetchResponse(responses=[FetchResponse.FetchableTopicResponse()]).encode(16), 16)
    holder = [message, Witness()]
    message.responses = holder  # type: ignore[assignment]
    del message, holder
    gc.collect()
    assert not any(isinstance(found, Witness) for found in gc.get_objects())


def test_a_long_chain_of_messages_is_freed_without_depth() -> None:
    chain: object = None
    for _ in range(200_000):
        chain = LeaderAndIsrResponse.LeaderAndIsrTopicError(partition_errors=chain)  # type: ignore[arg-type]
    del chain
    assert isinstance(LeaderAndIsrResponse.LeaderAndIsrTopicError(), Struct)


def test_a_definition_that_is_too_deep_is_refused() -> None:
    deep: type[Struct] = PARTITION
    for level in range(2, 17):
        deep = new_class(f"Level{level}", (Struct,), exec_body=_nesting(deep))
    message = new_class("Deep", (Message,), {"versions": "0"}, _nesting(deep))
    with pytest.raises(TypeError, match="structs deep; 16 is the most"):
        message().encode(0)


def _nesting(inner: type[Struct]) -> Callable[[dict[str, Any]], None]:
    """The body of a struct with one of these inside."""
    return lambda body: body.update(inner=struct("0+", default_factory=inner))
