"""What the documents show is run as it stands; what they name is there; the table of speeds is that of the data file.

The blocks that need Spark run in tests/spark/test_snippets.py.
"""

from __future__ import annotations

import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from benchmarks.compare import report

from kwire import records, testing
from kwire.cli.main import main
from tests.snippets import ROOT, run, snippet, snippets

README = "README.md"
BY_SPARK = {
    README: ["spark.read"],
    "docs/spark.md": [
        "slots",
        "now = orders()",
        "broker2:9092",
        "SASL_SSL",
        "broker3:9092",
        "broker4:9092",
        "kwire-log",
        "rows = decode_record_sets",
        "import encode_record_sets",
        "register_udtfs",
        "readStream",
        "kwire.spark.register(",
        "LagListener(",
        '"avro"',
        '"json"',
    ],
}
HERE = {
    README: ["with Producer(", "records.encode(", "testing.Broker()", "aio.Producer("],
    "docs/clients.md": [
        'b"%d.00"',
        "def on_done(",
        "pyarrow.table",
        "def by_region(",
        "frame = polled",
        "values += consumer",
        "an_hour_ago",
        "last += consumer",
        "json.dumps",
        "payments-copy",
        "fromtimestamp",
        "NewTopic(",
        "create_partitions(",
        "incremental_alter_configs(",
        "create_acls(",
        "describe_log_dirs",
    ],
    "docs/asyncio.md": ["aio.Admin(", "asyncio.gather", "to_arrow", "asyncio.timeout", "lifespan("],
    "docs/old-generations.md": ["records.encode(", "client.messages(", "partitioners.scala_0_7("],
    "docs/testing.md": [
        "broker.offsets(",
        "def test_my_service(",
        "broker.leader_of(",
        "committed=True",
        "broker.client_settings)",
    ],
    "docs/groups.md": [
        "left = 10",
        "commit_async",
        "class Listener",
        "class OddAndEven",
        "admin.lag(",
        "admin.list_groups(states=",
        "share.auto.offset.reset",
        "ShareConsumer(",
        "admin.describe_share_groups(",
    ],
    "docs/transactions.md": ["invoiced customer-3", "left = 100", "def bill("],
    "docs/tables.md": ["orders.to_pandas()", "start=timedelta(hours=1)", "read_batches(", "acknowledged", "payments"],
    "docs/worker.md": ["orders.retry.1m", "aio.Worker("],
    "docs/metrics.md": [
        "metrics = producer.metrics()\n",
        ".since(earlier)",
        "consumer.health()",
        "interceptors=[Audit()]",
        "instrumentation.process",
        "generate_latest",
        "enable_metrics_push=True",
        "client-metrics",
    ],
    "docs/describe.md": ["protocol.describe("],
    "docs/logs.md": ["def read_log("],
    "docs/spark.md": ["def measurements("],
    "docs/security.md": [
        'b"17.50"',
        "create_default_context",
        "other-ca.pem",
        "for certificate in",
        'b"18.00"',
        'b"18.50"',
        "ScramLoginModule",
        'b"19.00"',
        'b"20.00"',
        "token_endpoint_url",
        "GSSAPI",
    ],
    "docs/registry.md": [
        '"logins"',
        "not JSON",
        "r.compatible(",
        "AvroSerializer(r, ORDER)",
        "table.select(",
        "async def encrypted",
    ],
}
IN_PAIRS = "from-"
"""How pages begin all of whose blocks are run by tests/test_migration_pages.py."""
IN_ORDER = {"docs/index.md", *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*/*.md"))}
"""All of their blocks are run by tests/site/test_programs.py."""
PAGES = (path.name for path in (ROOT / "docs").glob("*.md") if not path.name.startswith(IN_PAIRS))
DOCUMENTS = sorted({README, *(f"docs/{name}" for name in PAGES), *IN_ORDER})


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if document not in IN_ORDER])
def test_every_block_of_python_is_run_by_a_test(document: str) -> None:
    phrases = [*HERE.get(document, []), *BY_SPARK.get(document, [])]
    for code in snippets(document):
        assert sum(phrase in code for phrase in phrases) == 1, f"no test, or two, run this block of {document}:\n{code}"
    assert len(snippets(document)) == len(phrases)


def test_the_first_example_produces_and_consumes(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.Broker() as broker:
        broker.create_topic("orders", 1)
        found = run(snippet(README, "with Producer("), servers=broker.bootstrap_servers)
        stored = records.decode(broker.record_set("orders", partition=0))
    assert capsys.readouterr().out == "0\n"
    assert [(record.key, record.value) for record in stored] == [(b"customer-3", b"17.50")]
    columns = found["columns"]
    assert {"topic", "partition", "offset", "timestamp", "key", "value", "headers"} <= set(columns.schema.names)
    assert columns.column("value").to_pylist() in ([b"17.50"], [])


def test_records_without_a_client() -> None:
    found = run(snippet(README, "records.encode("))
    assert found["batch"].values() == [b"value", b"value"]
    assert found["batch"][1].key == b"key"
    assert found["batch"].batches[0].compression == "zstd"


def test_a_login_on_asyncio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with testing.Broker(users={"alice": "secret"}, tls=True) as broker:
        (tmp_path / "ca.pem").write_text(broker.ca_pem)
        run(snippet(README, "aio.Producer("), servers=broker.bootstrap_servers)
    assert capsys.readouterr().out == "0\n"


def test_a_broker_for_your_tests() -> None:
    addresses: list[str] = []
    run(snippet(README, "testing.Broker()"), run_my_service=addresses.append)
    assert addresses[0].startswith("127.0.0.1:")


def test_the_document_on_describing(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(snippet("docs/describe.md", "protocol.describe("))["found"]
    text, last = capsys.readouterr().out.strip().rsplit("\n", 1)
    assert text == str(found)
    assert last == "client_id 12 17 app"


def test_the_worked_example_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    command = snippets("docs/describe.md", "sh")[0]
    assert main(shlex.split(command)[1:]) == 0
    (shown,) = snippets("docs/describe.md", "text")
    assert capsys.readouterr().out == shown


def test_the_document_on_testing() -> None:
    """Its second block runs in tests/testing/test_pytest_plugin.py."""
    run(snippet("docs/testing.md", "broker.offsets("))
    run(snippet("docs/testing.md", "broker.leader_of("))
    run(snippet("docs/testing.md", "committed=True"))
    run(snippet("docs/testing.md", "broker.client_settings)"))


def test_names_in_the_table_of_modules_are_there() -> None:
    named = re.findall(r"^\| `(kwire\.[\w.]+)` \|", (ROOT / README).read_text(), re.MULTILINE)
    assert len(named) >= 8
    for name in named:
        resolve(name)


def resolve(name: str) -> object:
    """A module or something in one, by its dotted name; raises when it is not there."""
    found: object = importlib.import_module("kwire")
    for part in name.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")  # type: ignore[attr-defined]
    return found


def test_commands_that_documents_name_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        inline = re.findall(r"`make ([a-z-]+)", (ROOT / document).read_text())
        named = {*inline, *re.findall(r"(?m)^make ([a-z-]+)", "".join(snippets(document, "")))}
        assert named <= targets, f"{document} names {named - targets}"


def test_extras_that_the_readme_installs_are_declared() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"kwire\[(\w+)\]", (ROOT / README).read_text())
    assert named
    assert set(named) <= set(extras)


def test_links_and_pictures_in_the_documents_are_there() -> None:
    for document in DOCUMENTS:
        place = (ROOT / document).parent
        for target in re.findall(r"\]\((?!http)([^)#]+)", (ROOT / document).read_text()):
            assert (place / target).exists(), f"{document} links to {target}"


def test_the_table_of_speeds_is_that_of_the_data_file() -> None:
    about, results = report.load(report.PUBLISHED)
    assert not about["quick"]
    shown = (ROOT / README).read_text().partition(report.BEGIN)[2].partition(report.END)[0]
    assert shown.strip() == report.summary(about, results)
