"""docs/settings.md is what the tables of settings say now."""

from __future__ import annotations

from scripts.settings_page import PAGE, page


def test_the_page_of_settings_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"
