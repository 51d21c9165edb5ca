"""kio: a codec without a client."""

from __future__ import annotations

import io
from typing import Any

from kio.records.readers import read_batch
from kio.schema.fetch.v10.response import FetchResponse
from kio.schema.metadata.v5.response import MetadataResponse
from kio.schema.produce.v7.request import ProduceRequest
from kio.serial import entity_reader, entity_writer

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import run_codec
from benchmarks.compare.task import Task


def codec(task: Task) -> dict[str, Any]:
    """Records and messages, in process."""
    plain = inputs.batch(count=inputs.FEWER)
    works: dict[str, Any] = {
        "records": (lambda: read_batch(plain, 0)[0].records, inputs.FEWER),
        "values": (lambda: [record.value for record in read_batch(plain, 0)[0].records], inputs.FEWER),
    }
    for name, kind, (message, version) in (
        ("metadata", MetadataResponse, inputs.metadata_response()),
        ("fetch", FetchResponse, inputs.fetch_response()),
        ("produce", ProduceRequest, inputs.produce_request()),
    ):
        data = message.encode(version)
        read, write = entity_reader(kind), entity_writer(kind)
        decoded = read(data, 0)[0]
        works[f"{name}-decode"] = (lambda r=read, d=data: r(d, 0)[0], 1)
        works[f"{name}-encode"] = (lambda w=write, m=decoded: _encode(w, m), 1)
    return run_codec(task, works)


def _encode(write: Any, message: Any) -> bytes:
    out = io.BytesIO()
    write(out, message)
    return out.getvalue()


VERBS = {"codec": codec}
