"""The programs of docs/metrics.md, run one after the other on one broker, as a reader would."""

from __future__ import annotations

import pytest

from kwire import testing
from tests.snippets import run, snippet

PAGE = "docs/metrics.md"


def test_the_programs_do_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker(client_telemetry=True) as broker:
        run(snippet(PAGE, "metrics = producer.metrics()"), servers=broker.bootstrap_servers)
        first, second = capsys.readouterr().out.splitlines()
        assert first == "1 1"
        assert second.endswith(" 1")

        run(snippet(PAGE, ".since(earlier)"), servers=broker.bootstrap_servers)
        rate, latency, free = capsys.readouterr().out.split()
        assert 0 < float(rate) <= 1
        assert float(latency) > 0
        assert float(free) == 32 * 1024 * 1024

        run(snippet(PAGE, "consumer.health()"), servers=broker.bootstrap_servers)
        told = capsys.readouterr().out
        assert "brokers: 1 of 1 connected" in told
        assert "group 'billing':" in told

        run(snippet(PAGE, "interceptors=[Audit()]"), servers=broker.bootstrap_servers)
        assert capsys.readouterr().out == "orders: stored\n"

        run(snippet(PAGE, "instrumentation.process"), servers=broker.bootstrap_servers)
        assert capsys.readouterr().out == "True\n"

        run(snippet(PAGE, "enable_metrics_push=True"), servers=broker.bootstrap_servers)
        assert capsys.readouterr().out.startswith("the metrics of this process are under ")
        run(snippet(PAGE, "client-metrics"), servers=broker.bootstrap_servers)

        page = run(snippet(PAGE, "generate_latest"), servers=broker.bootstrap_servers)["page"]
        assert 'kwire_producer_record_send_total{client_id="billing",topic="orders"} 1.0' in page
