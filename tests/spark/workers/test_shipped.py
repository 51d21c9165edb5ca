"""What is pickled into tasks says so where kwire is missing on an executor, or is another version."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

import kwire
from kwire.spark.batch_reader import KwireReader
from kwire.spark.exactly_once.writers import ExactlyOnceWriter
from kwire.spark.options.read import parse_batch_options
from kwire.spark.options.write import parse_write_options
from kwire.spark.stream_reader import stream_reader
from kwire.spark.write_batch import KwireWriter
from pyspark_kwire import DefaultSource

_READ = {"kafka.bootstrap.servers": "broker1:9092", "subscribe": "orders"}
_WRITE = {"kafka.bootstrap.servers": "broker1:9092", "topic": "bills"}
_ONCE = {**_WRITE, "deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "billing"}


def _loaded_where(setting: str, pickled: bytes) -> str:
    """The last line of what a Python says that unpickles it, after `setting`."""
    program = f"import sys, pickle; {setting}; pickle.loads(sys.stdin.buffer.read())"
    ended = subprocess.run([sys.executable, "-c", program], input=pickled, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 1
    return ended.stderr.decode().splitlines()[-1]


@pytest.mark.parametrize(
    "shipped",
    [
        DefaultSource(_READ),
        KwireReader(parse_batch_options(_READ)).read,
        KwireWriter(parse_write_options(_WRITE)).write,
        ExactlyOnceWriter(parse_write_options(_ONCE)).write,
    ],
    ids=["source that Spark has found", "read", "write", "write exactly once"],
)
def test_an_executor_without_kwire_says_where_and_what_to_do(shipped: object) -> None:
    said = _loaded_where("sys.modules['kwire'] = None", pickle.dumps(shipped))
    assert said.startswith(f"ImportError: kwire cannot be imported on an executor, by {sys.executable} (Python 3.")
    assert f"The driver has kwire {kwire.__version__}" in said
    assert "--archives environment.tar.gz#environment" in said


def test_an_executor_with_another_kwire_names_both_versions() -> None:
    pickled = pickle.dumps(KwireReader(parse_batch_options(_READ)))
    said = _loaded_where("import kwire; kwire.__version__ = '0.0.1'", pickled)
    assert f"the driver has kwire {kwire.__version__}, and an executor kwire 0.0.1" in said


def test_attributes_arrive_as_they_left() -> None:
    reader = KwireReader(parse_batch_options(_READ))
    assert pickle.loads(pickle.dumps(reader)).options == reader.options
    writer = ExactlyOnceWriter(parse_write_options(_ONCE))
    arrived = pickle.loads(pickle.dumps(writer))
    assert (arrived.run, arrived.options) == (writer.run, writer.options)


def test_a_stream_with_wrong_options_keeps_its_fault() -> None:
    from pyspark.sql.types import StructType

    from kwire.errors import ConfigError

    arrived = pickle.loads(pickle.dumps(stream_reader({**_READ, "maxOffsetsPerTrigger": "many"}, StructType())))
    with pytest.raises(ConfigError, match="maxOffsetsPerTrigger: expected a whole number"):
        arrived.initialOffset()
