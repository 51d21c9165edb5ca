"""kio: a codec without a client."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

from kio.records.readers import read_batch
from kio.schema.fetch.v10.response import FetchResponse
from kio.schema.metadata.v5.response import MetadataResponse
from kio.schema.produce.v7.request import ProduceRequest
from kio.serial import entity_reader, entity_writer

from benchmarks.compare.contenders import inputs, peers
from benchmarks.compare.contenders.meters import Case, Cases, run_case
from benchmarks.compare.contenders.task import Task

_MESSAGES = {"metadata": MetadataResponse, "fetch": FetchResponse, "produce": ProduceRequest}

prepare = partial(inputs.prepare, inputs.FEWER)


def codec(task: Task) -> dict[str, float]:
    """One case, in process."""
    return run_case(task, cases())


def cases() -> Cases:
    """Records and messages."""
    n = inputs.FEWER
    plain = partial(inputs.batch, count=n)
    decoders = {name: partial(_decode, entity_reader(kind)) for name, kind in _MESSAGES.items()}
    encoders = {name: partial(_encode, entity_writer(kind)) for name, kind in _MESSAGES.items()}
    return {
        "records": Case(_read, plain, n),
        "values": Case(lambda data: [record.value for record in _read(data)], plain, n),
        **peers.messages(decoders, encoders),
    }


def _read(data: bytes) -> Any:
    return read_batch(data, 0)[0].records


def _decode(read: Any, data: bytes) -> Any:
    return read(data, 0)[0]


def _encode(write: Any, message: Any) -> bytes:
    out = io.BytesIO()
    write(out, message)
    return out.getvalue()
