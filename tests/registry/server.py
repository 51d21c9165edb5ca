"""A schema registry on loopback for tests, and whatever else it is told to answer: standard library only, no kwire.

It has Confluent's HTTP interface as its documentation has it: subjects with versions, ids that go by the schema alone,
references, compatibility by subject, deletes in two steps.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.http_server import http_server
from tests.registry.model import Refusal, RegistryModel


class RegistryServer:
    """`answers` are by path and win over the model: (status, JSON or bytes), or a list of them, given in order."""

    def __init__(self, model: RegistryModel | None = None, prefix: str = "") -> None:
        self.model = model or RegistryModel()
        self.answers: dict[str, Any] = {}
        self.requests: list[tuple[str, str]] = []
        self.headers: list[Message] = []
        self.asked: list[str] = []
        """Methods and paths with their queries, one for each request."""
        self.url = ""
        self.prefix = prefix
        self.pause_s = 0.0

    def add(self, id_: int, schema: Any, **fields: Any) -> None:
        self.answers[f"/schemas/ids/{id_}"] = (200, {"schema": json.dumps(schema), **fields})

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(length)) if length else None
        path = handler.path.removeprefix(self.prefix)
        self.requests.append((path, handler.headers.get("Authorization", "")))
        self.headers.append(handler.headers)
        self.asked.append(f"{handler.command} {path}")
        time.sleep(self.pause_s)
        found = self.answers.get(path) or self._of_model(handler.command, path, body)
        status, content = (found.pop(0) if len(found) > 1 else found[0]) if isinstance(found, list) else found
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        if status == 302:
            handler.send_header("Location", data.decode())
            data = b""
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        handler.end_headers()
        handler.wfile.write(data)

    def _of_model(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        parts = urlsplit(path)
        query = {name: values[-1].lower() == "true" for name, values in parse_qs(parts.query).items()}
        prefix = parse_qs(parts.query).get("subjectPrefix", [""])[0]
        try:
            segments = [unquote(each) for each in parts.path.strip("/").split("/")]
            return 200, self.model.answer(method, segments, query, body, prefix)
        except Refusal as refusal:
            return refusal.status, {"error_code": refusal.code, "message": refusal.message}


@contextmanager
def serving(
    context: ssl.SSLContext | None = None, model: RegistryModel | None = None, prefix: str = ""
) -> Iterator[RegistryServer]:
    registry = RegistryServer(model, prefix)
    with http_server(registry.answer, context) as url:
        registry.url = url + prefix
        yield registry
