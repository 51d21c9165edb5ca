"""The hand-explained frames of the old generations, both ways."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import protocol
from tests.vectors.loader import FrameVector, load_frames

VECTORS = load_frames("generations.txt")
_KEY = {"request_type", "request_type_id", "request_api_key", "request_api_version"}


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{vector.module}-{vector.message}" for vector in VECTORS])
def test_bytes_and_values_are_the_same_frame(vector: FrameVector) -> None:
    module: Any = getattr(protocol, vector.module)
    message = getattr(module, vector.message).from_dict(vector.values)
    header = dict(vector.header)
    answers = header.pop("answers", None)
    arguments = {name: value for name, value in header.items() if name not in _KEY}
    if answers is None:
        assert module.encode_request(message, **arguments).hex(" ") == vector.frame.hex(" ")
        decoded_header, decoded = module.decode_request(vector.frame)
    else:
        assert module.encode_response(message, **arguments).hex(" ") == vector.frame.hex(" ")
        decoded_header, decoded = module.decode_response(vector.frame, answers)
    assert decoded == message
    assert decoded_header.to_dict() == header


def test_every_message_has_a_vector() -> None:
    named = {(vector.module, vector.message) for vector in VECTORS}
    for module in ("kafka_0_7", "proposal", "draft_0_8"):
        messages = [name for name in getattr(protocol, module).__all__ if name.endswith(("Request", "Response"))]
        assert {(module, name) for name in messages} <= named
