"""Airflow on kwire, by the DAG in `examples/airflow_orders/`, in an environment of its own: it has many dependencies.

The first run installs it below KWIRE_CACHE: some 300 MB, half a minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import Admin
from kwire.testing import Broker
from tests.brokers.maven import cache_folder
from tests.timing import PATIENT

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
AIRFLOW = "apache-airflow-core==3.3.2"
BESIDE = ("cramjam", "python-snappy")
WITHIN_S = 3 * PATIENT


@pytest.fixture(scope="module")
def airflow() -> Path:
    """The interpreter of an environment with Airflow."""
    version = "{}.{}".format(*sys.version_info)
    folder = cache_folder() / "airflow" / f"{AIRFLOW}-python{version}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "--retries", "5", AIRFLOW, *BESIDE]
        done = subprocess.run(install, check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{AIRFLOW} cannot be installed here: {done.stderr[-500:]}")
        (folder / ".ready").touch()
    return python


@pytest.fixture(scope="module")
def home(airflow: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a fresh Airflow whose DAGs are the example's."""
    found = os.environ | {
        "AIRFLOW_HOME": str(tmp_path_factory.mktemp("airflow")),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "examples" / "airflow_orders"),
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    }
    subprocess.run([str(airflow), "-m", "airflow", "db", "migrate"], env=found, check=True, capture_output=True)
    return found


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(users={"airflow": "secret"}, topics={"orders": 2, "approvals": 1}) as started:
        yield started


class Program:
    """Python code that runs beside Airflow."""

    def __init__(self, python: Path, code: str, environment: dict[str, str], output: Path) -> None:
        self._output = output
        with output.open("w") as file:
            self.process = subprocess.Popen(
                [str(python), "-c", textwrap.dedent(code)],
                env=environment, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def wait_until(self, condition: Callable[[], bool]) -> None:
        give_up = time.monotonic() + WITHIN_S
        while not condition():
            assert self.process.poll() is None, self._output.read_text()
            assert time.monotonic() < give_up, self._output.read_text()
            time.sleep(0.05)

    def told(self) -> Any:
        """What the code printed on its last line, as JSON."""
        assert self.process.wait(WITHIN_S) == 0, self._output.read_text()
        return json.loads(self._output.read_text().strip().rpartition("\n")[2])


Started = Callable[[str], Program]


@pytest.fixture
def started(airflow: Path, home: dict[str, str], kafka: Broker, tmp_path: Path) -> Iterator[Started]:
    """Starts Python code beside Airflow, which has a connection to the broker."""
    extra = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": "airflow",
        "sasl.password": "secret",
    }
    connection = {"AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps({"conn_type": "kafka", "extra": extra})}
    running: list[Program] = []

    def start(code: str) -> Program:
        running.append(Program(airflow, code, home | connection, tmp_path / f"output-{len(running)}"))
        return running[-1]

    yield start
    for program in running:
        program.process.kill()
        program.process.wait()


def committed(kafka: Broker, group: str) -> dict[str, int]:
    with Admin(kafka.bootstrap_servers, **kafka.client_settings) as admin:
        return {str(place): found.offset for place, found in admin.list_consumer_group_offsets(group).items()}


def test_a_run_of_the_dag_waits_for_its_approval_then_bills_what_it_wrote(kafka: Broker, started: Started) -> None:
    run = started("""
        import json
        from examples.airflow_orders.dag import dag
        run = dag.test()
        tasks = run.get_task_instances()
        pulled = {each.task_id: each.xcom_pull(task_ids=each.task_id) for each in tasks}
        print(json.dumps([run.state, {each.task_id: each.state for each in tasks}, pulled]))
    """)
    run.wait_until(lambda: len(kafka.values("orders")) == 10 and kafka.request_count("JoinGroup") > 0)
    kafka.append("approvals", [b'{"approved": false, "by": "one"}'])
    time.sleep(1)
    assert run.process.poll() is None, "what is no approval does not end the wait"
    kafka.append("approvals", [b'{"approved": true, "by": "other"}'])
    state, states, results = run.told()
    assert (state, states) == ("success", dict.fromkeys(["write", "wait", "bill", "report"], "success"))
    assert results["write"] == 10
    assert results["wait"] == {"by": "other", "offset": 1}
    assert sorted(results["bill"]) == [round((number + 0.5) * 1.19, 2) for number in range(10)]
    assert results["report"] == {"customer-0": 4, "customer-1": 3, "customer-2": 3}
    assert committed(kafka, "airflow-approvals") == {"approvals-0": 2}
    assert sum(committed(kafka, "airflow-billing").values()) == 10


def test_a_task_that_fails_goes_on_at_the_record_where_it_failed(kafka: Broker, started: Started) -> None:
    kafka.append("orders", [b"%d" % number for number in range(6)])
    run = started("""
        import json
        from examples.airflow_orders.kafka import ConsumeFromTopicOperator
        seen, failing = [], True
        def work(record):
            if failing and record.offset == 3:
                raise RuntimeError("not yet")
            seen.append(record.offset)
            return record.offset
        options = dict(topics=["orders"], group_id="g", apply_function=work)
        try:
            ConsumeFromTopicOperator(task_id="a", **options).execute({})
        except RuntimeError as raised:
            failing = False
        once = ConsumeFromTopicOperator(task_id="b", max_records=2, **options).execute({})
        rest = ConsumeFromTopicOperator(task_id="c", **options).execute({})
        nothing = ConsumeFromTopicOperator(task_id="d", **options).execute({})
        print(json.dumps([seen, once, rest, nothing]))
    """)
    assert run.told() == [[0, 1, 2, 3, 4, 5], [3, 4], [5], []]
    assert committed(kafka, "g")["orders-0"] == 6


def test_the_hook_says_whether_its_connection_works(kafka: Broker, started: Started) -> None:
    run = started("""
        import json, os
        from examples.airflow_orders.kafka import AwaitMessageTrigger, KwireHook
        from pkgutil import resolve_name
        path, arguments = AwaitMessageTrigger(["orders"], "m:f", "g", "kafka_default").serialize()
        again = resolve_name(path)(**arguments).serialize() == (path, arguments)
        found = KwireHook().test_connection()
        os.environ["AIRFLOW_CONN_OTHER"] = os.environ["AIRFLOW_CONN_KAFKA_DEFAULT"].replace("secret", "wrong")
        print(json.dumps([again, found, KwireHook("other").test_connection()]))
    """)
    again, found, refused = run.told()
    assert again
    assert found == [True, "brokers that answer: 1"]
    assert refused[0] is False
    assert "secret" not in refused[1]
