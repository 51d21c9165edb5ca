"""A token endpoint of OAuth 2.0 on loopback, over https: client credentials in, tokens without a signature out."""

import base64
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs

from tests.brokers.ports import LOOPBACK
from tests.brokers.security.logins import unsecured_token
from tests.certificates import Authority

CLIENT_ID = "reader of payments"
CLIENT_SECRET = "The-endpoint-knows-77"
LIFETIME_S = 600


class TokenEndpoint:
    """A context manager; `requests` holds the forms that were posted, `ca` is the file to trust."""

    def __init__(self, folder: Path) -> None:
        authority = Authority("authority of the endpoint")
        issued = authority.issue("endpoint").write(folder, "endpoint")
        self.ca = folder / "endpoint-ca.pem"
        self.ca.write_text(authority.pem)
        self.requests: list[dict[str, list[str]]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint._answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                pass

        self._server = HTTPServer((LOOPBACK, 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(issued.certificate, issued.key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where tokens are."""
        return f"https://{LOOPBACK}:{self._server.server_port}/oauth2/token"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        form = request.rfile.read(int(request.headers["Content-Length"])).decode()
        self.requests.append(parse_qs(form))
        known = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if request.headers["Authorization"] == f"Basic {known}":
            status, answer = 200, {"access_token": unsecured_token(LIFETIME_S)()[0], "expires_in": LIFETIME_S}
        else:
            status, answer = 401, {"error": "invalid_client", "error_description": "nobody of that name"}
        body = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
