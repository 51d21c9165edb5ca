"""A schema registry on loopback for tests: schemas by id and subject, and whatever else it is told to answer."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.http_server import http_server


class RegistryServer:
    """`answers` are by path: (status, JSON or bytes), or a list of them, given in order; others are 404."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.requests: list[tuple[str, str]] = []
        self.url = ""
        self.pause_s = 0.0

    def add(self, id_: int, schema: Any, **fields: Any) -> None:
        self.answers[f"/schemas/ids/{id_}"] = (200, {"schema": json.dumps(schema), **fields})

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append((handler.path, handler.headers.get("Authorization", "")))
        time.sleep(self.pause_s)
        found = self.answers.get(handler.path, (404, {"error_code": 40403, "message": "Schema not found"}))
        status, content = (found.pop(0) if len(found) > 1 else found[0]) if isinstance(found, list) else found
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        if status == 302:
            handler.send_header("Location", data.decode())
            data = b""
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[RegistryServer]:
    registry = RegistryServer()
    with http_server(registry.answer, context) as registry.url:
        yield registry
