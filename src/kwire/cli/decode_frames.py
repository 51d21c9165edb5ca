"""`kwire decode` of frames as they are: the bytes of one or more requests or responses, field by field."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from kwire import errors, protocol
from kwire.cli.capture.conversations import looks_like_request
from kwire.cli.usage import UsageError
from kwire.errors import ConfigError
from kwire.errors.listing import counted, first_of

__all__ = ["are_requests", "decode_frames", "is_one_frame"]

_HEAD = 14
_MAX_CANDIDATES = 12


def are_requests(data: bytes) -> bool:
    """Whether `data` begins with a request that kwire knows. One that is cut off must look unlike a record batch."""
    if not looks_like_request(data[:_HEAD]):
        return False
    is_whole = int.from_bytes(data[:4], "big") <= len(data) - 4
    has_magic = len(data) > 16 and data[16] <= 2 and data[8] == 0
    return is_whole or not has_magic


def is_one_frame(data: bytes) -> bool:
    """Whether the size field is that of all the bytes: a response, if it is not a request."""
    return len(data) >= 8 and int.from_bytes(data[:4], "big", signed=True) == len(data) - 4


def decode_frames(data: bytes, options: argparse.Namespace, write: Callable[[str], None], color: bool) -> int:
    """Writes each frame; 1 when one of them is damaged."""
    generation = options.generation if options.generation == "0.7" else None
    asked = None if options.response is None else _asked(options.response, generation)
    if asked is None and generation is None and is_one_frame(data):
        _advise_on_response(data)
    damaged = False
    for begin, frame in _frames(data):
        if options.at is not None and not begin <= options.at < begin + len(frame):
            continue
        description = protocol.describe(
            frame,
            *(asked or ()),
            generation=generation,
            secrets=options.secrets,
            max_items=None if options.at is not None else options.items,
        )
        damaged = damaged or bool(description.errors)
        if options.json:
            write(description.to_json())
        else:
            at = None if options.at is None else options.at - begin
            if begin:
                write(f"at byte {begin}:")
            write(description.to_text(color=color, at=at))
    if options.at is not None and not 0 <= options.at < len(data):
        raise UsageError(f"--at {options.at}: the input has {counted(len(data), 'byte')}")
    if damaged:
        print("the frame is damaged, or not what it was taken for", file=sys.stderr)
    return 1 if damaged else 0


def _frames(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(where it begins, the frame): as many as the sizes say; a last one may be cut off."""
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        end = len(data) if size < 0 else min(at + 4 + size, len(data))
        yield at, data[at:end]
        at = max(end, at + 1)


def _asked(text: str, generation: str | None) -> tuple[int | str, int]:
    name, colon, version = text.partition(":")
    if generation is None:
        by_name = {api.name.lower(): api.key for api in protocol.APIS.values()}
    else:
        by_name = {
            request.__name__.removesuffix("Request").lower(): key
            for key, request in protocol.kafka_0_7.REQUESTS.items()
        }
    key = int(name) if name.isdecimal() else by_name.get(name.lower())
    if generation is not None and key is not None and not colon:
        return key, 0
    if generation is not None:
        raise UsageError(f"--response {text!r}: write one of {', '.join(by_name)}; Kafka 0.7 has no versions")
    if not colon or not version.isdecimal() or key is None:
        raise UsageError(f"--response {text!r}: write API:VERSION of the request, as in Fetch:12 or 1:12")
    return key, int(version)


def _advise_on_response(data: bytes) -> None:
    """ConfigError for a single frame that makes no sense as a request, when it does, or could, as a response."""
    may_be_request = are_requests(data)
    if may_be_request and not protocol.describe(data, max_items=0).errors:
        return
    fitting = _fitting(data)
    if fitting or not may_be_request:
        raise ConfigError(_advice(fitting))


def _fitting(data: bytes) -> list[str]:
    """Which requests the bytes could answer, since a response does not say so itself."""
    fitting = []
    for api in protocol.APIS.values():
        versions = [version for version in api.versions if _fits(data, api.key, version)]
        if versions:
            span = str(versions[0]) if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"
            fitting.append(f"{api.name}:{span}")
    return fitting


def _advice(fitting: list[str]) -> str:
    text = "a frame that is not a request; if it is a response, name its request with --response API:VERSION"
    if not fitting:
        return f"{text}. No response known to kwire fits without bytes left over"
    return f"{text}. It would fit {first_of(fitting, _MAX_CANDIDATES)}"


def _fits(data: bytes, key: int, version: int) -> bool:
    """Whether the bytes are such a response to the last one, with error codes that exist."""
    try:
        protocol.decode_response(data, key, version)
    except errors.KafkaError:
        return False
    leaves = protocol.describe(data, key, version).leaves()
    return not any(leaf.name.endswith("error_code") and "UNKNOWN_CODE" in leaf.meaning for leaf in leaves)
