"""A token endpoint of OAuth 2.0 on loopback, over https: client credentials in, tokens without a signature out."""

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs

from tests.brokers.security.logins import unsecured_token
from tests.certificates import Authority
from tests.http_server import http_server

CLIENT_ID = "reader of payments"
CLIENT_SECRET = "The-endpoint-knows-77"
LIFETIME_S = 600


class TokenEndpoint:
    """`requests` holds the forms that were posted; tokens are at `url`, `ca` is the file to trust."""

    def __init__(self, ca: Path) -> None:
        self.ca = ca
        self.url = ""
        self.requests: list[dict[str, list[str]]] = []

    def answer(self, request: BaseHTTPRequestHandler) -> None:
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


@contextmanager
def token_endpoint(folder: Path) -> Iterator[TokenEndpoint]:
    """Serves it, with a certificate of its own in `folder`."""
    authority = Authority("authority of the endpoint")
    issued = authority.issue("endpoint").write(folder, "endpoint")
    endpoint = TokenEndpoint(folder / "endpoint-ca.pem")
    endpoint.ca.write_text(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    with http_server(endpoint.answer, context) as url:
        endpoint.url = url + "/oauth2/token"
        yield endpoint
