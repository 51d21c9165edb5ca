"""A real Prometheus on loopback that scrapes one address, and its HTTP API."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.brokers.ports import free_ports
from tests.brokers.processes import dying_with_parent
from tests.timing import PATIENT

MISSING = "Prometheus is not installed: `make prometheus` tries to install it"
SCRAPE_S = 0.25

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None, reason=MISSING
)


class PrometheusServer:
    """`address` is what it scrapes."""

    def __init__(self, folder: Path, address: str) -> None:
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        config = folder / "prometheus.yml"
        config.write_text(
            f"global: {{scrape_interval: {int(SCRAPE_S * 1000)}ms, scrape_timeout: {int(SCRAPE_S * 1000)}ms}}\n"
            f"scrape_configs: [{{job_name: kwire, static_configs: [{{targets: ['{address}']}}]}}]\n"
        )
        command = [
            str(shutil.which("prometheus")),
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        self._log = (folder / "prometheus.log").open("w+")
        self._process = subprocess.Popen(dying_with_parent(command), stdout=self._log, stderr=self._log)

    def __enter__(self) -> PrometheusServer:
        until = time.monotonic() + PATIENT
        while True:
            try:
                urlopen(f"{self._url}/-/ready", timeout=PATIENT).close()
                return self
            except OSError:  # refused, or not ready
                if self._process.poll() is not None or time.monotonic() > until:
                    self._log.seek(0)
                    raise AssertionError(f"Prometheus does not run: {self._log.read()}") from None
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What it evaluates to at this moment: a row for each series. AssertionError for one that is refused."""
        try:
            with urlopen(f"{self._url}/api/v1/query?{urlencode({'query': expression})}", timeout=PATIENT) as answer:
                found = json.load(answer)
        except HTTPError as error:
            raise AssertionError(f"{expression}: {error.read().decode()}") from None
        result: list[dict[str, Any]] = found["data"]["result"]
        return result
