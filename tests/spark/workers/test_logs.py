"""The option `logLevel` brings kwire's log to standard error, in processes where nobody has configured logging."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kwire.errors import ConfigError
from kwire.spark.options.log import parse_log_options
from kwire.spark.options.read import parse_batch_options
from kwire.spark.options.write import parse_write_options

_LOGS = "import logging; from kwire.spark.workers.logs import tell_from; "
_TWICE = "logging.getLogger('kwire.spark').info('first'); logging.getLogger('kwire.spark').debug('second')"


def _standard_error(program: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", _LOGS + program], capture_output=True, text=True, timeout=60, check=True
    )
    return ended.stderr


def test_lines_of_the_level_are_written_once_however_many_tasks_there_are() -> None:
    said = _standard_error(f"tell_from('info'); tell_from('info'); {_TWICE}")
    assert said.endswith(" INFO kwire.spark: first\n")
    assert said.count("\n") == 1


def test_without_the_option_nothing_changes() -> None:
    assert _standard_error(f"tell_from(None); {_TWICE}") == ""


def test_a_program_that_has_configured_logging_gets_the_lines_in_its_way() -> None:
    said = _standard_error(f"logging.basicConfig(format='own %(message)s'); tell_from('debug'); {_TWICE}")
    assert said == "own first\nown second\n"


def test_reads_and_writes_take_the_level_by_its_name() -> None:
    servers = {"kafka.bootstrap.servers": "broker1:9092"}
    assert parse_batch_options({**servers, "subscribe": "orders", "logLevel": "INFO"}).log_level == "info"
    assert parse_write_options({**servers, "topic": "bills", "loglevel": "debug"}).log_level == "debug"
    assert parse_log_options({"path": "/data", "logLevel": "warning"}).log_level == "warning"
    with pytest.raises(ConfigError, match="logLevel: expected 'debug', 'info', 'warning' or 'error', got 'loud'"):
        parse_write_options({**servers, "topic": "bills", "logLevel": "loud"})
