"""What an import brings along: nothing slow that most processes never use, by itself or through something else."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = {
    "asyncio", "contextlib", "dataclasses", "enum", "inspect", "logging", "numpy", "pandas", "platform", "pyarrow",
    "pyspark", "random", "re", "socket", "ssl", "threading", "traceback", "typing", "uuid", "warnings",
}  # fmt: skip
# Whatever brings importlib brings warnings.
ALLOWED = {
    "import kwire": set(),
    "import kwire.errors": set(),
    "import kwire.records": {"warnings"},
    "from kwire import records": {"warnings"},
    "from kwire import registry": {"warnings"},
    "from kwire import Producer": {"threading", "warnings"},
    "from kwire import Consumer": {"contextlib", "threading", "warnings"},
    "from kwire import Admin": {"threading", "warnings"},
}
ROOMS_OF_A_PRODUCER = {
    "kwire", "kwire.drivers", "kwire.engine", "kwire.engine.calls", "kwire.engine.common", "kwire.engine.connections",
    "kwire.engine.metadata", "kwire.engine.producer", "kwire.engine.settings", "kwire.errors", "kwire.fronts",
    "kwire.schema",
}  # fmt: skip
RARE_FOR_A_PRODUCER = {
    "datetime", "kwire._values", "kwire.compression", "kwire.engine.calls.offsets", "kwire.partitioners",
    "kwire.records",
}  # fmt: skip
COMMANDS = {
    "broker", "topics", "groups", "configs", "cluster", "transactions", "acls", "users", "quotas", "tokens", "shares",
    "partitions", "producers", "produce", "consume", "copy", "decode", "completion",
    "config", "help",
}  # fmt: skip
POSIX_ALONE = {"fcntl", "grp", "posix", "pwd", "readline", "resource", "syslog", "termios", "tty"}
OF_OTHER_SYSTEMS = """
import os, select, socket, sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {posix!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
for name in {posix!r}:
    sys.modules.pop(name, None)
for module, names in ((os, "fork register_at_fork getuid memfd_create sched_getaffinity writev"),
                      (select, "poll epoll kqueue"), (socket, "AF_UNIX SO_REUSEPORT MSG_NOSIGNAL")):
    for name in names.split():
        if name in vars(module):
            delattr(module, name)
import kwire, kwire.records, kwire.protocol
print(kwire.records.decode(kwire.records.encode([b"value"])).values(), kwire.protocol.MetadataRequest().encode(1))
"""
SHOW = "import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"


@pytest.mark.parametrize("statement", ALLOWED)
def test_an_import_brings_nothing_slow_along(statement: str) -> None:
    brought = set(run_bare(SHOW.format(statement=statement)).stdout.split())
    assert "kwire" in brought
    assert brought & SLOW <= ALLOWED[statement]


@pytest.mark.parametrize(
    "names",
    ["kwire", "kwire.Producer", "kwire.Consumer", "kwire.Admin", "kwire.Worker", "kwire.aio.Worker", "kwire.records"],
)
def test_an_import_brings_along_nothing_that_is_optional(names: str) -> None:
    module, _, name = names.rpartition(".")
    brought = set(
        run_bare(SHOW.format(statement=f"from {module} import {name}" if module else "import kwire")).stdout.split()
    )
    others = {one.partition(".")[0] for one in brought} - set(sys.stdlib_module_names)
    assert {one for one in others if "cython" not in one} == {"kwire"}
    assert not {one for one in brought if one.startswith(("kwire.contrib", "kwire.fronts.interceptors"))}


def test_a_producer_brings_along_what_every_producer_needs_and_no_more() -> None:
    brought = set(run_bare(SHOW.format(statement="from kwire import Producer")).stdout.split())
    ours = {name for name in brought if name.partition(".")[0] == "kwire"}
    assert {name.rpartition(".")[0] or name for name in ours} == ROOMS_OF_A_PRODUCER
    assert not brought & RARE_FOR_A_PRODUCER
    assert {name for name in ours if name.startswith("kwire.schema.k")} == {"kwire.schema.k18_api_versions"}


def test_an_admin_brings_along_no_call_before_it_is_made() -> None:
    brought = set(run_bare(SHOW.format(statement="from kwire import Admin")).stdout.split())
    ours = {name for name in brought if name.startswith("kwire.engine.admin.")}
    assert ours == {"kwire.engine.admin.inquiry"}
    shown = run_bare(SHOW.format(statement="from kwire.engine.admin import config_calls")).stdout.split()
    assert "kwire.engine.admin.a44_incremental_alter_configs" in shown
    assert "kwire.engine.admin.a42_delete_groups" not in shown


SHELL = """
import sys
from kwire.cli.main import main
try:
    main({arguments})
except SystemExit:
    print(*(name for name in sys.modules if name.startswith("kwire.")))
"""


@pytest.mark.parametrize(
    ("command", "file"), [("groups", "groups"), ("lag", "groups"), ("brokers", "cluster"), ("produce", "produce")]
)
def test_the_shell_imports_the_command_that_is_asked_for_and_no_other(command: str, file: str) -> None:
    brought = run_bare(SHELL.format(arguments=[command, "--help"])).stdout.splitlines()[-1].split()
    assert [name for name in brought if name.removeprefix("kwire.cli.") in COMMANDS] == [f"kwire.cli.{file}"]


@pytest.mark.parametrize("argument", ["--version", "topisc"])
def test_the_version_and_an_unknown_command_are_told_without_any_command(argument: str) -> None:
    brought = run_bare(SHELL.format(arguments=[argument])).stdout.splitlines()[-1].split()
    assert set(brought) == {
        "kwire._typing", "kwire._version", "kwire.cli", "kwire.cli.main", "kwire.cli.terminal", "kwire.cli.usage",
        "kwire.errors",
    }  # fmt: skip


def run_bare(code: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` without what the start-up files of a virtual environment import."""
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], check=False, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done


def brought_in_environment(statement: str) -> set[str]:
    """The modules that a statement imports in a process that has pyspark's data sources already."""
    code = SHOW.format(statement=statement).replace("import sys", "import sys, pyspark.sql.datasource")
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_looking_up_the_spark_source_imports_next_to_nothing() -> None:
    pytest.importorskip("pyspark")
    brought = brought_in_environment("import pyspark_kwire, pyspark_kwire_log")
    assert {"pyspark_kwire", "kwire.spark.data_source", "kwire.spark.log_source"} <= brought
    assert brought <= {
        "pyspark_kwire", "pyspark_kwire_log", "kwire", "kwire._typing", "kwire._version", "kwire.errors", "kwire.spark",
        "kwire.spark.data_source", "kwire.spark.log_source", "kwire.spark.source_checks", "kwire.spark.workers",
        "kwire.spark.workers.shipped", "kwire.engine",
        "kwire.engine.common", "kwire.engine.common.secret",
    }  # fmt: skip


def test_a_worker_that_reads_imports_neither_the_planner_nor_a_decoder() -> None:
    pytest.importorskip("pyspark")
    brought = brought_in_environment("import kwire.spark.reading.read_task")
    assert not brought & {
        "kwire.admin",
        "kwire.producer",
        "kwire.spark.planning.live_cluster",
        "kwire.spark.decoding.decoders.json",
    }


def test_a_worker_that_writes_does_not_import_what_only_rows_with_a_topic_need() -> None:
    pytest.importorskip("pyspark")
    brought = brought_in_environment("import kwire.spark.exactly_once.task")
    assert "kwire.spark.writing.write_task" in brought
    assert not brought & {"pyarrow.compute", "kwire.admin", "kwire.consumer"}


@pytest.mark.parametrize(
    "name", ["aio", "compression", "errors", "legacy", "partitioners", "protocol", "records", "testing"]
)
def test_a_module_of_kwire_is_an_attribute(name: str) -> None:
    assert run_bare(f"import kwire; print(kwire.{name}.__name__)").stdout.strip() == f"kwire.{name}"


def test_names_of_typing_work_at_run_time() -> None:
    from kwire._typing import Any, NamedTuple, cast

    class Point(NamedTuple):
        """Where."""

        x: int
        y: int = 2

        @property
        def sum(self) -> int:
            return self.x + self.y

    assert cast(Any, 5) == 5
    assert Point.__doc__ == "Where."
    assert Point.__module__ == __name__
    assert (Point(3), Point(3).sum) == ((3, 2), 5)


def test_a_named_tuple_of_ours_is_one_of_typings() -> None:
    import pickle

    from kwire import TopicPartition

    pair = TopicPartition("topic", partition=3)
    assert pair == ("topic", 3)
    assert str(pair) == "topic-3"
    assert pair._replace(partition=4).partition == 4
    assert TopicPartition._fields == ("topic", "partition")
    assert pickle.loads(pickle.dumps(pair)) == pair
    assert repr(pair) == "TopicPartition(topic='topic', partition=3)"
    assert TopicPartition.__doc__ == "One partition of one topic."
    with pytest.raises(TypeError):
        TopicPartition("topic")  # type: ignore[call-arg]


def test_defaults_of_a_named_tuple() -> None:
    from kwire.schema.fields import Field, Versions

    field = Field("int8", Versions.parse("0+"), 0)
    assert (field.tag, field.compact, field.nullable.text) == (None, True, "none")


def test_a_late_logger_imports_logging_for_a_warning_only() -> None:
    code = (
        "import sys\n"
        "from kwire.drivers.loggers import LateLogger\n"
        "log = LateLogger('kwire.test')\n"
        "log.debug('nobody listens: %s', 1)\n"
        "assert 'logging' not in sys.modules\n"
        "log.warning('a %s warning', 'late')\n"
        "assert 'logging' in sys.modules\n"
    )
    assert run_bare(code).stderr == "a late warning\n"


def test_a_late_logger_speaks_through_logging(caplog: pytest.LogCaptureFixture) -> None:
    from kwire.drivers.loggers import LateLogger

    log = LateLogger("kwire.test")
    with caplog.at_level("DEBUG", logger="kwire.test"):
        log.debug("connected to %s", "a:1")
        try:
            raise ValueError("what went wrong")
        except ValueError:
            log.exception("a step failed")
    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        ("kwire.test", "DEBUG", "connected to a:1"),
        ("kwire.test", "ERROR", "a step failed"),
    ]
    assert caplog.records[1].exc_info is not None


def test_chance_is_uniform_and_within_its_bounds() -> None:
    from kwire.drivers.randomness import random_bits, random_fraction

    drawn = [random_fraction() for _ in range(2000)]
    assert all(0 <= number < 1 for number in drawn)
    assert 0.4 < sum(drawn) / len(drawn) < 0.6  # 15 standard deviations either way
    for bits in (1, 7, 8, 63):
        many = [random_bits(bits) for _ in range(200)]
        assert all(0 <= number < 1 << bits for number in many)
        assert len(set(many)) > 1


@pytest.mark.parametrize(
    "entry", ["tests.brokers.__main__", "tests.brokers", "demo.__main__", "demo.serving", "demo.spark_process"]
)
def test_the_demonstration_needs_no_package_of_the_tests(entry: str) -> None:
    """`make demo` installs the groups build and spark, and no other."""
    pytest.importorskip("pyspark")
    of_the_tests = {
        "aiokafka",
        "confluent_kafka",
        "cryptography",
        "fastavro",
        "hypothesis",
        "kafka",
        "pytest",
        "_pytest",
    }
    brought = brought_in_environment(f"import {entry}")
    assert entry in brought
    assert not {name.partition(".")[0] for name in brought} & of_the_tests


def test_records_and_messages_need_nothing_that_only_posix_has() -> None:
    shown = run_bare(OF_OTHER_SYSTEMS.format(posix=POSIX_ALONE)).stdout
    assert "[b'value']" in shown
