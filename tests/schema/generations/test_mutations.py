"""Damaged frames of the old generations: only errors of kwire leave the decoders."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire import errors, protocol
from tests.schema.test_mutations import damaged
from tests.thorough import THOROUGH
from tests.vectors.loader import FrameVector, load_frames

VECTORS = load_frames("generations.txt")
DAMAGED = 20_000 if THOROUGH else 1_000


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{vector.module}-{vector.message}" for vector in VECTORS])
def test_only_kwires_errors_escape(vector: FrameVector) -> None:
    module: Any = getattr(protocol, vector.module)
    answers = vector.header.get("answers")
    rng = random.Random(len(vector.frame))
    places: list[int] = []
    for _ in range(DAMAGED):
        body = damaged(vector.frame[4:], rng)
        frame = len(body).to_bytes(4, "big") + body
        try:
            if answers is None:
                module.decode_request(frame)
            else:
                module.decode_response(frame, answers)
        except errors.CodecError as error:
            places.append(error.offset or 0)
    assert places
    assert 0 <= min(places) <= max(places) <= len(vector.frame) + 3 * 16
