"""Writes docs/prometheus/dashboard.json, Grafana's dashboard of kwire's clients, from the tables of panels below.

Its queries are of what `kwire.contrib.prometheus` exports; tests/contrib/prometheus/ runs each of them on Prometheus.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from scripts.sources import DOCS

PAGE = DOCS / "prometheus" / "dashboard.json"
KINDS = ("producer", "consumer", "share_consumer", "admin")
VARIABLES = {
    "job": 'label_values({__name__=~"kwire_.+_connection_count"}, job)',
    "instance": 'label_values({__name__=~"kwire_.+_connection_count", job=~"$job"}, instance)',
    "client_id": 'label_values({__name__=~"kwire_.+_connection_count", job=~"$job", instance=~"$instance"}, client_id)',
    "topic": 'label_values({__name__=~"kwire_.+_(send|consumed)_total", job=~"$job"}, topic)',
}
"""What the user chooses by; each may be all."""

RECORDS_PER_S = "suffix: records/s"

_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_CLIENT = 'job=~"$job", instance=~"$instance", client_id=~"$client_id"'
_TOPIC = f'{_CLIENT}, topic=~"$topic"'
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 24


class Panel(NamedTuple):
    """`queries` are PromQL by legend; `unit` is Grafana's name of it."""

    title: str
    unit: str
    queries: dict[str, str]
    description: str = ""


def _rate(name: str, selector: str = _CLIENT) -> str:
    return f"rate(kwire_{name}{{{selector}}}[$__rate_interval])"


def _by(label: str, name: str, selector: str = _CLIENT) -> str:
    return f"sum by ({label}) ({_rate(name, selector)})"


def _per(amount: str, count: str, selector: str = _CLIENT, label: str = "client_id") -> str:
    """The mean over the time between two points."""
    return f"{_by(label, amount, selector)} / {_by(label, count, selector)}"


def _of_kinds(query: str) -> dict[str, str]:
    """A query for each kind of client, which Prometheus keeps apart by the names of metrics."""
    return {f"{kind.replace('_', ' ')} {{{{client_id}}}}": query.replace("KIND", f"kwire_{kind}") for kind in KINDS}


_OF_PRODUCE, _OF_FETCH, _OF_COMMIT = (f'{_CLIENT}, api="{api}"' for api in ("Produce", "Fetch", "OffsetCommit"))

ROWS: dict[str, tuple[Panel, ...]] = {
    "Producers": (
        Panel("Records sent", RECORDS_PER_S, {"{{topic}}": _by("topic", "producer_record_send_total", _TOPIC)}),
        Panel("Bytes sent", "Bps", {"{{topic}}": _by("topic", "producer_byte_total", _TOPIC)}),
        Panel(
            "Errors and retries",
            RECORDS_PER_S,
            {
                "failed {{topic}}": _by("topic", "producer_record_error_total", _TOPIC),
                "sent again {{topic}}": _by("topic", "producer_record_retry_total", _TOPIC),
            },
            "Records. Those that failed are lost unless the program sends them again.",
        ),
        Panel(
            "Produce latency",
            "s",
            {
                "mean {{client_id}}": _per(
                    "producer_request_latency_seconds_total", "producer_response_total", _OF_PRODUCE
                ),
                "longest ever {{client_id}}": f"kwire_producer_request_latency_max_seconds{{{_OF_PRODUCE}}}",
            },
        ),
        Panel(
            "Time in the queue",
            "s",
            {
                "mean {{client_id}}": _per(
                    "producer_record_queue_time_seconds_total", "producer_batch_send_total", _CLIENT
                )
            },
            "From a batch's first record until it is written: linger_ms, and waiting for brokers.",
        ),
        Panel(
            "Buffer in use",
            "percentunit",
            {
                "{{client_id}}": f"1 - kwire_producer_buffer_available_bytes{{{_CLIENT}}}"
                f" / kwire_producer_buffer_total_bytes{{{_CLIENT}}}",
                "time that send() waits {{client_id}}": _by("client_id", "producer_bufferpool_wait_time_seconds_total"),
            },
            "At 100 % send() waits for max_block_ms at most, then raises.",
        ),
        Panel(
            "Batch size",
            "bytes",
            {
                "mean {{client_id}}": f"{_by('client_id', 'producer_byte_total')}"
                f" / {_by('client_id', 'producer_batch_send_total')}",
                "largest ever {{client_id}}": f"kwire_producer_batch_size_max{{{_CLIENT}}}",
            },
        ),
        Panel(
            "Records per batch",
            "none",
            {
                "{{client_id}}": f"{_by('client_id', 'producer_record_send_total')}"
                f" / {_by('client_id', 'producer_batch_send_total')}"
            },
        ),
        Panel(
            "Throttling of producers",
            "percentunit",
            {"{{client_id}}": _by("client_id", "producer_produce_throttle_time_seconds_total")},
            "Seconds of pauses that brokers asked for by quotas, per second.",
        ),
    ),
    "Consumers": (
        Panel(
            "Records consumed",
            RECORDS_PER_S,
            {
                "{{topic}}": _by("topic", "consumer_records_consumed_total", _TOPIC),
                "share group {{topic}}": _by("topic", "share_consumer_records_consumed_total", _TOPIC),
            },
        ),
        Panel("Bytes consumed", "Bps", {"{{topic}}": _by("topic", "consumer_bytes_consumed_total", _TOPIC)}),
        Panel(
            "Lag by partition",
            "short",
            {"{{topic}}-{{partition}}": f"max by (topic, partition) (kwire_consumer_records_lag{{{_TOPIC}}})"},
            "Records from what polls returned to the end of the log.",
        ),
        Panel(
            "Lag by topic",
            "short",
            {"{{topic}}": f"sum by (topic) (max by (topic, partition) (kwire_consumer_records_lag{{{_TOPIC}}}))"},
        ),
        Panel(
            "Since the last poll",
            "s",
            {
                "{{client_id}}": f"kwire_consumer_last_poll_seconds{{{_CLIENT}}}",
                "share group {{client_id}}": f"kwire_share_consumer_last_poll_seconds{{{_CLIENT}}}",
            },
            "After max_poll_interval_ms the group takes a member's partitions away.",
        ),
        Panel(
            "Rebalances",
            "none",
            {
                "{{client_id}}": f"sum by (client_id) (increase(kwire_consumer_rebalance_total{{{_CLIENT}}}[10m]))",
                "failed {{client_id}}": "sum by (client_id)"
                f" (increase(kwire_consumer_failed_rebalance_total{{{_CLIENT}}}[10m]))",
            },
            "Of the last ten minutes.",
        ),
        Panel("Assigned partitions", "none", {"{{client_id}}": f"kwire_consumer_assigned_partitions{{{_CLIENT}}}"}),
        Panel(
            "Fetch latency",
            "s",
            {
                "mean {{client_id}}": _per(
                    "consumer_request_latency_seconds_total", "consumer_response_total", _OF_FETCH
                )
            },
            "With the time that brokers wait for records: up to fetch_max_wait_ms where there are none.",
        ),
        Panel(
            "Commits",
            "s",
            {
                "mean latency {{client_id}}": _per(
                    "consumer_request_latency_seconds_total", "consumer_response_total", _OF_COMMIT
                )
            },
        ),
        Panel(
            "Throttling of consumers",
            "percentunit",
            {
                "{{client_id}}": _by("client_id", "consumer_fetch_throttle_time_seconds_total"),
                "share group {{client_id}}": _by("client_id", "share_consumer_fetch_throttle_time_seconds_total"),
            },
            "Seconds of pauses that brokers asked for by quotas, per second.",
        ),
    ),
    "Connections and requests of all clients": (
        Panel(
            "Open connections",
            "none",
            _of_kinds(f"sum by (client_id) (KIND_connection_count{{{_CLIENT}}})"),
        ),
        Panel(
            "New connections",
            "cps",
            _of_kinds(f"sum by (client_id) (rate(KIND_connection_creation_total{{{_CLIENT}}}[$__rate_interval]))"),
            "Many mean that connections break, or are refused.",
        ),
        Panel("Requests in flight", "none", _of_kinds(f"sum by (client_id) (KIND_requests_in_flight{{{_CLIENT}}})")),
        Panel(
            "Requests by API",
            "reqps",
            {f"{kind.replace('_', ' ')} {{{{api}}}}": _by("api", f"{kind}_request_total") for kind in KINDS},
        ),
        Panel(
            "Latency by API",
            "s",
            {
                f"{kind.replace('_', ' ')} {{{{api}}}}": _per(
                    f"{kind}_request_latency_seconds_total", f"{kind}_response_total", label="api"
                )
                for kind in KINDS
            },
        ),
        Panel(
            "Network",
            "Bps",
            {
                f"{kind.replace('_', ' ')} {way}": f"sum({_rate(f'{kind}_{name}_byte_total')})"
                for kind in KINDS
                for way, name in (("in", "incoming"), ("out", "outgoing"))
            },
        ),
    ),
}


def wanted() -> dict[Path, str]:
    """The one file, with a line for each panel."""
    made = dashboard()
    panels = ",\n".join(f"  {json.dumps(panel)}" for panel in made.pop("panels"))
    head = json.dumps(made, indent=1).removesuffix("\n}")
    return {PAGE: f'{head},\n "panels": [\n{panels}\n ]\n}}\n'}


def dashboard() -> dict[str, Any]:
    """As Grafana imports it: it asks for the Prometheus to use."""
    return {
        "uid": "kwire-clients",
        "title": "kwire clients",
        "description": "Producers, consumers and admins of kwire, as kwire.contrib.prometheus exports them.",
        "tags": ["kafka", "kwire"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_choice_of_datasource(), *map(_variable, VARIABLES)]},
        "panels": list(_panels()),
    }


def _choice_of_datasource() -> dict[str, Any]:
    return {"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus"}


def _variable(name: str) -> dict[str, Any]:
    return {
        "type": "query",
        "name": name,
        "datasource": _DATASOURCE,
        "query": {"query": VARIABLES[name], "refId": name},
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Any:
    top, number = 0, 0
    for title, panels in ROWS.items():
        number += 1
        yield {
            "type": "row",
            "id": number,
            "title": title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"h": 1, "w": _COLUMNS, "x": 0, "y": top},
        }
        top += 1
        for index, panel in enumerate(panels):
            number += 1
            column, row = index * _WIDTH % _COLUMNS, index * _WIDTH // _COLUMNS
            yield _panel(panel, number, {"h": _HEIGHT, "w": _WIDTH, "x": column, "y": top + row * _HEIGHT})
        top += -(-len(panels) * _WIDTH // _COLUMNS) * _HEIGHT


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "id": number,
        "title": panel.title,
        "description": panel.description,
        "datasource": _DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _DATASOURCE, "expr": query, "legendFormat": legend}
            for index, (legend, query) in enumerate(panel.queries.items())
        ],
    }
