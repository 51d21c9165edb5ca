"""docs/files.md has each file on a row, with what the file says of itself."""

from __future__ import annotations

from scripts.files_page import PAGE, files, first_sentence, page


def test_the_page_of_files_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_file_says_in_one_sentence_what_it_is() -> None:
    assert not [path.name for path in files() if not first_sentence(path).endswith((".", "!"))]
