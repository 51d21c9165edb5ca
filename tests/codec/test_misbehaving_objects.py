"""Python objects that change a message while it is encoded, or are not what they claim: an exception, never a crash.

What would have ended the process runs in one of its own.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kwire import errors
from kwire.schema.fields import array, bool_, i16, i32, i64s, string, struct, uuid
from kwire.schema.messages import Message, Struct
from tests.subprocesses import run_python


class Inner(Struct):
    number: int = i32("0+", default=0)
    other: int = i32("0+", default=0)


class Tagged(Message, versions="0", flexible="0+"):
    """Fixed fields, and tagged ones whose values may run code of their own."""

    number: int = i32("0+", default=0)
    identity: UUID = uuid("0+", default=UUID(int=0))
    longs: Any = i64s("0+", default=())
    name: str = string("0+", default="", tag=0)
    flag: bool = bool_("0+", default=False, tag=1)
    inner: Inner = struct("0+", default_factory=Inner, tag=2)
    small: int = i16("0+", default=0, tag=3)
    inners: Any = array(Inner, "0+", default=(), tag=4)


def test_lists_that_hold_themselves_cannot_be_compared() -> None:
    code = """
        from tests.codec.test_misbehaving_objects import Tagged
        one, other = [], []
        one.append(one)
        other.append(other)
        try:
            Tagged(longs=one) == Tagged(longs=other)
        except RecursionError:
            print("RecursionError")
    """
    assert run_python(code) == "RecursionError\n"


def test_a_struct_that_holds_its_message_is_refused() -> None:
    code = """
        from kwire import errors
        from kwire.protocol import FetchResponse
        partition = FetchResponse.FetchableTopicResponse.PartitionData()
        partition.current_leader = partition
        topic = FetchResponse.FetchableTopicResponse(partitions=[partition])
        try:
            FetchResponse(responses=[topic]).encode(13)
        except errors.CodecError as error:
            print(error.field)
    """
    assert run_python(code) == "responses[0].partitions[0].current_leader\n"


def test_a_field_deleted_by_a_later_one() -> None:
    """What a tagged field held when it was looked at is what is written."""
    code = """
        from tests.codec.test_misbehaving_objects import Tagged

        class Deletes(int):
            def __eq__(self, other):
                if hasattr(message, "name"):
                    del message.name
                return False
            __hash__ = None

        message = Tagged(name="x", small=Deletes(5))
        print(Tagged.decode(message.encode(0), 0))
    """
    assert "name='x'" in run_python(code)


def test_a_value_that_replaces_itself() -> None:
    """With the debugging allocator, which overwrites what is freed."""
    code = """
        from kwire import errors
        from tests.codec.test_misbehaving_objects import Inner, Tagged

        class Replaces:
            def __index__(self):
                message.number = 0
                message.inner.number = 0
                message.inner = None
                del self
                raise TypeError

        for field in ("number", "inner.number"):
            for _ in range(100):
                message = Tagged(inner=Inner())
                if field == "number":
                    message.number = Replaces()
                else:
                    message.inner.number = Replaces()
                try:
                    message.encode(0)
                except errors.CodecError as error:
                    assert error.field == field and "Replaces" in str(error), error
    """
    run_python(code, PYTHONMALLOC="debug")


def test_a_struct_dropped_while_it_is_encoded() -> None:
    code = """
        from tests.codec.test_misbehaving_objects import Inner, Tagged

        class Drops:
            def __index__(self):
                message.inner = Inner()
                self.others = [Inner(number=7, other=7) for _ in range(300)]
                return 5

        message = Tagged(inner=Inner(number=Drops(), other=6))
        print(Tagged.decode(message.encode(0), 0).inner)
    """
    assert run_python(code) == "Inner(number=5, other=6)\n"


class OddUUID(UUID):
    content: object = b""

    @property
    def bytes(self) -> Any:
        return self.content


@pytest.mark.parametrize("content", [b"", b"x" * 15, b"x" * 17, 12, "x" * 16, bytearray(16), None])
def test_a_uuid_without_sixteen_bytes_is_refused(content: object) -> None:
    value = OddUUID(int=1)
    OddUUID.content = content
    with pytest.raises(errors.CodecError, match="16 bytes") as caught:
        Tagged(identity=value).encode(0)
    assert caught.value.field == "identity"


def test_a_uuid_without_a_number_is_refused() -> None:
    empty, huge, text = (UUID.__new__(UUID) for _ in range(3))
    object.__setattr__(huge, "int", 2**128)
    object.__setattr__(text, "int", "1")
    for value, error in ((empty, AttributeError), (huge, OverflowError), (text, AttributeError)):
        with pytest.raises(error):
            Tagged(identity=value).encode(0)


def test_none_is_no_uuid() -> None:
    with pytest.raises(errors.CodecError) as caught:
        Tagged(identity=None).encode(0)  # type: ignore[arg-type]
    assert caught.value.field == "identity"


class Shrinks:
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        self.items.clear()
        return True

    __hash__ = None  # type: ignore[assignment]


def test_a_list_that_shrinks_while_it_is_compared_is_not_equal() -> None:
    items: list[Any] = []
    items += [Shrinks(items), 1, 2]
    assert Tagged(longs=items) != Tagged(longs=[0, 1, 2])


class LyingList(list[int]):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: Any) -> Any:
        raise IndexError("nothing here")


def test_a_list_that_lies_about_its_length() -> None:
    message = Tagged(longs=LyingList([1, 2]))
    assert message == Tagged(longs=(1, 2))
    assert Tagged.decode(message.encode(0), 0).longs == (1, 2)


class LongerBytes(bytes):
    def __len__(self) -> int:
        return 100


def test_bytes_that_lie_about_their_length() -> None:
    message = Tagged()
    message.unknown_tagged_fields = {9: LongerBytes(b"abc")}
    assert Tagged.decode(message.encode(0), 0).unknown_tagged_fields == {9: b"abc"}


def test_a_layout_of_another_class_is_refused() -> None:
    code = """
        from kwire._codec import StructBase
        from kwire.protocol import MetadataResponse

        class Borrows(StructBase):
            __slots__ = ()
            __layout__ = MetadataResponse.__layout__

        class HasNone(StructBase):
            __slots__ = ()
            __layout__ = None

        for cls in (Borrows, HasNone):
            try:
                cls()
            except TypeError:
                print("refused")
    """
    assert run_python(code) == "refused\nrefused\n"


def test_instances_of_derived_classes_with_more_in_them_are_freed() -> None:
    code = """
        import gc
        import weakref
        from tests.codec.test_misbehaving_objects import Inner, Tagged

        class WithDict(Tagged, abstract=True):
            __slots__ = ("__dict__",)

        class WithWeakReferences(Tagged, abstract=True):
            __slots__ = ("__weakref__", "extra")

        class WithBoth(WithDict, abstract=True):
            __slots__ = ("__weakref__",)

        plain = []
        for _ in range(20):
            for cls in (WithDict, WithWeakReferences, WithBoth):
                made = [cls(name=str(i), inner=Inner(number=i)) for i in range(300)]
                for one in made:
                    one.extra = one
                if cls is not WithDict:
                    seen = [weakref.ref(one) for one in made]
                del made, one
                gc.collect()
                assert cls is WithDict or not any(ref() for ref in seen)
            plain += [Tagged(name=str(i)) for i in range(300)]
            decoded = [Tagged.decode(one.encode(0), 0) for one in plain[-300:]]
            assert decoded == plain[-300:]
    """
    run_python(code)


def test_parts_of_columns_are_iterated_over_once() -> None:
    code = """
        from kwire._codec import RecordColumns, record_plan
        from kwire.records import decode, encode
        many = decode(b"".join(encode([b"v"]) for _ in range(2000)))

        class Grows:
            rounds = 0
            def __iter__(self):
                self.rounds += 1
                return iter((many[:0] if self.rounds == 1 else many, "t", 0))

        print(len(RecordColumns(record_plan(with_place=True), [Grows() for _ in range(10)])))
    """
    assert run_python(code) == "0\n"


def test_more_bytes_than_were_given_out_cannot_be_received() -> None:
    code = """
        from kwire._codec import FrameReceiver
        for count in (2**63 - 1, 2**62, -1):
            receiver = FrameReceiver()
            receiver.buffer()[:6] = bytes([0, 0, 0, 5, 1, 2])
            assert receiver.received(6) == []
            try:
                receiver.received(count)
            except ValueError:
                print("refused")
    """
    assert run_python(code) == "refused\n" * 3


def test_none_in_place_of_a_batch_or_topic() -> None:
    code = """
        from kwire._codec import Accumulator
        accumulator = Accumulator()
        for call in (
            lambda: accumulator.complete(None, 0, 0, None), lambda: accumulator.update_partitions(None, 1, ()),
            lambda: accumulator.split(None), lambda: accumulator.without_headers(None, None),
            lambda: accumulator.forget_partitions(None), lambda: accumulator.make_due(None),
        ):
            try:
                call()
            except (TypeError, AttributeError):
                print("refused")
    """
    assert run_python(code) == "refused\n" * 6


def test_a_buffer_without_bytes_is_empty() -> None:
    code = """
        from kwire._codec import Buffer
        from kwire.records import decode
        print(len(decode(Buffer.__new__(Buffer))))
    """
    assert run_python(code) == "0\n"


def test_a_record_is_initialised_once() -> None:
    code = """
        from kwire.records import Record, decode, encode
        for record in (decode(encode([(b"v", b"k", 1, [("h", b"x")])]))[0], Record(b"v", b"k", 1, [("h", b"x")])):
            try:
                record.__init__(b"other")
            except TypeError as error:
                print(error)
            assert (record.value, record.headers) == (b"v", (("h", b"x"),))
    """
    assert run_python(code) == "a Record is immutable: it cannot be initialised again\n" * 2


def test_a_consumed_record_is_initialised_once() -> None:
    code = """
        from kwire._codec import ConsumerRecord
        from kwire.records import Record
        record = ConsumerRecord(Record(b"v"), "t", 0)
        try:
            record.__init__(Record(b"w"), "t", 0)
        except TypeError as error:
            print(error)
        assert record.value == b"v"
    """
    assert run_python(code) == "a ConsumerRecord is immutable: it cannot be initialised again\n"


ODD_TEXT = """
    class Odd(str):
        def encode(self, *how):
            return None
"""


def test_texts_are_written_by_their_characters_whatever_their_encode_returns() -> None:
    code = (
        ODD_TEXT
        + """
    import pyarrow as pa
    from kwire._codec import ColumnPlan, RecordColumns, record_plan
    from kwire._values import ColumnLayout
    from kwire.records import decode, encode
    read = decode(encode([b"v"]))
    columns = RecordColumns(record_plan(with_place=True), [(read, Odd("t"), 0, Odd("f"), 7)])
    print(columns.to_arrow()["topic"])
    print(pa.schema(ColumnPlan([(Odd("offset"), "offset", "int64")])).names)
    print(pa.schema(ColumnLayout([("", "+s", (1,)), (Odd("a"), "l", ())])).names)
    """
    )
    lines = run_python(code)
    assert '"t"' in lines
    assert lines.endswith("['offset']\n['a']\n")


def test_column_names_that_are_no_text_are_refused_at_once() -> None:
    code = """
        from kwire._codec import ColumnPlan
        for name in (b"offset", 5, "\\ud800"):
            try:
                ColumnPlan([(name, "offset", "int64")])
            except (TypeError, UnicodeEncodeError):
                print("refused")
    """
    assert run_python(code) == "refused\n" * 3
