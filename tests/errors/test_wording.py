"""Texts that name settings, each as its reader spells it."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path

import pytest

from kwire.engine.settings.clients import AdminSettings, ConsumerSettings, ProducerSettings, ShareConsumerSettings
from kwire.errors import AuthError, CodecError, ConfigError, ConnectError, KafkaTimeoutError, NoOffsetForPartitionError
from kwire.errors.wording import Cause, Problem, SettingName, Wording, joined, spelled

SOURCES = Path(__file__).parents[2] / "src" / "kwire"
KEYWORDS = {
    keyword
    for table in (AdminSettings, ConsumerSettings, ProducerSettings, ShareConsumerSettings)
    for keyword in table.table
}


def dotted(keyword: str) -> str:
    return keyword.replace("_", ".")


NEEDS = Wording("{ssl_key_location}={path!r} needs {setting}", path="/ssl_key_pem", setting=SettingName("ssl_key_pem"))


def test_a_wording_has_keywords_as_a_str() -> None:
    assert NEEDS == "ssl_key_location='/ssl_key_pem' needs ssl_key_pem"


def test_names_of_settings_are_spelled_and_nothing_else() -> None:
    assert spelled(NEEDS, dotted) == "ssl.key.location='/ssl_key_pem' needs ssl.key.pem"
    assert spelled("ssl_key_pem is plain text", dotted) == "ssl_key_pem is plain text"


def test_the_settings_of_a_wording_are_known_in_order() -> None:
    assert NEEDS.settings == ("ssl_key_location", "ssl_key_pem")
    assert Wording("{why}: {acks}", why=NEEDS).settings == ("ssl_key_location", "ssl_key_pem", "acks")


def test_a_wording_within_another_is_spelled_too() -> None:
    outer = Wording("{place}: {why}", place="batch_size-0", why=joined("; ", ("acks", NEEDS)))
    assert outer == "batch_size-0: acks; ssl_key_location='/ssl_key_pem' needs ssl_key_pem"
    assert outer.spelled(dotted) == "batch_size-0: acks; ssl.key.location='/ssl_key_pem' needs ssl.key.pem"


@pytest.mark.parametrize("text", [NEEDS, joined(", ", (NEEDS, "x")), Cause(NEEDS, "refused")])
def test_a_wording_keeps_its_names_in_a_pickle_and_a_copy(text: Wording) -> None:
    for again in (pickle.loads(pickle.dumps(text)), copy.deepcopy(text), str(text)):
        assert type(again) is type(text)
        assert again == text
        assert again.spelled(dotted) == text.spelled(dotted)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError(NEEDS),
        KafkaTimeoutError(NEEDS),
        AuthError(NEEDS, broker="b:1", step="TLS handshake"),
        AuthError(reason=NEEDS),
        ConnectError(NEEDS),
        ConnectError("no broker", {"a:1": NEEDS}),
        CodecError(NEEDS, "value", 3),
    ],
)
def test_the_text_of_an_error_keeps_the_names(error: Exception) -> None:
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert str(NEEDS) in str(each)
        assert NEEDS.spelled(dotted) in spelled(str(each), dotted)


def test_a_config_error_has_its_problems_one_by_one() -> None:
    error = ConfigError.of([NEEDS, "no topic"])
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert each.problems == (Problem("ssl_key_location", NEEDS), Problem(None, "no topic"))
        assert str(each) == f"2 settings cannot be used:\n  {NEEDS}\n  no topic"
        assert each.told(lambda problem: f"<{problem.setting}>") == (
            "2 settings cannot be used:\n  <ssl_key_location>\n  <None>"
        )


def test_a_config_error_of_one_problem_is_its_text() -> None:
    assert ConfigError("bad").problems == (Problem(None, "bad"),)
    assert str(ConfigError.of([NEEDS])) == NEEDS
    (problem,) = NoOffsetForPartitionError("t", 0, "g").problems
    assert problem.setting == "auto_offset_reset"


def test_the_settings_of_refused_options_are_told() -> None:
    with pytest.raises(ConfigError) as refused:
        ProducerSettings(acks="some", linger="3", sasl_mechanism="PLAIN", ssl_key_location="/k", retries=-1)
    assert {problem.setting for problem in refused.value.problems} == {
        "acks", "linger", "sasl_mechanism", "ssl_key_location", "retries",
    }  # fmt: skip


def test_a_cause_has_a_kind() -> None:
    error = ConnectError("no broker", {"a:1": Cause("Connection refused", "refused"), "b:2": "lost"})
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert each.causes == {"a:1": "Connection refused", "b:2": "lost"}
        assert [cause.kind for cause in each.causes.values()] == ["refused", "other"]
        assert str(each) == "no broker: a:1: Connection refused; b:2: lost"


def test_a_cause_with_a_hint_is_of_the_same_kind() -> None:
    cause = Cause(NEEDS, "timeout").followed_by(" (at SaslHandshake)")
    assert cause == f"{NEEDS} (at SaslHandshake)"
    assert cause.kind == cause.spelled(dotted).kind == "timeout"
    assert cause.spelled(dotted) == f"{NEEDS.spelled(dotted)} (at SaslHandshake)"


def test_values_are_changed_and_the_words_around_them_stay() -> None:
    hidden = Wording("{sasl_password} of {who}: {why}", who="bob", why=NEEDS).changed(lambda _: "*")
    assert hidden == "sasl_password of *: ssl_key_location='*' needs ssl_key_pem"


def templates() -> list[tuple[str, str, set[str]]]:
    """(where, template, names of the values) of each Wording in the sources whose template stands there."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Wording":
                template = node.args[0]
                if isinstance(template, ast.Constant):
                    values = {str(keyword.arg) for keyword in node.keywords}
                    found.append((f"{path.name}:{node.lineno}", str(template.value), values))
    return found


def test_each_field_of_a_wording_is_a_value_or_a_setting() -> None:
    found = templates()
    assert len(found) > 30
    for where, template, values in found:
        fields = set(Wording(template, **dict.fromkeys(values, 0)).settings)
        assert fields <= KEYWORDS, where
        assert not values & KEYWORDS, where
