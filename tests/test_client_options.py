"""What type checkers see of a setting: its type in words, and what it inherits."""

from __future__ import annotations

from typing import Any

import pytest
from scripts.client_options import TABLES, options, type_of

from kwire.engine.settings.kinds import Setting, Settings, optional_setting, secret_setting, setting


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (setting(int, 5, "A number."), "int"),
        (optional_setting(bool, "Perhaps."), "bool | None"),
        (secret_setting("A secret."), "str | None"),
        (setting(str, "a", "One of two.", choices=("a", "b")), "Literal['a', 'b']"),
        (setting(str, "a", "Or None.", choices=("a",), synonyms={None: "a"}), "Literal['a'] | None"),
        (setting(object, (), "Several.", given_as="str | Sequence[str]"), "str | Sequence[str]"),
        (optional_setting(object, "Several, or none.", given_as="Sequence[str]"), "Sequence[str] | None"),
    ],
)
def test_the_type_of_what_may_be_given(row: Setting, words: str) -> None:
    assert type_of(row) == words


def test_a_row_that_takes_any_object_has_to_say_more() -> None:
    with pytest.raises(ValueError, match="needs given_as"):
        type_of(setting(object, "", "Anything."))


def test_a_table_has_its_own_keywords_and_those_it_extends_as_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    class FirstSettings(Settings):
        bootstrap_servers: Any = setting(object, "", "Given by position.")
        old: int = setting(int, 1, "Old.")

    class SecondSettings(FirstSettings):
        new: int = setting(int, 2, "New.")

    monkeypatch.setitem(TABLES, FirstSettings, "The first.")
    monkeypatch.setitem(TABLES, SecondSettings, "The second.")
    assert options(FirstSettings).splitlines() == [
        "class FirstOptions(TypedDict, total=False):",
        '    """The first."""',
        "",
        "    old: int",
        '    """Old."""',
    ]
    assert options(SecondSettings).splitlines() == [
        "class SecondOptions(FirstOptions, total=False):",
        '    """The second."""',
        "",
        "    new: int",
        '    """New."""',
    ]
