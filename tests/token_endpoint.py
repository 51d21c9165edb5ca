"""A token endpoint on loopback for tests: what it answers is given, what it was asked is kept."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.http_server import http_server


class Endpoint:
    """It gives its answers in order, the last one for ever, and keeps the requests: path, headers, body."""

    def __init__(self, *answers: tuple[int, object]) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, dict[str, str], str]] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"])).decode()
        self.requests.append((handler.path, dict(handler.headers), body))
        status, content = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        if status == 302:
            handler.send_header("Location", self.url + "/elsewhere")
        handler.end_headers()
        handler.wfile.write(data)


@contextmanager
def serving(endpoint: Endpoint, context: ssl.SSLContext | None = None) -> Iterator[Endpoint]:
    with http_server(endpoint.answer, context) as url:
        endpoint.url = url + "/token"
        yield endpoint
