"""Tokens and passwords from a function that an option names: planned, read and written with, without Spark."""

from __future__ import annotations

import os
import pickle
import time

import pyarrow as pa
import pytest

from kwire.errors import AuthError, ConfigError
from kwire.spark.decoding.named_function import find_function
from kwire.spark.options.read import parse_batch_options
from kwire.spark.options.write import parse_write_options
from kwire.spark.planning.plan_read import plan_tasks
from kwire.spark.reading.read_task import read_task
from kwire.spark.workers.clients import close_idle_clients
from kwire.spark.writing.write_task import write_task
from kwire.testing import Broker
from kwire.testing.sasl.oauthbearer import unsecured_token

_asked_by: list[int] = []


def alice() -> tuple[str, float]:
    _asked_by.append(os.getpid())
    return unsecured_token("alice", time.time(), 60), 60


def credentials() -> tuple[str, str]:
    return "alice", "alice-secret"


def nobody() -> tuple[str, float]:
    raise LookupError("no credentials here")


def options(servers: str, function: str, **more: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": servers,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.oauth.token": f"{__name__}:{function}",
        **more,
    }


def test_a_function_says_the_tokens_of_a_read_and_a_write() -> None:
    with Broker(topics={"orders": 1}, users={"alice": "x"}, mechanisms=["OAUTHBEARER"]) as broker:
        writing = pickle.loads(
            pickle.dumps(parse_write_options(options(broker.bootstrap_servers, "alice", topic="orders")))
        )
        write_task(writing, [pa.record_batch({"value": pa.array([b"a", b"b"])})])
        reading = pickle.loads(
            pickle.dumps(parse_batch_options(options(broker.bootstrap_servers, "alice", subscribe="orders")))
        )
        (task,) = plan_tasks(reading)
        table = pa.Table.from_batches(list(read_task(reading, task)))
        close_idle_clients()
    assert table["value"].to_pylist() == [b"a", b"b"]
    assert len(_asked_by) >= 3, "by the writer, the plan and the reader"


def test_a_function_says_the_user_and_password_of_a_plan() -> None:
    with Broker(topics={"orders": 1}, users={"alice": "alice-secret"}, mechanisms=["SCRAM-SHA-512"]) as broker:
        given = options(broker.bootstrap_servers, "alice", subscribe="orders")
        del given["kafka.sasl.oauth.token"]
        given |= {"kafka.sasl.mechanism": "SCRAM-SHA-512", "kafka.sasl.credentials": f"{__name__}:credentials"}
        reading = pickle.loads(pickle.dumps(parse_batch_options(given)))
        assert list(plan_tasks(reading)) == [], "the topic is empty, and could be asked about"
        with pytest.raises(
            ConfigError, match=r"kafka\.sasl\.credentials: expected package\.module:function.*password\)"
        ):
            parse_batch_options(given | {"kafka.sasl.credentials": "alice-hush"})


def test_what_a_function_raises_is_told_at_once() -> None:
    with Broker(topics={"orders": 1}, users={"alice": "x"}, mechanisms=["OAUTHBEARER"]) as broker:
        for function, said in (("nobody", "no credentials here"), ("missing", "cannot be imported: module")):
            with pytest.raises(AuthError, match=rf"the token of kafka\.sasl\.oauth\.token: .*{said}"):
                plan_tasks(parse_batch_options(options(broker.bootstrap_servers, function, subscribe="orders")))


@pytest.mark.parametrize("text", ["eyJhbGciOiJub25lIn0.hunter2", "__main__:token", "tokens", "tokens:", ":token"])
def test_another_text_is_refused_and_not_shown(text: str) -> None:
    """It may be a token itself."""
    with pytest.raises(ConfigError, match=r"kafka\.sasl\.oauth\.token: expected package\.module:function") as refused:
        parse_batch_options(options("a:1", "alice", subscribe="t") | {"kafka.sasl.oauth.token": text})
    assert text not in str(refused.value).replace("package.module:function", "")


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigError, match=f"{__name__}:_asked_by is a list, not a function"):
        find_function(f"{__name__}:_asked_by")
