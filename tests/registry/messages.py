"""Classes of Protobuf messages, as protoc makes them, without protoc."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2


def messages() -> dict[str, Any]:
    """Classes as protoc makes them: `Line` in a file of its own, `Order` with two messages in it, and a well-known
    type."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    line = descriptor_pb2.FileDescriptorProto(name="lines/line.proto", package="shop", syntax="proto3")
    field = line.message_type.add(name="Line").field.add(name="sku", number=1, type=9, label=1)
    order = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    order.dependency.extend(["lines/line.proto", "google/protobuf/timestamp.proto"])
    order.message_type.add(name="First").field.add(name="id", number=1, type=3, label=1)
    made = order.message_type.add(name="Order")
    made.field.add(name="id", number=1, type=3, label=1)
    made.field.add(name="lines", number=2, type=11, label=3, type_name=".shop.Line")
    made.field.add(name="at", number=3, type=11, label=1, type_name=".google.protobuf.Timestamp")
    made.nested_type.add(name="Zero").field.add(name="x", number=1, type=5, label=1)
    inner = made.nested_type.add(name="Inner")
    inner.field.add(name="x", number=1, type=5, label=1)
    assert field.name == "sku"
    for file in (line, order):
        pool.AddSerializedFile(file.SerializeToString())
    names = ("First", "Order", "Order.Zero", "Order.Inner")
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shop.{n}")) for n in names}


CLASSES = messages()


def an_order() -> Any:
    made = CLASSES["Order"](id=7)
    made.lines.add(sku="a")
    made.at.seconds = 5
    return made
