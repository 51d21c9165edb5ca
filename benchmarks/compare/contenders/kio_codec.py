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

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Piece, Pieces, run_codec
from benchmarks.compare.task import Task

inputs.prepare(inputs.FEWER)


def codec(task: Task) -> dict[str, float]:
    """One piece of work, in process."""
    return run_codec(task, pieces())


def pieces() -> Pieces:
    """Records and messages."""
    n = inputs.FEWER
    plain = partial(inputs.batch, count=n)
    return {
        "records": Piece(lambda data: read_batch(data, 0)[0].records, plain, n),
        "values": Piece(lambda data: [record.value for record in read_batch(data, 0)[0].records], plain, n),
        **_messages(),
    }


def _messages() -> Pieces:
    found = {}
    for name, kind in (("metadata", MetadataResponse), ("fetch", FetchResponse), ("produce", ProduceRequest)):
        decode = partial(_decode, entity_reader(kind))
        found[f"{name}-decode"] = Piece(decode, partial(_encoded, name), 1)
        found[f"{name}-encode"] = Piece(partial(_encode, entity_writer(kind)), partial(_decoded, decode, name), 1)
    return found


def _encoded(name: str) -> bytes:
    message, version = inputs.MESSAGES[name]()
    return message.encode(version)


def _decode(read: Any, data: bytes) -> Any:
    return read(data, 0)[0]


def _decoded(decode: Any, name: str) -> Any:
    return decode(_encoded(name))


def _encode(write: Any, message: Any) -> bytes:
    out = io.BytesIO()
    write(out, message)
    return out.getvalue()


VERBS = {"codec": codec}
