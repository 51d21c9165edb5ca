"""The built site in a browser: what its search finds, and that it fits a phone. `make site` builds it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.site.chromium import Chromium
from tests.snippets import ROOT

SITE = ROOT / "build" / "site"
INDEX = SITE / "search" / "search_index.json"
CHROMIUM = shutil.which("chromium")


def is_up_to_date() -> bool:
    sources = [ROOT / "mkdocs.yml", *(ROOT / "docs").rglob("*.*"), *(ROOT / "scripts").glob("site_*.py")]
    return INDEX.exists() and INDEX.stat().st_mtime > max(path.stat().st_mtime for path in sources)


pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here"),
    pytest.mark.skipif(not is_up_to_date(), reason="build/site is missing or old: make site"),
]

TROUBLES = "operations/troubleshooting.html"
BY_ERROR = {
    "the broker speaks TLS on this port": TROUBLES,
    "the broker answers in plaintext": TROUBLES,
    "is not trusted here": TROUBLES,
    "Authentication failed": TROUBLES,
    "this client belongs to process": TROUBLES,
    "bytes wait to be delivered": TROUBLES,
    "there was no poll for max_poll_interval_ms": TROUBLES,
    "needs a running event loop": TROUBLES,
    "OFFSET_OUT_OF_RANGE": TROUBLES,
    "DATA_SOURCE_NOT_FOUND": TROUBLES,
    "CERTIFICATE_VERIFY_FAILED": TROUBLES,
    "UNKNOWN_TOPIC_OR_PARTITION": "reference/error-codes.html",
    "BufferError: Local: Queue full": "how-to/react-to-a-full-buffer.html",
    "MessageSizeTooLargeError": "how-to/send-large-records.html",
    "NoBrokersAvailable": "how-to/reach-a-broker-in-docker.html",
}
BY_NAME = {
    "Producer.send": "reference/producer.html",
    "ShareConsumer": "reference/consumer.html",
    "create_topics": "reference/admin.html",
    "offsets_for_times": "reference/consumer.html",
    "aio.Consumer": "reference/aio.html",
    "decode_record_sets": "reference/spark.html",
    "BufferFull": "reference/errors.html",
    "linger_ms": "reference/producer.html",
    "max.poll.interval.ms": "how-to/process-slowly.html",
    "consumer_timeout_ms": "how-to/read-to-the-end-and-stop.html",
    "failOnDataLoss": "reference/spark-options.html",
    "stats_cb": "metrics.html",
}

BY_QUESTION = {
    "add headers": "send-and-read-headers",
    "certificate from a string": "connect-with-tls-and-a-password",
    "change replication factor": "move-partitions",
    "committed offset of another group": "see-the-lag-of-a-group",
    "compress messages": "send-many-records-fast",
    "consumer in a thread": "handle-records-in-parallel",
    "copy a message to another topic": "copy-exactly-once",
    "csv file to kafka": "write-a-data-frame-to-a-topic",
    "custom partitioner": "choose-the-partition-yourself",
    "delete a consumer group": "delete-topics-and-groups",
    "delete a topic": "delete-topics-and-groups",
    "dict to json": "send-and-read-json",
    "duplicates after restart": "commit-after-the-work",
    "idempotent producer": "survive-a-broker-that-goes-away",
    "is the broker up": "see-whether-the-broker-is-up",
    "kubernetes": "check-the-health-of-a-client",
    "last message": "read-the-last-records",
    "low latency": "send-with-low-latency",
    "messages are read twice": "commit-after-the-work",
    "move partitions to other brokers": "move-partitions",
    "mutual TLS client certificate": "connect-with-tls-and-a-password",
    "produce a null value": "delete-a-key",
    "produce to a partition": "choose-the-partition-yourself",
    "read from two clusters": "use-two-clusters",
    "run a consumer in the background": "handle-records-in-parallel",
    "seek to timestamp": "read-from-a-time",
    "send synchronously": "know-that-a-record-arrived",
    "skip messages": "read-on-after-a-bad-record",
    "static membership group.instance.id": "hear-of-rebalances",
    "stop after n messages": "read-to-the-end-and-stop",
    "store_offsets": "commit-after-the-work",
}
"""Words of those who come from other clients, and the how-to that answers."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The search is a worker, which browsers start for http alone."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    assert CHROMIUM is not None
    with Chromium(CHROMIUM, tmp_path / "profile") as started:
        yield started


def test_the_search_has_the_right_page_first(browser: Chromium, address: str) -> None:
    browser.go(f"{address}/index.html")
    browser.run("document.querySelector('.md-search__input').focus()")
    wanted = BY_ERROR | BY_NAME | {query: f"how-to/{page}.html" for query, page in BY_QUESTION.items()}
    found = {query: first_found(browser, address, query) for query in wanted}
    assert found == wanted


RESULTS = "document.querySelector('.md-search-result__list')"


def first_found(browser: Chromium, address: str, query: str) -> str:
    """The page of the first result, of a search that had no results before."""
    browser.run(
        f"{RESULTS}.replaceChildren();"
        f"document.querySelector('.md-search__input').value = {json.dumps(query)};"
        "document.querySelector('.md-search__input').dispatchEvent(new Event('keyup'))"
    )
    link = browser.run_until(f"{RESULTS}.querySelector('a')?.href")
    return str(link).removeprefix(f"{address}/").partition("?")[0].partition("#")[0]


def test_a_row_that_was_found_is_there_to_go_to(browser: Chromium, address: str) -> None:
    browser.go(f"{address}/{TROUBLES}#the-broker-answers-in-plaintext")
    assert "PLAINTEXT" in browser.run("document.querySelector('tr:target').textContent")


PAGES = ("index", "how-to/index", TROUBLES[:-5], "settings", "reference/producer", "from-kafka-python", "performance")


def test_pages_are_no_wider_than_a_phone(browser: Chromium, address: str) -> None:
    browser.resize(390, 844)
    widths = {}
    for page in PAGES:
        browser.go(f"{address}/{page}.html")
        widths[page] = browser.run("document.documentElement.scrollWidth")
    assert widths == dict.fromkeys(PAGES, 390)


def test_colours_follow_the_system(browser: Chromium, address: str) -> None:
    shades = []
    for scheme in ("dark", "light", "dark"):
        browser.prefer(scheme)
        browser.go(f"{address}/index.html?{len(shades)}")
        shades.append(browser.run("document.body.getAttribute('data-md-color-scheme')"))
    assert shades == ["slate", "default", "slate"]
