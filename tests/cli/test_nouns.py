"""What all nouns have in common: verbs, help, the question before what destroys, exit codes, pipes."""

from __future__ import annotations

import re
import signal

import pytest

from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import answered, at_terminal, started

NOUNS = ("topics", "groups", "configs", "brokers", "transactions", "users", "quotas", "partitions", "producers")
GUARDED = ("acls",)
"""Nouns that ask what a broker without security does not answer."""
DESTROYERS = ("topics", "groups")


@pytest.mark.parametrize("noun", NOUNS)
def test_a_verb_may_follow_options(kwire: Kwire, broker: Broker, noun: str) -> None:
    at = ("-b", broker.bootstrap_servers)
    first = kwire(noun, *at, "--timeout", "60", "list")
    assert first.code == 0
    for others in (("--boot", at[1], "list"), (f"--bootstrap-servers={at[1]}", "list"), (f"-b{at[1]}", "list")):
        assert kwire(noun, *others).out == first.out
    assert first.out == kwire(noun, "list", *at).out == kwire(noun).out


@pytest.mark.parametrize("noun", [*NOUNS, *GUARDED])
def test_the_help_of_each_verb_has_its_options_before_those_of_connections_and_an_example(
    kwire: Kwire, noun: str
) -> None:
    whole = kwire(noun, "--help").out.decode()
    assert "security.protocol=SASL_SSL" in whole
    verbs = re.findall(r"^    ([a-z]+) ", whole.partition("VERB\n")[2], re.MULTILINE)
    assert "list" in verbs
    for verb in verbs:
        text = kwire(noun, verb, "--help").out.decode()
        own, _, connection = text.partition("\nbrokers and settings:\n")
        assert "--output" in own
        assert all(option in connection for option in ("-b ", "-X ", "--config ", "--timeout "))
        assert f"examples:\n  kwire {noun}" in connection


@pytest.mark.parametrize("noun", [*NOUNS, *GUARDED])
def test_the_value_of_an_unknown_option_is_not_shown(kwire: Kwire, noun: str) -> None:
    for given in (["--sasl-password", "hunter2", "list"], ["--sasl-password=hunter2"], ["list", "-W", "hunter2"]):
        outcome = kwire(noun, *given)
        assert outcome.code == 2
        assert "hunter2" not in outcome.err


def test_the_help_of_lag_reads_as_that_of_other_commands(kwire: Kwire) -> None:
    text = kwire("lag", "--help").out.decode()
    assert "None" not in text
    assert "\nexamples:\n  kwire lag billing " in text
    assert "\n    security.protocol=SASL_SSL\n" in text


def test_exit_codes_are_in_the_help(kwire: Kwire) -> None:
    text = kwire("--help").out.decode()
    for line in ("  0    done", "  1    an error", "  2    wrong usage", "  3    done for some items", "  130  ended"):
        assert line in text


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("YES", 0), ("n", 1), ("", 1), ("yeah", 1)])
def test_the_question_is_asked_at_a_terminal(broker: Broker, answer: str, code: int) -> None:
    found, errors = answered(answer, "topics", "delete", "orders")
    assert errors.startswith("Delete 'orders' with all records? [y/N] ")
    assert (found, "orders" in broker.topics()) == (code, code == 1)
    assert errors.endswith("kwire topics: nothing was done\n") == (code == 1)


def test_nothing_is_asked_with_yes(broker: Broker) -> None:
    assert answered("n", "topics", "delete", "orders", "--yes") == (0, "")
    assert broker.topics() == {}


@pytest.mark.parametrize("noun", DESTROYERS)
def test_what_destroys_is_refused_without_a_terminal(broker: Broker, noun: str) -> None:
    with started(noun, "delete", "orders", "b") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"kwire {noun} delete: error: to delete 'orders' and 'b' with ".encode() in errors
    assert errors.endswith(b" without a terminal to ask on, give --yes\n")
    assert "orders" in broker.topics()


def test_ctrl_c_at_the_question_ends_the_command(broker: Broker) -> None:
    with at_terminal("topics", "delete", "orders") as (process, _):
        assert process.stderr is not None
        assert process.stderr.read(8) == b"Delete '"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert "orders" in broker.topics()


def test_a_reader_that_has_gone_is_no_traceback(broker: Broker) -> None:
    with started("topics", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("topic", "unknown command topic (did you mean topics?); there are broker, topics, "),
        ("nonsense", "unknown command nonsense; there are broker, topics, "),
    ],
)
def test_an_unknown_command_names_the_nearest(kwire: Kwire, given: str, said: str) -> None:
    outcome = kwire(given)
    assert (outcome.code, said in outcome.err) == (2, True)


def test_a_missing_argument_may_be_there_under_a_wrong_name(kwire: Kwire) -> None:
    outcome = kwire("consume", "--partitions")
    assert outcome.code == 2
    assert outcome.err.endswith("required: TOPIC; --partitions (did you mean --partition?)\n")
