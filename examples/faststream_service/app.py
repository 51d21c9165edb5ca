"""A service on FastStream and kwire: orders come in, invoices go out; what cannot be billed goes to the dead letters.

faststream run examples.faststream_service.app:app             KAFKA_BOOTSTRAP_SERVERS says where the brokers are
faststream docs serve examples.faststream_service.app:app      what it reads and writes, as a page of AsyncAPI
"""

from __future__ import annotations

import os
from typing import Annotated

from faststream import Context, FastStream
from pydantic import BaseModel, PositiveFloat

from examples.faststream_service.broker import KwireBroker
from examples.faststream_service.messages import KwireResponse
from kwire.aio import ConsumerRecord

broker = KwireBroker(os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092"))
app = FastStream(broker)


class Order(BaseModel):
    """What comes in."""

    customer: str
    price: PositiveFloat


class Invoice(BaseModel):
    """What goes out."""

    customer: str
    total: float
    order: str


@broker.subscriber("orders", group_id="billing", concurrency=4, retries=1, dead_letter_topic="orders.dead")
@broker.publisher("invoices", schema=Invoice)
async def bill(order: Order, record: Annotated[ConsumerRecord, Context("message.raw_message")]) -> KwireResponse:
    """Bills an order; orders of one customer stay in order, as their invoices have the customer as key."""
    place = f"{record.topic}-{record.partition}@{record.offset}"
    invoice = Invoice(customer=order.customer, total=round(order.price * 1.19, 2), order=place)
    return KwireResponse(invoice, key=order.customer.encode())
