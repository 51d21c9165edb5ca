"""Types of the decoders of values. One section per file of `_pxi/values/`, in the order of `_values.pyx`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, Self, final

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

# column_builder.pxi
@final
class ColumnLayout:
    """The columns that a decoder fills: ColumnLayout([(name, Arrow format, (child, ...)), ...]), the root first.

    Children are given by their numbers in the list, which are greater than their parent's. The root is a struct whose
    children are the columns. Immutable, reusable; ConfigError for a tree that is not one.
    """

    def __new__(cls, nodes: Iterable[tuple[str, str, Sequence[int]]]) -> Self: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class BuiltColumns:
    """The columns that a decoder has filled, for `pyarrow.record_batch`; they can be taken once.

    `faults` are the rows that could not be decoded, in order: (row, byte, place in the schema, reason). Such a row is
    null in all columns.
    """

    faults: list[tuple[int, int, str, str]]
    def __new__(cls, layout: ColumnLayout) -> Self: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

# values.pxi
def framed_ids(values: _ArrowArray) -> set[int]:
    """The schema ids before the values of a binary column, each once; values without one count for nothing."""

# avro_columns.pxi
@final
class AvroPlan:
    """How values of one writer's schema go into the columns of `layout`: AvroPlan(layout, steps), the root step first.

    A step is (operation, node or -1, (child step, ...), size, detail, place): `place` names it in faults; `detail` is a
    constant's bytes, an enum's symbols (None: refused), a fixed decimal's size, or why a value is refused. Immutable.
    """

    def __new__(
        cls, layout: ColumnLayout, steps: Iterable[tuple[str, int, Sequence[int], int, object, str]]
    ) -> Self: ...

def decode_avro(values: _ArrowArray, layout: ColumnLayout, plans: AvroPlan | Mapping[int, AvroPlan]) -> BuiltColumns:
    """The Avro values of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    plans: an AvroPlan for all values; or a dict of schema id to AvroPlan, for values with an id before them. A null is
    null in all columns. A value that cannot be decoded is one of the result's `faults`. Runs without the GIL.
    """

# protobuf_plan.pxi
@final
class ProtobufPlan:
    """How messages go into the columns of `layout`: ProtobufPlan(layout, messages, path), the root message first.

    A message is (node or -1, fields by number); a field (number, operation, flags, node, message, oneof, default,
    symbols by number, what names of unknown symbols begin with, place). `path`: the indexes that stand before each
    message, with a schema's id; None: nothing does. Immutable.
    """

    def __new__(
        cls,
        layout: ColumnLayout,
        messages: Iterable[
            tuple[
                int,
                Iterable[tuple[int, str, int, int, int, int, bytes | int | None, Iterable[tuple[int, str]], str, str]],
            ]
        ],
        path: Sequence[int] | None = None,
    ) -> Self: ...

# protobuf_columns.pxi
def decode_protobuf(values: _ArrowArray, layout: ColumnLayout, plan: ProtobufPlan) -> BuiltColumns:
    """The Protobuf messages of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    A null is null in all columns. A message that cannot be decoded is one of the result's `faults`. Runs without the
    GIL.
    """

# text_plan.pxi
@final
class TextPlan:
    """How the fields of JSON objects and CSV records become the columns of a layout.

    `zone` says what a timestamp without a zone means: [(time, seconds east of Greenwich before it), ...] and at last
    (None, seconds after that), times being seconds since 1970 on the clocks of the place. Immutable, reusable.
    """

    def __new__(cls, layout: ColumnLayout, zone: Iterable[tuple[int | None, int]] = ((None, 0),)) -> Self: ...

# json_columns.pxi
def decode_json(values: _ArrowArray, plan: TextPlan) -> BuiltColumns:
    """The JSON objects of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    A null is null in all columns. A value that cannot be decoded is one of the result's `faults`. Runs without the GIL.
    """

# csv_columns.pxi
@final
class CsvPlan:
    """How CSV records become columns: CsvPlan(plan, places), `places` being each field's node in the plan, or -1.

    `separator` is one byte; `quote` and `escape` are one byte or none; `null` is the text of a null.
    """

    def __new__(
        cls,
        plan: TextPlan,
        places: Iterable[int],
        separator: bytes = b",",
        quote: bytes = b'"',
        escape: bytes = b"\\",
        null: bytes = b"",
    ) -> Self: ...

def decode_csv(values: _ArrowArray, plan: CsvPlan) -> BuiltColumns:
    """The CSV records of a binary column (anything with `__arrow_c_array__`) as BuiltColumns.

    A null is null in all columns. A value that cannot be decoded is one of the result's `faults`. Runs without the GIL.
    """
