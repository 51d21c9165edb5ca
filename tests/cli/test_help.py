"""`kwire help`, the help of each command, and -v."""

from __future__ import annotations

import pytest

from kwire.cli.error_advice import ADVICE
from kwire.cli.main import all_commands
from kwire.schema import error_codes
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.parsers import every_command

CONNECTIONS = "brokers and settings:"


@pytest.mark.parametrize("command", every_command())
def test_a_commands_own_options_come_before_those_of_connections(command: str) -> None:
    parser = every_command()[command]
    titles = [group.title for group in parser._action_groups if group._group_actions]
    assert CONNECTIONS[:-1] not in titles[:-1]
    text = parser.format_help()
    if CONNECTIONS in text:
        usage = text.partition("\n\n")[0]
        own = [action.option_strings[-1] for action in parser._optionals._group_actions]
        assert all(usage.index(f"[{option}") < usage.index("[-X ") for option in own[1:] if f"[{option}" in usage)
        assert "-v, --verbose" in text


@pytest.mark.parametrize("command", every_command())
def test_each_help_has_an_example_of_its_command(command: str) -> None:
    text = every_command()[command].format_help()
    assert f"kwire {command.removesuffix(' list')}" in text.partition("\nexamples")[2]
    assert "None" not in text


def test_c_is_a_setting_nowhere() -> None:
    """kcat's -c is a count."""
    for parser in every_command().values():
        action = parser._option_string_actions.get("-c")
        assert action is None or action.dest == "count"


@pytest.mark.parametrize("words", [["topics"], ["topics", "create"], ["consume"]])
def test_help_of_a_command_is_that_of_its_option(kwire: Kwire, words: list[str]) -> None:
    outcome = kwire("help", *words)
    assert (outcome.code, outcome.out) == (0, kwire(*words, "--help").out)


def test_help_alone_lists_all_commands(kwire: Kwire) -> None:
    assert kwire("help").out == kwire("--help").out
    assert all(f"\n    {name}" in kwire("help").out.decode() for name in all_commands())


def test_help_of_what_is_no_command(kwire: Kwire) -> None:
    assert "unknown command topisc (did you mean topics?)" in kwire("help", "topisc").err
    assert "'lst' (did you mean 'list'?)" in kwire("help", "topics", "lst").err


@pytest.mark.parametrize("name", ["19", "NOT_ENOUGH_REPLICAS", "not-enough-replicas", "NotEnoughReplicasError"])
def test_an_error_is_explained_by_any_of_its_names(kwire: Kwire, name: str) -> None:
    first, again, advice = kwire("help", "errors", name).lines
    assert first == "NOT_ENOUGH_REPLICAS (19): fewer replicas in sync than min.insync.replicas; nothing was written"
    assert "tries again" in again
    assert "kwire topics describe TOPIC --under-replicated" in advice


def test_all_errors_are_listed_and_unknown_ones_named(kwire: Kwire) -> None:
    codes = [code for name, code in vars(error_codes).items() if name.isupper()]
    assert len(kwire("help", "errors").lines) == len(codes)  # without that of no error, with a head
    outcome = kwire("help", "errors", "NOT_LEADER")
    assert (outcome.code, "no broker answers with an error NOT_LEADER" in outcome.err) == (1, True)
    assert kwire("help", "errors", "0").code == 1


def test_advice_is_about_errors_that_there_are_and_names_commands_that_there_are() -> None:
    assert vars(error_codes).keys() >= ADVICE.keys()
    for text in ADVICE.values():
        for command in text.split("kwire ")[1:]:
            words = command.split()
            assert words[0].strip("',.:;") in all_commands(), command


def test_v_shows_what_the_client_does_and_never_a_secret(kwire: Kwire, monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker(topics={"orders": 1}, users={"alice": "hunter2"}) as broker:
        login = [
            part
            for name, value in broker.client_settings.items()
            for part in ("-X", f"{name.replace('_', '.')}={value}")
            if name != "bootstrap_servers"
        ]
        at = ("-b", broker.bootstrap_servers, *login)
        assert kwire("produce", "orders", *at, stdin=b"a\n").code == 0
        told = kwire("consume", "orders", "--group", "g", "--from", "earliest", "-c", "1", "-vv", *at)
    assert " INFO  kwire." in told.err
    assert " DEBUG kwire." in told.err
    assert "hunter2" not in told.err


def test_a_warning_is_one_line_with_v_too(kwire: Kwire) -> None:
    outcome = kwire("topics", "-b", "127.0.0.1:1", "--timeout", "0.5", "-v")
    assert outcome.code == 1
    assert outcome.err.count("Connection refused") <= 2
    assert "WARNING" not in outcome.err
