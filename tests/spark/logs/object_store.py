"""An object store on loopback that speaks as much of S3 as reading takes: listing, sizes, ranges."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class ObjectStore(ThreadingHTTPServer):
    """The files below a folder as the objects of one bucket; `ranges` are the byte ranges that were read."""

    daemon_threads = True

    def __init__(self, folder: Path, bucket: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.bucket = bucket
        self.ranges: list[str] = []
        self.authorizations: set[str] = set()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def uri(self, path: str, credentials: str = "") -> str:
        return f"s3://{credentials}{self.bucket}/{path}?region=here&scheme=http&endpoint_override=127.0.0.1:{self.port}"


@contextmanager
def object_store(folder: Path, bucket: str = "logs") -> Iterator[ObjectStore]:
    with ObjectStore(folder, bucket) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ObjectStore

    def do_HEAD(self) -> None:
        self._object(with_content=False)

    def do_GET(self) -> None:
        self.server.authorizations.add(self.headers.get("Authorization", ""))
        url = urlsplit(self.path)
        if "list-type" in parse_qs(url.query):
            self._list({name: values[0] for name, values in parse_qs(url.query).items()})
        else:
            self._object(with_content=True)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def _object(self, with_content: bool) -> None:
        path = unquote(urlsplit(self.path).path).removeprefix(f"/{self.server.bucket}").lstrip("/")
        file = self.server.folder / path
        if not path or not file.is_file():
            self._answer(404 if path else 200, b"")
            return
        content = file.read_bytes()
        asked = self.headers.get("Range")
        if not with_content or asked is None:
            self._answer(200, content, with_content=with_content)
            return
        self.server.ranges.append(asked)
        first, last = (int(number) for number in asked.removeprefix("bytes=").split("-"))
        last = min(last, len(content) - 1)
        self._answer(206, content[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{len(content)}"})

    def _list(self, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        keys = sorted(
            str(path.relative_to(self.server.folder)) for path in self.server.folder.rglob("*") if path.is_file()
        )
        found, folders = [], set()
        for key in (key for key in keys if key.startswith(prefix)):
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
            else:
                size = (self.server.folder / key).stat().st_size
                found.append(f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size></Contents>")
        common = [f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders)]
        entries = found + common
        head = f"<IsTruncated>false</IsTruncated><KeyCount>{len(entries)}</KeyCount>"
        body = f"<ListBucketResult>{head}{''.join(entries)}</ListBucketResult>"
        self._answer(200, body.encode(), {"Content-Type": "application/xml"})

    def _answer(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, with_content: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_content:
            self.wfile.write(body)
