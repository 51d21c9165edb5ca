"""Questions about messages: Kafka's generated classes turn bytes into JSON and JSON into bytes.

A message is named as its class without "Data": "FetchRequest", "ResponseHeader". Kafka's converters leave the
records out of the JSON (they show an empty text), so records are compared as bytes.
"""

from typing import Any, NamedTuple

from tests.oracle.driver import Oracle, from_base64, to_base64

Json = dict[str, Any]


class RandomMessage(NamedTuple):
    """The same message as bytes and as Kafka's JSON."""

    data: bytes
    json: Json


def versions(oracle: Oracle, message: str) -> range:
    """The versions of the message that the release has."""
    answer = oracle.ask("message-versions", message=message)
    return range(answer["lowest"], answer["highest"] + 1)


def header_versions(oracle: Oracle, api_key: int, version: int) -> tuple[int, int]:
    """The versions of the request header and of the response header that go with a version of an API."""
    answer = oracle.ask("header-versions", api_key=api_key, version=version)
    return answer["request"], answer["response"]


def random_message(oracle: Oracle, message: str, version: int, seed: int) -> RandomMessage:
    """A message drawn from the schema of the version, as Kafka's classes write it."""
    answer = oracle.ask("random-message", message=message, version=version, seed=seed)
    return RandomMessage(_bytes(answer), answer["json"])


def to_json(oracle: Oracle, message: str, version: int, data: bytes) -> Json:
    """What Kafka's classes read; left-over bytes are an error."""
    answer = oracle.ask("message-to-json", message=message, version=version, bytes=to_base64(data))
    if answer["left_over"]:
        raise ValueError(f"{message} v{version}: {answer['left_over']} bytes left over")
    json: Json = answer["json"]
    return json


def to_bytes(oracle: Oracle, message: str, version: int, json: Json) -> bytes:
    """What Kafka's classes write."""
    return _bytes(oracle.ask("message-to-bytes", message=message, version=version, json=json))


def _bytes(answer: Json) -> bytes:
    data = from_base64(answer["bytes"])
    assert data is not None
    return data
