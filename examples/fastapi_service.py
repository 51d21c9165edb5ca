"""A FastAPI service that writes orders to Kafka and reads them in a task of its own, all on one event loop.

    uvicorn examples.fastapi_service:app

POST /orders            answers 201 once the order is stored, and where: 503 when Kafka did not take it in time
POST /clicks            answers 202 at once; what is still on its way when the service stops is delivered then
GET  /billed/{customer} what the task has read so far
GET  /health            200 while both clients reach a broker and the task runs, else 503 with the reason
GET  /metrics           what both clients count, for Prometheus

The clients live as long as the app: made in its lifespan, on the loop that uvicorn runs, asyncio's own or uvloop's.
With `--workers 4` each process has clients of its own, and the consumers share the topic's partitions as one group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import AsyncIterator
from typing import TypedDict

from fastapi import FastAPI, HTTPException, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from kwire import KafkaError, aio
from kwire.contrib import prometheus

KAFKA = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092")


class Order(BaseModel):
    customer: str
    cents: int


class Placed(BaseModel):
    partition: int
    offset: int


class State(TypedDict):
    """What the lifespan gives to every request."""

    producer: aio.Producer
    consumer: aio.Consumer
    billing: asyncio.Task[None]
    billed: Counter[str]


async def bill(consumer: aio.Consumer, billed: Counter[str]) -> None:
    """Reads orders until `consumer.wakeup()`; what was handled is committed as the loop goes on.

    An error ends it, and /health says so. To try again and put aside what fails, have an `aio.Worker` call a handler.
    """
    consumer.subscribe(["orders"])
    async for record in consumer:
        order = Order.model_validate_json(record.value or b"")
        billed[order.customer] += order.cents


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[State]:
    async with (
        aio.Producer(
            KAFKA,
            client_id="orders-api",
            key_serializer="string",
            value_serializer="json",
            linger_ms=5,
            max_block_ms=5_000,
            delivery_timeout_ms=5_000,
            request_timeout_ms=4_000,
        ) as producer,
        aio.Consumer(KAFKA, group_id="billing", client_id="orders-billing", auto_offset_reset="earliest") as consumer,
    ):
        prometheus.export(producer)
        prometheus.export(consumer)
        billed: Counter[str] = Counter()
        billing = asyncio.create_task(bill(consumer, billed))
        try:
            yield State(producer=producer, consumer=consumer, billing=billing, billed=billed)
        finally:
            consumer.wakeup()
            await asyncio.wait([billing])


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=201)
async def place(order: Order, request: Request) -> Placed:
    """A client that hangs up meanwhile takes nothing back: the record is on its way."""
    try:
        stored = await request.state.producer.send("orders", order.model_dump(), key=order.customer)
    except KafkaError as error:
        raise HTTPException(503, str(error)) from error
    return Placed(partition=stored.partition, offset=stored.offset)


@app.post("/clicks", status_code=202)
async def click(page: str, request: Request) -> None:
    """`drain()` waits while the buffer is full, so that a Kafka that is away slows callers down instead of failing."""
    await request.state.producer.drain()
    request.state.producer.send("clicks", page)


@app.get("/billed/{customer}")
async def billed(customer: str, request: Request) -> int:
    totals: Counter[str] = request.state.billed
    return totals[customer]


@app.get("/health")
async def health(request: Request, response: Response) -> dict[str, object]:
    billing: asyncio.Task[None] = request.state.billing
    producer, consumer = request.state.producer.health(), request.state.consumer.health()
    healthy = producer.reachable and consumer.reachable and not billing.done()
    response.status_code = 200 if healthy else 503
    return {
        "healthy": healthy,
        "billing": repr(billing.exception()) if billing.done() else "runs",
        "lag": sum(consumer.lag.values()),
        "clients": [repr(producer), repr(consumer)],
    }


@app.get("/metrics")
async def metrics() -> Response:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
