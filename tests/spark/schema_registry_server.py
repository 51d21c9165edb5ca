"""A schema registry on loopback for tests: schemas by id and subject, and whatever else it is told to answer."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class RegistryServer:
    """`answers` are by path: (status, JSON or bytes), or a list of them, given in order; others are 404."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.requests: list[tuple[str, str]] = []
        self.url = ""

    def add(self, id_: int, schema: Any, **fields: Any) -> None:
        self.answers[f"/schemas/ids/{id_}"] = (200, {"schema": json.dumps(schema), **fields})

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append((handler.path, handler.headers.get("Authorization", "")))
        found = self.answers.get(handler.path, (404, {"error_code": 40403, "message": "Schema not found"}))
        status, content = (found.pop(0) if len(found) > 1 else found[0]) if isinstance(found, list) else found
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        if status == 302:
            handler.send_header("Location", data.decode())
            data = b""
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if data == b"slow":
            for byte in data:
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                time.sleep(0.2)
            return
        handler.wfile.write(data)


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[RegistryServer]:
    registry = RegistryServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.answer(self)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    registry.url = f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
