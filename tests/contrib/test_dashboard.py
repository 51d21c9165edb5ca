"""Grafana's dashboard and the alert rules: each query on a real Prometheus that scrapes clients at work."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client import CollectorRegistry, start_http_server
from scripts.grafana_dashboard import VARIABLES, dashboard

from kwire import Admin, Consumer, Producer, ShareConsumer, errors
from kwire.contrib import prometheus
from kwire.fronts.metrics_table import TABLE
from kwire.testing import Broker
from tests.brokers.ports import free_ports
from tests.contrib.prometheus_server import PrometheusServer, needs_prometheus

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "docs" / "prometheus" / "alerts.yml"
ALERTS_TEST = Path(__file__).parent / "alerts_test.yml"
EXPORTED = re.compile(r"kwire_(?:producer|consumer|share_consumer|admin)_[a-z_]+")
WORK_S = 6.0


def targets() -> Iterator[tuple[str, str]]:
    """(title of the panel and legend, query) of each."""
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']}: {target['legendFormat']}", target["expr"]


def filled_in(expression: str) -> str:
    """As Grafana asks with all of each variable chosen."""
    for name in VARIABLES:
        expression = expression.replace(f"${name}", ".*")
    return expression.replace("$__rate_interval", "5s")


# -- without a Prometheus ----------------------------------------------------------------------------------------------


def test_grafanas_own_types_take_every_field_of_the_dashboard() -> None:
    register_default_plugins()
    written = dashboard()
    read = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(written)))
    assert list(_lost(written, read)) == []
    assert list(_lost({**written, "refesh": "1s"}, read)) == [".refesh"]


def _lost(written: Any, read: Any, path: str = "") -> Iterator[str]:
    """Where what was read has less than what was written, or something else."""
    if isinstance(written, dict):
        for key, value in written.items():
            if key not in read:
                yield f"{path}.{key}"
            else:
                yield from _lost(value, read[key], f"{path}.{key}")
    elif isinstance(written, list):
        for index, value in enumerate(written):
            yield from _lost(value, read[index], f"{path}[{index}]")
    elif written != read:
        yield path


def test_the_file_is_the_dashboard() -> None:
    assert json.loads((ROOT / "docs" / "prometheus" / "dashboard.json").read_text()) == dashboard()


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    panels = dashboard()["panels"]
    places = [panel["gridPos"] for panel in panels]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_each_metric_in_a_query_or_an_alert_is_one_that_is_exported() -> None:
    stems = {prometheus._stem(row.name) for row in TABLE}
    known = {f"kwire_{kind}_{stem}" for kind in ("producer", "consumer", "share_consumer", "admin") for stem in stems}
    text = "\n".join(query for _, query in targets()) + ALERTS.read_text()
    used = {name.removesuffix("_total") for name in EXPORTED.findall(text)}
    assert len(used) > 30
    assert used <= known


# -- with one ----------------------------------------------------------------------------------------------------------


@needs_prometheus
def test_promtool_takes_the_alerts_and_they_tell_of_what_they_are_for() -> None:
    for command in (["check", "rules", str(ALERTS)], ["test", "rules", str(ALERTS_TEST)]):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def work(broker: Broker, registry: CollectorRegistry, stop: Event) -> None:
    """Clients of all kinds, which meet some trouble, until told to stop."""
    servers = broker.bootstrap_servers
    options: Any = {"max_block_ms": 200, "allow_auto_create_topics": False, "linger_ms": 5, "retry_backoff_ms": 20}
    with (
        Producer(servers, client_id="p", **options) as producer,
        Consumer(servers, client_id="c", group_id="g", auto_offset_reset="earliest") as consumer,
        ShareConsumer(servers, client_id="s", group_id="s") as share,
        Admin(servers, client_id="a") as admin,
    ):
        for client in (producer, consumer, share, admin):
            prometheus.export(client, registry)
        consumer.subscribe(["orders"])
        share.subscribe(["orders"])
        while not stop.wait(0.05):
            broker.faults.error("Produce", errors.broker.NOT_LEADER_OR_FOLLOWER)
            for _ in range(20):
                producer.send("orders", bytes(100))
            producer.send("nowhere", b"v").exception(timeout=10)
            producer.flush()
            for record in (*consumer.poll(timeout=0.05), *share.poll(timeout=0.05)):
                assert record.topic == "orders"
            consumer.commit()
            admin.list_topics()


@pytest.mark.nightly
@needs_prometheus
def test_each_query_of_the_dashboard_has_data_of_clients_at_work(tmp_path: Path) -> None:
    registry, stop = CollectorRegistry(), Event()
    (port,) = free_ports(1)
    server, thread = start_http_server(port, "127.0.0.1", registry)
    with Broker(topics={"orders": 2}) as broker, PrometheusServer(tmp_path, f"127.0.0.1:{port}") as scraping:
        worker = Thread(target=work, args=(broker, registry, stop))
        worker.start()
        try:
            time.sleep(WORK_S)
            without = {title: query for title, query in targets() if not has_data(scraping.query(filled_in(query)))}
            sent = scraping.query("sum(rate(kwire_producer_record_send_total[5s]))")
            errors_found = scraping.query("sum(rate(kwire_producer_record_error_total[5s])) > 0")
            variables = {name: scraping.query(_selector_of(query)) for name, query in VARIABLES.items()}
        finally:
            stop.set()
            worker.join()
            server.shutdown()
            server.server_close()
            thread.join()
    assert without == {}
    assert float(sent[0]["value"][1]) > 10
    assert errors_found
    assert all(variables.values())


def has_data(rows: list[dict[str, Any]]) -> bool:
    return any(isfinite(float(row["value"][1])) for row in rows)


def _selector_of(query: str) -> str:
    """What label_values(SELECTOR, LABEL) looks at."""
    return filled_in(query.removeprefix("label_values(").rpartition(",")[0])
